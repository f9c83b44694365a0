//! [`Written`]: the sums of writes in a store's life, over all processes. They are kept in the
//! store's annotation.
//!
//! The sums go to the medium with commits that are made anyway: flushes, changes of the annotation,
//! and compactions that keep a state of their decider. When the engine is closed they get a commit
//! of their own, if clients or jobs have written anything since. A power cut, a process that ends
//! without a close, or a failure of this commit loses the counts since the last commit that had
//! them; a close succeeds all the same. Nothing in the store is derived from them.
//!
//! Not counted: what a mount writes before the engine is opened, and what is written from the
//! closing commit on.

use serde::{Deserialize, Serialize};
use terrace_env::Cause;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::IoCounts;

use crate::shared::Shared;

/// Bytes written to the medium, padding included, by what for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenBytes {
    /// The write-ahead log.
    pub log: u64,
    /// Memtables into tables.
    pub flush: u64,
    /// Tables merged into tables.
    pub compaction: u64,
    /// Live extents moved out of zones that are to be reset.
    pub reclaim: u64,
    /// Metadata: journal and superblock.
    pub metadata: u64,
    /// Everything else: ingests, checkpoints, recovery.
    pub other: u64,
}

impl WrittenBytes {
    /// Bytes written by cause, from a store's counts.
    #[must_use]
    pub fn of(io: &IoCounts) -> Self {
        let [log, flush, compaction, reclaim] =
            [Cause::Log, Cause::Flush, Cause::Compaction, Cause::Reclaim].map(|c| io.written(c).0);
        let metadata = io.written(Cause::Journal).0 + io.written(Cause::Superblock).0;
        let all: u64 = Cause::ALL.into_iter().map(|cause| io.written(cause).0).sum();
        let other = all - (log + flush + compaction + reclaim + metadata);
        Self { log, flush, compaction, reclaim, metadata, other }
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.parts().into_iter().map(|(_, bytes)| bytes).sum()
    }

    /// The parts by name.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, u64); 6] {
        let Self { log, flush, compaction, reclaim, metadata, other } = *self;
        [
            ("log", log),
            ("flush", flush),
            ("compaction", compaction),
            ("reclaim", reclaim),
            ("metadata", metadata),
            ("other", other),
        ]
    }

    fn each(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            log: of(self.log, other.log),
            flush: of(self.flush, other.flush),
            compaction: of(self.compaction, other.compaction),
            reclaim: of(self.reclaim, other.reclaim),
            metadata: of(self.metadata, other.metadata),
            other: of(self.other, other.other),
        }
    }
}

/// Bytes and entries written in a part of a store's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Bytes of keys and values that clients wrote.
    pub user_bytes: u64,
    /// Puts and deletes.
    pub entries: u64,
    /// Memtables flushed.
    pub flushes: u64,
    /// Merges.
    pub compactions: u64,
    /// Bytes written to the medium.
    pub bytes: WrittenBytes,
}

impl Written {
    /// Bytes written to the medium per byte that clients wrote; `None` if they wrote nothing.
    #[must_use]
    pub fn amplification(&self) -> Option<f64> {
        (self.user_bytes > 0).then(|| self.bytes.total() as f64 / self.user_bytes as f64)
    }

    /// Both together.
    pub(crate) fn and(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    fn each(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            user_bytes: of(self.user_bytes, other.user_bytes),
            entries: of(self.entries, other.entries),
            flushes: of(self.flushes, other.flushes),
            compactions: of(self.compactions, other.compactions),
            bytes: self.bytes.each(&other.bytes, of),
        }
    }

    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        [self.user_bytes, self.entries, self.flushes, self.compactions]
            .into_iter()
            .chain(self.bytes.parts().map(|(_, bytes)| bytes))
            .for_each(|count| into.put_u64(count));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            user_bytes: reader.u64("user bytes")?,
            entries: reader.u64("entries written")?,
            flushes: reader.u64("flushes")?,
            compactions: reader.u64("compactions")?,
            bytes: WrittenBytes {
                log: reader.u64("bytes of logs")?,
                flush: reader.u64("bytes of flushes")?,
                compaction: reader.u64("bytes of compactions")?,
                reclaim: reader.u64("bytes of reclaim")?,
                metadata: reader.u64("bytes of metadata")?,
                other: reader.u64("other bytes")?,
            },
        })
    }
}

impl Shared {
    /// Counts since the engine was opened.
    pub(crate) fn written_here(&self) -> Written {
        let counters = &self.counters;
        let bytes = WrittenBytes::of(&self.store.io());
        Written {
            user_bytes: counters.user_bytes.get(),
            entries: counters.entries_written.get(),
            flushes: counters.flushes.get(),
            compactions: counters.compactions.get(),
            bytes: bytes.each(&self.written_before, u64::saturating_sub),
        }
    }

    /// Counts of the store's whole life.
    pub(crate) fn written_ever(&self) -> Written {
        self.lifetime_at_open.and(&self.written_here())
    }

    /// Makes the sums durable, before the engine ends, if clients or jobs have written anything
    /// since they were.
    pub(crate) fn record_lifetime(&self) {
        let done = |written: &Written| (written.entries, written.flushes, written.compactions);
        if done(&self.written_ever()) != done(&self.tree.record().lifetime) {
            // They are worth no failure: the next commit has them.
            let _ = self.commit_record(|_| {});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_that_is_written_is_in_one_part() {
        let mut io = IoCounts::default();
        for (at, cause) in Cause::ALL.into_iter().enumerate() {
            io.written_bytes[cause as usize] = 1 << at;
        }
        let written = WrittenBytes::of(&io);
        assert_eq!(written.total(), (1 << Cause::ALL.len()) - 1);
        assert_eq!(written.flush, io.written(Cause::Flush).0);
    }

    #[test]
    fn what_is_written_per_byte_is_known_once_a_byte_was_written() {
        assert_eq!(Written::default().amplification(), None);
        let bytes = WrittenBytes { log: 100, flush: 50, ..WrittenBytes::default() };
        let written = Written { user_bytes: 100, bytes, ..Written::default() };
        assert_eq!(written.amplification(), Some(1.5));
    }
}
