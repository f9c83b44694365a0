//! [`Tail`]: bytes of a log that are in no frame yet, in memory that the kernel keeps when the
//! process ends.
//!
//! The file `TAIL` is mapped into memory. A write-out copies the new bytes of a log there, as a
//! *record*: it makes no call to the operating system, and writes no block again. When the file is
//! full, and at a sync, the log writes all these bytes as a frame. The next record then begins the
//! file anew. `docs/format/directory.md` has the byte table.
//!
//! - A record names its log, the log's epoch, and the log's byte that it begins with. [`Records`]
//!   takes records in order, as long as each begins where the one before has ended. Records that an
//!   earlier round has left do not fit.
//! - Bytes that are in frames as well do not count. Those from the log's end on belong to the log.
//! - One log at a time has the tail. It gives the tail back once all its bytes are in frames.
//! - A power cut may take any part of the file, as it may take any bytes that were not synced.
//!
//! A reader next to the writer reads `TAIL` first and the log's frames after it: bytes that leave
//! the tail in between are then in the frames.

use std::io::{self, ErrorKind};

use terrace_env::store::StoreError;
use terrace_env::{FileId, Uuid};

use super::files::Mapping;
use super::{Files, names};
use crate::Access;
use crate::canary::{self, Rule};
use crate::frame::Binding;

/// Size of the file: twice the bytes that a log gathers at most, as small records have a head each.
pub(super) const TAIL_BYTES: usize = 512 << 10;

/// Bytes before a record's payload.
const HEAD: usize = 32;

/// Records begin at multiples of this.
const ALIGN: usize = 8;

/// See the [module](self).
pub(super) struct Tail {
    memory: Box<dyn Mapping>,
    /// Where the next record begins.
    end: usize,
}

impl Tail {
    /// The tail of a directory; `None` if the host cannot promise space for it.
    pub(super) fn map(files: &dyn Files) -> io::Result<Option<Self>> {
        let memory = files.map(names::TAIL, TAIL_BYTES)?;
        Ok(memory.map(|memory| Self { memory, end: 0 }))
    }

    /// Adds a record: `bytes` of a log from its byte `offset` on. Returns `false`, and does
    /// nothing, if it does not fit.
    pub(super) fn put(&mut self, binding: &Binding, offset: u64, bytes: &[u8]) -> bool {
        let after = self.end + (HEAD + bytes.len()).next_multiple_of(ALIGN);
        if after > TAIL_BYTES {
            return false;
        }
        self.memory.store(self.end, &head_of(binding, offset, bytes));
        self.memory.store(self.end + HEAD, bytes);
        debug_assert!(self.end.is_multiple_of(ALIGN), "a record begins at {}", self.end);
        self.end = after;
        true
    }

    /// Begins anew. All bytes of the records must be in frames.
    pub(super) fn restart(&mut self) {
        self.end = 0;
    }
}

/// The head of a record.
fn head_of(binding: &Binding, offset: u64, payload: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[8..16].copy_from_slice(&binding.owner.to_le_bytes());
    head[16..24].copy_from_slice(&offset.to_le_bytes());
    head[24..28].copy_from_slice(&binding.epoch.to_le_bytes());
    head[28..].copy_from_slice(&binding.tag().to_le_bytes());
    let crc = binding.checksum_of(&head[4..], payload);
    head[..4].copy_from_slice(&crc.to_le_bytes());
    head
}

/// The records of the tail, as read: bytes of one log without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Records {
    owner: FileId,
    epoch: u32,
    /// The log's byte that they begin with.
    start: u64,
    bytes: Vec<u8>,
}

impl Records {
    /// Reads the records of a directory's tail; `None` if it has none.
    pub(super) fn read(files: &dyn Files, uuid: Uuid) -> Result<Option<Self>, StoreError> {
        let wrap =
            |error| StoreError::io(format!("reading {}", names::path(files, names::TAIL)), error);
        let file = match files.open(names::TAIL, Access::ReadOnly) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(wrap)?,
        };
        let size = file.size().map_err(wrap)?.min(TAIL_BYTES as u64);
        let mut bytes = vec![0; size as usize];
        file.read_at(0, &mut bytes).map_err(wrap)?;
        Ok(Self::decode(&bytes, uuid))
    }

    pub(super) fn decode(bytes: &[u8], uuid: Uuid) -> Option<Self> {
        let (mut records, mut at): (Option<Self>, usize) = (None, 0);
        while let Some((owner, epoch, offset, payload)) = record(bytes.get(at..)?, uuid) {
            at += (HEAD + payload.len()).next_multiple_of(ALIGN);
            let Some(records) = &mut records else {
                records = Some(Self { owner, epoch, start: offset, bytes: payload.to_vec() });
                continue;
            };
            if (records.owner, records.epoch, records.end()) != (owner, epoch, offset) {
                break;
            }
            records.bytes.extend_from_slice(payload);
        }
        records
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The bytes of a log that come after those in its frames. `size`: how many are in frames.
    pub(crate) fn after(&self, id: FileId, epoch: u32, size: u64) -> &[u8] {
        let is_of_epoch = self.epoch == epoch || canary::is_broken(Rule::TailOfItsEpoch);
        let is_joined = self.owner == id && is_of_epoch && self.start <= size;
        if is_joined && size < self.end() {
            &self.bytes[(size - self.start) as usize..]
        } else {
            &[]
        }
    }
}

