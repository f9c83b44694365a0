//! The write-ahead log: batches on their way into a memtable ([`ActiveLog`]), and back
//! ([`replay`]). The layout is `docs/format/batch.md`.
//!
//! - A log is a sequence of batches. The store handles frames and torn tails: a reader of a log
//!   gets whole appends.
//! - Appended bytes may be in the memory of the process until they are written out or synced.
//! - A log that is *given up* has no writer any more: another log must begin before the next
//!   append.
//! - A replay checks that sequence numbers do not go back from batch to batch; they may have gaps.
//!   It reports a damaged or incomplete batch as corruption, with its offset. It checks batches
//!   that are in tables already, and skips them.
//!
//! One thread at a time has the active log: the leader of the writes. This module does not decide
//! when a log begins or is deleted.

use bytes::Bytes;
use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::store::{
    CreateOptions, EarlyFlush, FileKind, FileReader, FileWriter, Rank, Reservation, Store,
};
use terrace_env::{ByteCount, Cause, FileId, IoBuf, SeqNo, Time, reached};

use crate::Error;
use crate::batch::{BATCH_BYTES_MAX, FrozenBatch, HEADER_BYTES, Predecessor};
use crate::tree::LogRecord;

/// Bytes of a log that are read at once.
const REPLAY_BYTES: usize = 1 << 20;

/// Size from which a batch is not copied into one append with the note of the log before.
const WITH_NOTE_MAX: usize = 64 << 10;

/// The most bytes that a sync adds to a log, except in rare cases: the head of a frame, and the
/// rest of a block.
const PADDING: u64 = 4 << 10;

/// When the next log is requested. See [`PreallocatedLogs`](super::preallocated_log).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookAhead {
    /// At a part of the memtable, if there is much free space.
    Early,
    /// At half of it.
    Late,
    /// It has been requested, or none is to be preallocated.
    Done,
}

/// The log that is being written, and state of its memtable.
pub(crate) struct ActiveLog {
    /// `None`: the log was given up, and another one must begin before the next write.
    writer: Option<Box<dyn FileWriter>>,
    id: FileId,
    /// Sequence of its first entry that is not in tables.
    pub(crate) first: SeqNo,
    /// The sequence of the next entry.
    pub(crate) next: SeqNo,
    /// Whether it uses space that is kept for flushes, and takes deletes only.
    pub(crate) urgent: bool,
    /// Size up to which the memtable may grow: there is space for the flush of that size.
    pub(crate) admitted: usize,
    /// Whether that space is part of the space kept for deletes, and takes no puts.
    pub(crate) for_deletes: bool,
    /// Space for the memtable's flush, if it could be reserved.
    pub(crate) hold: Option<Reservation>,
    /// Whether an early flush was asked for.
    flushed_early: bool,
    /// When the next log may be requested.
    pub(crate) look_ahead: LookAhead,
    /// Number of its syncs: about as many blocks are not full.
    syncs: u64,
    /// Whether appended bytes may not be durable yet.
    unsynced: bool,
    /// Note of the log before, for the first append.
    before: Option<Predecessor>,
    /// Whether appended bytes may still be in the memory of the process.
    gathered: bool,
    /// Whether bytes are in flight to the medium without a wait for them.
    unwaited: bool,
    /// Whether bytes were written since the last sync: the next one flushes the device.
    unflushed: bool,
    /// Time at which gathered bytes are to be written, once the actor has been told.
    pub(crate) due: Option<Time>,
    /// Number of writes without a sync.
    written: u64,
}

impl ActiveLog {
    /// A log that goes on with `writer`.
    pub(crate) fn new(writer: Box<dyn FileWriter>, first: SeqNo, next: SeqNo) -> Self {
        let id = writer.id();
        debug_assert!(first <= next, "{id}: from {first} to {next}");
        Self {
            writer: Some(writer),
            id,
            first,
            next,
            urgent: false,
            admitted: 0,
            for_deletes: false,
            hold: None,
            flushed_early: false,
            look_ahead: LookAhead::Early,
            syncs: 0,
            unsynced: true,
            before: None,
            gathered: false,
            unwaited: false,
            unflushed: false,
            due: None,
            written: 0,
        }
    }

