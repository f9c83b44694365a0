//! [`Written`]: the bytes and entries written in a store's life, over all openings, and the work of
//! jobs on each level of the tree ([`LevelWork`]).
//!
//! - The sums are kept in the store's annotation. They go to the medium with commits that write it
//!   anyway, for example of a flush. A close writes them, too, if entries were written or jobs done
//!   since.
//! - Counts after the last such commit are lost when the engine ends in another way, for example by
//!   a power cut or a drop.
//! - The store may have written bytes before this engine was opened, for example to mount. They are
//!   not added to the sums.
//!
//! Any thread reads them. They are read one after the other, so they may be of different moments.

use serde::{Deserialize, Serialize};
use terrace_env::Cause;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::{IoCounts, Store};
use terrace_policy::LEVELS_MAX;

/// Bytes written to the medium, padding included, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenBytes {
    /// The write-ahead log.
    pub log: u64,
    /// Memtables into tables, and the tables of ingests.
    pub flush: u64,
    /// Tables merged into tables.
    pub compaction: u64,
    /// Live extents moved out of zones before a reset.
    pub reclaim: u64,
    /// Metadata: journal and superblock.
    pub metadata: u64,
    /// Everything else: recovery, and other clients of the file system.
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
        self.parts().into_iter().fold(0, |sum, (_, bytes)| sum.saturating_add(bytes))
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

/// Work of jobs on one level in a part of a store's life. A merge that ends early, because space or
/// time ran out, counts as a merge of all tables of the plan; the merge that takes the remainder
/// counts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelWork {
    /// Bytes of tables written into the level, by flushes, ingests and merges.
    pub bytes_written: u64,
    /// Bytes of tables read out of the level by merges.
    pub bytes_read: u64,
    /// Bytes of tables that came into the level by metadata alone.
    pub bytes_moved: u64,
    /// Merges in whose plan this level is the uppermost.
    pub merges: u64,
    /// Tables, of all levels, that these merges read.
    pub tables_merged: u64,
}

impl LevelWork {
    /// Tables that a merge from this level reads on average, those of the levels below included;
    /// `None` if there was none.
    #[must_use]
    pub fn tables_per_merge(&self) -> Option<f64> {
        (self.merges > 0).then(|| self.tables_merged as f64 / self.merges as f64)
    }

    fn each(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            bytes_written: of(self.bytes_written, other.bytes_written),
            bytes_read: of(self.bytes_read, other.bytes_read),
            bytes_moved: of(self.bytes_moved, other.bytes_moved),
            merges: of(self.merges, other.merges),
            tables_merged: of(self.tables_merged, other.tables_merged),
        }
    }

    fn counts(&self) -> [u64; 5] {
        [self.bytes_written, self.bytes_read, self.bytes_moved, self.merges, self.tables_merged]
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            bytes_written: reader.u64("bytes written into the level")?,
            bytes_read: reader.u64("bytes read out of the level")?,
            bytes_moved: reader.u64("bytes moved into the level")?,
            merges: reader.u64("merges from the level")?,
            tables_merged: reader.u64("tables merged from the level")?,
        })
    }
}

/// Bytes and entries written, and jobs carried out, in a part of a store's life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Bytes of keys and values that clients wrote.
    pub user_bytes: u64,
    /// Puts and deletes.
    pub entries: u64,
    /// Memtables flushed.
    pub flushes: u64,
    /// Merges.
    pub compactions: u64,
    /// Those of the merges whose outputs go to several levels.
    pub gear_compactions: u64,
    /// Moves by metadata alone, as the decider chose them.
    pub trivial_moves: u64,
    /// Transactions that dropped tables without reading them, because range deletes cover them.
    pub delete_only_compactions: u64,
    /// Bytes written to the medium.
    pub bytes: WrittenBytes,
    /// Those of the flushes' bytes that went to an offload device.
    #[serde(default)]
    pub offloaded: u64,
    /// Work on each level, from level 0 to the deepest one with work.
    pub levels: Vec<LevelWork>,
}

impl Written {
    /// Bytes written to the medium per byte that clients wrote; `None` if they wrote nothing.
    #[must_use]
    pub fn amplification(&self) -> Option<f64> {
        (self.user_bytes > 0).then(|| self.bytes.total() as f64 / self.user_bytes as f64)
    }