/// The record that these bytes begin with: log, epoch, the log's byte that it begins with, and
/// payload.
fn record(bytes: &[u8], uuid: Uuid) -> Option<(FileId, u32, u64, &[u8])> {
    let head = bytes.first_chunk::<HEAD>()?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let (crc, len, owner, offset, epoch) = (word(0), word(4), long(8), long(16), word(24));
    let payload = bytes[HEAD..].get(..len as usize).filter(|payload| !payload.is_empty())?;
    // The end of a log's bytes is a 64-bit number.
    offset.checked_add(len.into())?;
    let binding = Binding { uuid, owner, epoch };
    let is_valid = word(28) == binding.tag() && binding.checksum_of(&head[4..], payload) == crc;
    is_valid.then_some((FileId(owner), epoch, offset, payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dir::MemoryFiles;

    const UUID: Uuid = Uuid([7; 16]);

    fn binding(owner: u64, epoch: u32) -> Binding {
        Binding { uuid: UUID, owner, epoch }
    }

    fn read(files: &MemoryFiles) -> Option<Records> {
        Records::read(files, UUID).unwrap()
    }

    #[test]
    fn records_are_read_as_long_as_they_join() {
        let files = MemoryFiles::new();
        assert_eq!(read(&files), None, "no file");
        let mut tail = Tail::map(&files).unwrap().unwrap();
        assert_eq!(read(&files), None, "an empty file");
        assert!(tail.put(&binding(3, 9), 100, b"first"));
        assert!(tail.put(&binding(3, 9), 105, &[8; 1000]));
        let records = read(&files).unwrap();
        assert_eq!(records.after(FileId(3), 9, 100), [&b"first"[..], &[8; 1000]].concat());
        assert_eq!(records.after(FileId(3), 9, 105), [8; 1000], "the first is in a frame");
        assert!(records.after(FileId(3), 9, 1105).is_empty(), "all are in frames");
        assert!(records.after(FileId(3), 9, 99).is_empty(), "a byte is missing");
        assert!(records.after(FileId(4), 9, 100).is_empty(), "another log");
        assert!(records.after(FileId(3), 8, 100).is_empty(), "another epoch");
        let other = Uuid([8; 16]);
        assert_eq!(Records::read(&files, other).unwrap(), None, "another store");
    }

    #[test]
    fn records_of_an_earlier_round_and_damaged_ones_do_not_count() {
        let files = MemoryFiles::new();
        let mut tail = Tail::map(&files).unwrap().unwrap();
        for record in 0..3 {
            assert!(tail.put(&binding(3, 9), record * 10, &[record as u8; 10]));
        }
        tail.restart();
        assert!(tail.put(&binding(3, 9), 30, &[3; 10]));
        assert_eq!(read(&files).unwrap().after(FileId(3), 9, 30), [3; 10]);
        assert_eq!(read(&files).unwrap().end(), 40);
        let mut bytes = files.bytes(names::TAIL).unwrap();
        bytes[HEAD + 9] ^= 1;
        files.overwrite(names::TAIL, bytes);
        assert_eq!(read(&files), None);
    }

    #[test]
    fn a_record_beyond_the_last_byte_that_a_log_can_have_does_not_count() {
        let files = MemoryFiles::new();
        let mut tail = Tail::map(&files).unwrap().unwrap();
        assert!(tail.put(&binding(3, 9), u64::MAX - 3, b"late"));
        assert_eq!(read(&files), None);
        tail.restart();
        assert!(tail.put(&binding(3, 9), u64::MAX - 4, b"late"));
        assert_eq!(read(&files).unwrap().end(), u64::MAX);
    }

    #[test]
    fn a_record_that_does_not_fit_changes_nothing() {
        let files = MemoryFiles::new();
        let mut tail = Tail::map(&files).unwrap().unwrap();
        let most = TAIL_BYTES - HEAD;
        assert!(!tail.put(&binding(3, 9), 0, &vec![1; most + 1]));
        assert_eq!(read(&files), None);
        assert!(tail.put(&binding(3, 9), 0, &vec![1; most]));
        assert!(!tail.put(&binding(3, 9), most as u64, &[2]));
        assert_eq!(read(&files).unwrap().end(), most as u64);
        assert_eq!(files.bytes(names::TAIL).unwrap().len(), TAIL_BYTES);
    }

    #[test]
    fn a_file_that_was_cut_gives_the_records_that_are_whole() {
        let files = MemoryFiles::new();
        let mut tail = Tail::map(&files).unwrap().unwrap();
        assert!(tail.put(&binding(3, 9), 0, &[1; 100]));
        assert!(tail.put(&binding(3, 9), 100, &[2; 100]));
        let bytes = files.bytes(names::TAIL).unwrap();
        for len in [0, 1, HEAD, HEAD + 99] {
            files.overwrite(names::TAIL, bytes[..len].to_vec());
            assert_eq!(read(&files), None, "{len} bytes");
        }
        files.overwrite(names::TAIL, bytes[..HEAD + 150].to_vec());
        assert_eq!(read(&files).unwrap().end(), 100);
    }
}