    /// An empty log that follows another one: `before` is durable to its last byte.
    pub(crate) fn following(
        writer: Box<dyn FileWriter>,
        next: SeqNo,
        before: Option<Predecessor>,
    ) -> Self {
        debug_assert!(
            before.is_none_or(|before| before.log < writer.id()),
            "logs are written in the order of their ids: {} after {before:?}",
            writer.id()
        );
        Self { before, ..Self::new(writer, next, next) }
    }

    /// Id of the file.
    pub(crate) fn id(&self) -> FileId {
        self.id
    }

    /// Whether another log must begin before the next write.
    pub(crate) fn is_given_up(&self) -> bool {
        self.writer.is_none()
    }

    /// The writer, for a caller that seals the file.
    pub(crate) fn into_writer(self) -> Option<Box<dyn FileWriter>> {
        self.writer
    }

    /// Approximate bytes of the medium that it takes so far, if a write takes at least `unit`.
    pub(crate) fn size(&self, unit: ByteCount) -> ByteCount {
        let bytes = self.writer.as_ref().map_or(0, |writer| writer.len());
        ByteCount(bytes + self.syncs * PADDING + self.written * unit.0)
    }

    /// Whether the file has bytes, from this opening or earlier ones.
    pub(crate) fn has_bytes(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| !writer.is_empty())
    }

    /// Memory of its buffers.
    pub(crate) fn memory(&self) -> usize {
        self.writer.as_ref().map_or(0, |writer| writer.memory())
    }

    /// Whether bytes are only in the memory of the process.
    pub(crate) fn has_gathered(&self) -> bool {
        self.gathered
    }

    /// Gives up the log: the job that deletes the file owns it now.
    pub(crate) fn give_up(&mut self) {
        self.writer = None;
        self.admitted = 0;
        self.note_written();
        self.unwaited = false;
    }

    fn note_written(&mut self) {
        (self.gathered, self.due) = (false, None);
    }

    /// Checks its notes on the appended bytes, before each step.
    fn check(&self) {
        debug_assert!(!self.gathered || self.unsynced, "{}: bytes in memory are durable", self.id);
        debug_assert!(self.due.is_none() || self.gathered, "{}: no bytes are due", self.id);
        debug_assert!(!self.for_deletes || self.hold.is_some() || self.is_given_up(), "no space");
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.check();
        debug_assert!(!bytes.is_empty(), "{}: an append of nothing", self.id);
        (self.unsynced, self.gathered) = (true, true);
        match self.before {
            None => self.writer()?.append(bytes)?,
            // The note goes first: a log with any bytes has the note.
            Some(before) if bytes.len() >= WITH_NOTE_MAX => {
                let note = before.batch(self.first);
                self.writer()?.append(&note)?;
                self.before = None;
                self.writer()?.append(bytes)?;
            }
            Some(before) => {
                let whole = [&before.batch(self.first)[..], bytes].concat();
                self.writer()?.append(&whole)?;
                self.before = None;
            }
        }
        Ok(())
    }

    /// Note of this log for the log that follows it; `None` if this log was given up.
    pub(crate) fn as_predecessor(&self) -> Option<Predecessor> {
        let size = self.writer.as_ref()?.len();
        Some(Predecessor { log: self.id, size })
    }

    /// Writes the gathered bytes to the medium.
    pub(crate) fn write_out(&mut self) -> Result<(), Error> {
        self.check();
        if self.gathered || self.unwaited {
            self.writer()?.write_out()?;
            self.written += u64::from(self.gathered);
            self.note_written();
            (self.unwaited, self.unflushed) = (false, true);
        }
        Ok(())
    }

    /// Begins to write the gathered bytes to the medium, and does not wait for it.
    pub(crate) fn begin_write_out(&mut self) -> Result<(), Error> {
        self.check();
        if self.gathered {
            self.writer()?.begin_write_out()?;
            self.note_written();
            (self.unwaited, self.unflushed) = (true, true);
            self.written += 1;
        }
        Ok(())
    }

    /// The early flush of a log that is nearly complete, once.
    pub(crate) fn early_flush(&mut self) -> Option<EarlyFlush> {
        let due = self.unsynced && !std::mem::replace(&mut self.flushed_early, true);
        self.writer.as_mut().filter(|_| due)?.early_flush()
    }

    /// A sync of the whole log, after which nothing more is written to it. If a disk has to be
    /// flushed, all bytes go there first. Later bytes would be written by force, and would wait for
    /// the flushes of others, too.
    pub(crate) fn sync_whole(&mut self, on_disk: bool) -> Result<(), Error> {
        if on_disk && self.unflushed {
            self.begin_write_out()?;
        }
        self.sync()
    }

    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.check();
        if self.unsynced {
            self.writer()?.sync()?;
            (self.unsynced, self.unflushed) = (false, false);
            self.note_written();
            self.syncs += 1;
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.writer()?.finish()?;
        self.note_written();
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut Box<dyn FileWriter>, Error> {
        self.writer.as_mut().ok_or(Error::Closed)
    }
}