    /// Sum of both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// The counts since an earlier moment of the same store. Levels without work are left out only
    /// after the last one with work.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.each(earlier, u64::saturating_sub)
    }

    fn each(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        let count = self.levels.len().max(other.levels.len());
        let level = |written: &Self, at: usize| written.levels.get(at).copied().unwrap_or_default();
        let levels = (0..count).map(|at| level(self, at).each(&level(other, at), of));
        Self {
            user_bytes: of(self.user_bytes, other.user_bytes),
            entries: of(self.entries, other.entries),
            flushes: of(self.flushes, other.flushes),
            compactions: of(self.compactions, other.compactions),
            gear_compactions: of(self.gear_compactions, other.gear_compactions),
            trivial_moves: of(self.trivial_moves, other.trivial_moves),
            delete_only_compactions: of(
                self.delete_only_compactions,
                other.delete_only_compactions,
            ),
            bytes: self.bytes.each(&other.bytes, of),
            offloaded: of(self.offloaded, other.offloaded),
            levels: trimmed(levels.collect()),
        }
    }

    /// Numbers of jobs of each kind.
    pub(crate) fn jobs(&self) -> [u64; 5] {
        let Self { flushes, compactions, gear_compactions, trivial_moves, .. } = *self;
        [flushes, compactions, gear_compactions, trivial_moves, self.delete_only_compactions]
    }

    /// Counts of the store since it was mounted, if it has such counts.
    pub(crate) fn by(store: &dyn Store) -> Self {
        let (bytes, offloaded) = (WrittenBytes::of(&store.io()), store.offloaded_bytes().0);
        Self { bytes, offloaded, ..Self::default() }
    }

    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        [self.user_bytes, self.entries]
            .into_iter()
            .chain(self.jobs())
            .chain(self.bytes.parts().map(|(_, bytes)| bytes))
            .for_each(|count| into.put_u64(count));
        into.put_u32(u32::try_from(self.levels.len()).expect("at most 64 levels"));
        self.levels.iter().flat_map(LevelWork::counts).for_each(|count| into.put_u64(count));
        if self.offloaded > 0 {
            into.put_u64(self.offloaded);
        }
    }

    /// Reads them. `has_offloaded`: whether bytes that were offloaded are recorded.
    pub(crate) fn read(reader: &mut Reader<'_>, has_offloaded: bool) -> Result<Self, DecodeError> {
        let mut written = Self {
            user_bytes: reader.u64("user bytes")?,
            entries: reader.u64("entries written")?,
            flushes: reader.u64("flushes")?,
            compactions: reader.u64("compactions")?,
            gear_compactions: reader.u64("gear compactions")?,
            trivial_moves: reader.u64("trivial moves")?,
            delete_only_compactions: reader.u64("delete-only compactions")?,
            bytes: WrittenBytes {
                log: reader.u64("bytes of logs")?,
                flush: reader.u64("bytes of flushes")?,
                compaction: reader.u64("bytes of compactions")?,
                reclaim: reader.u64("bytes of reclaim")?,
                metadata: reader.u64("bytes of metadata")?,
                other: reader.u64("other bytes")?,
            },
            offloaded: 0,
            levels: Vec::new(),
        };
        let count = reader.u32("levels with work")?;
        if count as usize > LEVELS_MAX {
            return Err(reader.wrong("levels with work", 4, "at most 64", u64::from(count)));
        }
        for _ in 0..count {
            written.levels.push(LevelWork::read(reader)?);
        }
        if trimmed(written.levels.clone()).len() < written.levels.len() {
            let expected = "counts that are not all 0";
            return Err(reader.wrong("work of the last level", 40, expected, 0));
        }
        if has_offloaded {
            written.offloaded = reader.u64("offloaded bytes")?;
            if written.offloaded == 0 {
                return Err(reader.wrong("offloaded bytes", 8, "at least 1", 0));
            }
        }
        Ok(written)
    }
}

/// Levels up to the last one with work.
pub(crate) fn trimmed(mut levels: Vec<LevelWork>) -> Vec<LevelWork> {
    let last = levels.iter().rposition(|level| *level != LevelWork::default());
    levels.truncate(last.map_or(0, |last| last + 1));
    levels
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

    #[test]
    fn work_on_levels_is_added_level_by_level_and_read_back() {
        let level = |bytes_written, merges| LevelWork {
            bytes_written,
            merges,
            tables_merged: merges * 11,
            ..LevelWork::default()
        };
        let ever = Written { levels: vec![level(4, 1), level(8, 0)], ..Written::default() };
        let here = Written {
            gear_compactions: 1,
            levels: vec![level(1, 0), LevelWork::default(), level(2, 3)],
            ..Written::default()
        };
        let both = ever.and(&here);
        assert_eq!(both.levels, [level(5, 1), level(8, 0), level(2, 3)]);
        assert_eq!(both.since(&here), ever, "a level without work is not kept");
        assert_eq!(both.levels[2].tables_per_merge(), Some(11.0));
        assert_eq!(both.levels[1].tables_per_merge(), None);
        let mut bytes = Vec::new();
        both.encode(&mut bytes);
        assert_eq!(Written::read(&mut Reader::new(&bytes), false).unwrap(), both);
    }
}
