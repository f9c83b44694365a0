//! [`Predecessor`]: the note of a log about the log before it: its id and its length.
//!
//! A log is written only when the log before it is durable. So the length in the note is final. If
//! an opening finds the older log with another length, that log is damaged. The store alone cannot
//! tell damage from a power cut: both leave a short log.
//!
//! The note is a batch without entries at the beginning of a preallocated log; its bytes are in
//! `docs/format/batch.md`. Logs that were not preallocated need none: the transaction that begins
//! them seals the log before, or that log is gone.
//!
//! No locks. [`Predecessor::bytes_in`] reads from a log; nothing here writes.

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::FileReader;
use terrace_env::{Cause, FileId, SeqNo};

use super::batch::{FrozenBatch, HEADER_BYTES};
use crate::Error;

/// The version of a batch that is a note.
pub(crate) const VERSION_PREDECESSOR: u8 = 3;

/// Bytes of a note.
pub(crate) const PREDECESSOR_BYTES: usize = HEADER_BYTES + 16;

/// The log before, when this one began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Predecessor {
    /// Its file.
    pub(crate) log: FileId,
    /// Its bytes, all of them durable.
    pub(crate) size: u64,
}

impl Predecessor {
    /// The note as a batch. `first`: the least sequence in the log.
    pub(crate) fn batch(self, first: SeqNo) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PREDECESSOR_BYTES);
        bytes.put_u32(PREDECESSOR_BYTES as u32);
        bytes.put_u32(0);
        bytes.put_u64(first.0);
        bytes.put_u8(VERSION_PREDECESSOR);
        bytes.put(&[0; 3]);
        bytes.put_u64(self.log.0);
        bytes.put_u64(self.size);
        bytes
    }

    /// Reads what follows the header of a batch of this version.
    pub(crate) fn read(reader: &mut Reader<'_>, count: u32) -> Result<Self, DecodeError> {
        if count != 0 {
            return Err(reader.wrong("entry count", 0, "0 in version 3", u64::from(count)));
        }
        Ok(Self { log: FileId(reader.u64("log before")?), size: reader.u64("its size")? })
    }

    /// Bytes of the note at the beginning of a log, 0 if it begins with another batch. A copy of
    /// the log leaves them out: in another store the files have other ids.
    pub(crate) fn bytes_in(log: &dyn FileReader) -> Result<u64, Error> {
        let mut bytes = vec![0; PREDECESSOR_BYTES];
        if log.len() < bytes.len() as u64 {
            return Ok(0);
        }
        log.read_at(0, &mut bytes, Cause::Client)?;
        let batch = FrozenBatch::decode(bytes.into()).ok();
        let is_note = batch.is_some_and(|batch| batch.predecessor().is_some());
        Ok(if is_note { PREDECESSOR_BYTES as u64 } else { 0 })
    }

    /// Checks the actual size of the log before; `by` is the log with the note.
    pub(crate) fn check(self, by: FileId, found: u64) -> Result<(), Error> {
        if found == self.size {
            return Ok(());
        }
        let expected =
            format!("{} bytes, which were durable before log {by} was written to", self.size);
        Err(Error::corruption(format!("log {}", self.log), found, expected, found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{damaged, specimen};

    const NOTE: Predecessor = Predecessor { log: FileId(7), size: 70_000 };

    #[test]
    fn a_note_reads_back_as_a_batch_without_entries() {
        let bytes = specimen("batch-predecessor.bin", &NOTE.batch(SeqNo(1000)));
        assert_eq!(bytes.len(), PREDECESSOR_BYTES);
        let batch = FrozenBatch::decode(bytes.clone().into()).unwrap();
        assert_eq!((batch.first(), batch.end()), (SeqNo(1000), SeqNo(1000)));
        assert_eq!((batch.entries().count(), batch.predecessor()), (0, Some(NOTE)));
        for (what, bytes) in damaged(&bytes) {
            if FrozenBatch::decode(bytes.into()).is_ok() {
                assert!(what.starts_with("bit"), "{what}");
            }
        }
    }

    #[test]
    fn another_size_is_corruption_of_the_log_before() {
        assert!(NOTE.check(FileId(9), 70_000).is_ok());
        let error = NOTE.check(FileId(9), 69_000).unwrap_err().to_string();
        for part in ["log 7", "70000 bytes", "log 9", "69000"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