/// Creates a log of about this size, if it is known. The log exists once it is committed.
pub(crate) fn create(
    store: &dyn Store,
    rank: Rank,
    size: Option<ByteCount>,
) -> Result<Box<dyn FileWriter>, Error> {
    let (kind, hint) = (FileKind::Log, LogRecord::hint());
    let options = CreateOptions {
        kind,
        hint,
        size,
        rank,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Log,
    };
    Ok(store.create(&options)?)
}

/// Start of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplayFrom {
    /// The least sequence in the log; a log before it has the older ones.
    pub(crate) next: SeqNo,
    /// Sequence of the first entry that is not in tables.
    pub(crate) first: SeqNo,
}

/// Result of replaying a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplayedLog {
    /// The sequence after the last entry.
    pub(crate) next: SeqNo,
    /// Its note of the log before it.
    pub(crate) before: Option<Predecessor>,
    /// Checksum of all its bytes.
    pub(crate) checksum: u32,
}

/// Reads a log, batch by batch. `take` gets the batches that are not in tables yet.
pub(crate) fn replay(
    file: &dyn FileReader,
    from: ReplayFrom,
    mut take: impl FnMut(&FrozenBatch) -> Result<(), Error>,
) -> Result<ReplayedLog, Error> {
    let (mut next, mut before) = (from.next, None);
    let region = || format!("log {}", file.id());
    let (mut offset, end) = (0, file.len());
    let (mut chunk, mut checksum) = (Bytes::new(), crc32c(&[]));
    while offset < end {
        let wanted = FrozenBatch::length_of(&chunk).unwrap_or(HEADER_BYTES);
        if !(HEADER_BYTES..=BATCH_BYTES_MAX).contains(&wanted) {
            let expected = format!("a batch of {HEADER_BYTES} to {BATCH_BYTES_MAX} bytes");
            return Err(Error::corruption(region(), offset, expected, wanted));
        }
        if chunk.len() < wanted {
            let left = end - offset;
            if (left as usize) < wanted {
                let (expected, got) = (format!("a batch of {wanted} bytes"), left);
                return Err(Error::corruption(region(), offset, expected, got));
            }
            // Freed before the next chunk is read.
            drop(std::mem::take(&mut chunk));
            let size = left.min(wanted.max(REPLAY_BYTES) as u64) as usize;
            let mut bytes = IoBuf::zeroed(size);
            file.read_at(offset, &mut bytes, Cause::Recovery)?;
            chunk = Bytes::from_owner(bytes);
            continue;
        }
        let bytes = chunk.split_to(wanted);
        checksum = crc32c_append(checksum, &bytes);
        let batch =
            FrozenBatch::decode(bytes).map_err(|error| Error::decode(region(), offset, &error))?;
        if batch.first() < next {
            let expected = format!("sequence {next} or newer");
            return Err(Error::corruption(region(), offset, expected, batch.first()));
        }
        if batch.first() < from.first && from.first < batch.end() {
            let expected = format!("a batch that begins or ends at sequence {}", from.first);
            return Err(Error::corruption(region(), offset, expected, batch.first()));
        }
        next = batch.end();
        before = before.or(batch.predecessor());
        if batch.first() < from.first {
            reached!("lsm: a replay skips batches that are in tables");
        } else {
            take(&batch)?;
        }
        offset += wanted as u64;
    }
    Ok(ReplayedLog { next, before, checksum })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Batch;
    use crate::key::{self, KeySpaceId};
    use crate::memory::MemtableChunks;
    use crate::memtable::Memtable;
    use terrace_env::MemoryGauge;
    use terrace_env::store::StoreError;

    struct Bytestring(Vec<u8>);

    impl FileReader for Bytestring {
        fn id(&self) -> FileId {
            FileId(5)
        }

        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, into: &mut [u8], _: Cause) -> Result<(), StoreError> {
            into.copy_from_slice(&self.0[offset as usize..][..into.len()]);
            Ok(())
        }
    }

    fn log(count: u64, value: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for i in 0..count {
            let mut batch = Batch::new();
            batch.put(KeySpaceId(0), &i.to_be_bytes(), &vec![i as u8; value]);
            batch.set_sequence(SeqNo(10 + i));
            bytes.extend_from_slice(batch.log_bytes());
        }
        bytes
    }

    fn replayed(bytes: Vec<u8>) -> Result<(SeqNo, Memtable), Error> {
        replayed_from(bytes, ReplayFrom { next: SeqNo(10), first: SeqNo(10) })
    }

    fn replayed_from(bytes: Vec<u8>, from: ReplayFrom) -> Result<(SeqNo, Memtable), Error> {
        let memtable = Memtable::new(&MemtableChunks::counted_by(&MemoryGauge::new("test")));
        let take = |batch: &FrozenBatch| {
            memtable.insert(batch);
            Ok(())
        };
        replay(&Bytestring(bytes), from, take).map(|log| (log.next, memtable))
    }

    #[test]
    fn a_log_longer_than_a_read_replays_whole() {
        for (count, value) in [(0, 0), (1, 0), (3000, 1000), (3, REPLAY_BYTES * 2)] {
            let (next, memtable) = replayed(log(count, value)).unwrap();
            assert_eq!(next, SeqNo(10 + count));
            for i in 0..count {
                assert!(
                    memtable
                        .contains(&key::seek_key(KeySpaceId(0), &i.to_be_bytes(), SeqNo::MAX))
                        .is_some()
                );
            }
        }
    }

    #[test]
    fn what_is_in_tables_already_is_not_read_again() {
        let held = |first| {
            let from = ReplayFrom { next: SeqNo(10), first: SeqNo(first) };
            let (next, memtable) = replayed_from(log(5, 10), from).unwrap();
            assert_eq!(next, SeqNo(15));
            let seek = |i: u64| key::seek_key(KeySpaceId(0), &i.to_be_bytes(), SeqNo::MAX);
            (0..5).filter(|i| memtable.contains(&seek(*i)).is_some()).collect::<Vec<u64>>()
        };
        assert_eq!(held(10), [0, 1, 2, 3, 4]);
        assert_eq!(held(13), [3, 4]);
        assert!(held(15).is_empty());
        let mut batch = Batch::new();
        batch.put(KeySpaceId(0), b"a", b"").put(KeySpaceId(0), b"b", b"");
        batch.set_sequence(SeqNo(10));
        let from = ReplayFrom { next: SeqNo(10), first: SeqNo(11) };
        let error = replayed_from(batch.log_bytes().to_vec(), from).unwrap_err();
        assert!(error.to_string().contains("begins or ends at sequence 11"), "{error}");
    }

    #[test]
    fn a_batch_cut_short_or_out_of_order_is_corruption_with_its_offset() {
        let whole = log(3, 10);
        let size = whole.len() / 3;
        for len in (0..whole.len()).filter(|len| len % size != 0) {
            let error = replayed(whole[..len].to_vec()).unwrap_err();
            let start = (len / size * size) as u64;
            assert!(
                matches!(error, Error::Corruption { offset, .. } if offset == start),
                "{error}"
            );
        }
        let swapped = [&whole[size..2 * size], &whole[..size]].concat();
        assert!(replayed(swapped).unwrap_err().to_string().contains("sequence 12 or newer"));
    }
}
