//! [`Stats`]: the engine's counts, its current sizes, and metrics derived from them.
//!
//! Most counts are since the engine was opened. Those of the store (`io`, the bytes of the write
//! amplification, and the store's part of `waits`) are since the store was mounted; `lifetime` is
//! of all openings. Times are in nanoseconds, sizes in bytes.
//!
//! Any thread reads them while the engine works. They are read one after the other, so a count may
//! be ahead of another one.

use serde::{Deserialize, Serialize};
use terrace_env::store::{IoCounts, SpaceInfo, Store};
use terrace_env::wait::Waits;
use terrace_env::{Cause, runner};

use crate::counters::Counters;
use crate::deleted::deleted;
use crate::lifecycle::Lifecycle;
use crate::lifetime::Written;
use crate::lifetime_sums::LifetimeSums;
use crate::memory::{Memory, MemoryStats};
use crate::readers::{ReaderStats, Readers};
use crate::running::{JobStats, RunningJobs};
use crate::tree::{Tree, Version};

/// Bytes written to the medium per byte of keys and values that clients wrote, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriteAmplification {
    /// The write-ahead log, padding included.
    pub log: f64,
    /// Memtables into tables, and the tables of ingests.
    pub flush: f64,
    /// Tables merged into tables.
    pub compaction: f64,
    /// Live extents moved out of zones before a reset.
    pub reclaim: f64,
    /// Metadata: journal and superblock.
    pub metadata: f64,
    /// All of it.
    pub total: f64,
}

impl WriteAmplification {
    /// Write amplification of one or several periods.
    #[must_use]
    pub fn of(user_bytes: u64, io: &IoCounts) -> Self {
        let per_byte = |cause: Cause| {
            if user_bytes == 0 { 0.0 } else { io.written(cause).0 as f64 / user_bytes as f64 }
        };
        let metadata = per_byte(Cause::Journal) + per_byte(Cause::Superblock);
        let total = Cause::ALL.into_iter().map(per_byte).sum();
        Self {
            log: per_byte(Cause::Log),
            flush: per_byte(Cause::Flush),
            compaction: per_byte(Cause::Compaction),
            reclaim: per_byte(Cause::Reclaim),
            metadata,
            total,
        }
    }
}

/// Current state of a level. The work of jobs on it is in [`Written::levels`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelStats {
    /// The level; 0 is the newest.
    pub level: u8,
    /// Sorted runs.
    pub runs: u64,
    /// Tables, or ranges of tables, that belong to the tree.
    pub segments: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Approximate number of their entries, range tombstones included.
    pub entries: u64,
    /// Number of tombstones among these, of keys or of ranges.
    pub tombstones: u64,
    /// Number of range tombstones among these. Each counts once in every piece into which tables
    /// have cut it.
    pub range_tombstones: u64,
    /// Approximate bytes of overwritten and deleted entries, and of tombstones, that a snapshot
    /// keeps or has kept.
    #[serde(default)]
    pub old_version_bytes: u64,
    /// Approximate bytes of these that no snapshot keeps any more. A rewrite of their tables drops
    /// them.
    #[serde(default)]
    pub droppable_bytes: u64,
    /// Approximate bytes of entries that have expired. A rewrite drops them, too.
    #[serde(default)]
    pub expired_bytes: u64,
}

/// The engine's metrics. Counts are since it was opened, those of `io` since the store was mounted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Bytes of keys and values that clients wrote.
    pub user_bytes: u64,
    /// Bytes on the medium per byte of these.
    pub write_amplification: WriteAmplification,
    /// Bytes and requests moved on the medium, by cause.
    pub io: IoCounts,
    /// Use of the store's space, now.
    pub space: SpaceInfo,
    /// Approximate bytes of tables that deletes hide. Compactions of the tables free them. A delete
    /// of a key counts as one entry of mean size, whether the key had a value or not.
    #[serde(default)]
    pub deleted: u64,
    /// The levels down to the last that is not empty.
    pub levels: Vec<LevelStats>,
    /// Memtables, the active one included, now.
    pub memtables: u64,
    /// Memory of the memtables.
    pub memtable_bytes: u64,
    /// The largest memory of memtables so far.
    pub memtable_bytes_peak: u64,
    /// Memory held now, and the budget.
    pub memory: MemoryStats,
    /// Writes in batches: puts and deletes.
    pub entries_written: u64,
    /// Conditional writes that were refused because another write came first: commits of
    /// transactions, and repeated tries of compare and swap.
    #[serde(default)]
    pub conflicts: u64,
    /// Groups of batches that were written together.
    pub groups: u64,
    /// Point reads.
    pub gets: u64,
    /// Tables that these had to search, because their filter did not exclude the key.
    pub tables_searched: u64,
    /// The same by level, from level 0 to the deepest that was searched.
    pub tables_searched_by_level: Vec<u64>,
    /// Scans begun.
    pub scans: u64,
    /// Entries that scans and cursors passed without showing them: deleted, hidden by a range
    /// delete, overwritten, or newer than the reader.
    #[serde(default)]
    pub scan_entries_passed: u64,
    /// Number of times that these skipped a range that an earlier one had found empty.
    #[serde(default)]
    pub scan_ranges_skipped: u64,
    /// Memtables flushed.
    pub flushes: u64,
    /// Merges.
    pub compactions: u64,
    /// The most subcompactions of a merge in flight.
    pub workers: u64,
    /// Instalments of these: parts that are read, merged, written and committed at once.
    pub compaction_steps: u64,
    /// Number of these that ended early, because their entries took more space than estimated, or
    /// because space was short.
    pub compaction_steps_ended_early: u64,
    /// Duration of the longest of these, in nanoseconds.
    pub compaction_step_nanos_max: u64,
    /// Bytes of tables that flushes and compactions wrote and did not commit: 0, unless the engine
    /// was closed, failed, or had no space meanwhile.
    pub bytes_discarded: u64,
    /// Moves by metadata alone.
    pub trivial_moves: u64,
    /// Overwritten and deleted entries that jobs dropped.
    pub entries_dropped: u64,
    /// Values that compaction filters dropped.
    #[serde(default)]
    pub values_filtered: u64,
    /// Tables, or ranges of tables, that were dropped without a read because a range delete covered
    /// them.
    pub segments_dropped: u64,
    /// Bytes of them.
    pub bytes_dropped: u64,
    /// Waits of writers and jobs, in the engine and in its store, by cause.
    pub waits: Waits,
    /// Duration of the write that has waited longest, from its first wait on, in nanoseconds.
    pub longest_write_nanos: u64,
    /// Waits of that write, by cause.
    pub longest_write_waits: Waits,
    /// The newest write.
    pub sequence: u64,
    /// Error that stopped the engine, if one did.
    pub failure: Option<String>,
    /// Bytes and entries written since the engine was opened.
    pub process: Written,
    /// Bytes and entries written in the store's life, this opening included.
    pub lifetime: Written,
    /// Readers that hold views for a long time, and so may keep space.
    pub readers: Vec<ReaderStats>,
    /// Flushes and merges that are running, in the order in which they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobStats>,
}

/// Owners of the counts and sizes that [`Stats`] are made of.
pub(crate) struct Sources<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) tree: &'a Tree,
    pub(crate) counters: &'a Counters,
    pub(crate) memory: &'a Memory,
    pub(crate) lifecycle: &'a Lifecycle,
    pub(crate) sums: &'a LifetimeSums,
    pub(crate) readers: &'a Readers,
    pub(crate) running: &'a RunningJobs,
    /// Number of actors that carry out parts of merges.
    pub(crate) workers: usize,
}

impl Sources<'_> {
    /// The current counts and sizes.
    pub(crate) fn read(&self) -> Stats {
        let (view, counters, io) = (self.tree.view(), self.counters, self.store.io());
        let user_bytes = counters.user_bytes.get();
        let failure = self.lifecycle.failure().map(|failure| failure.to_string());
        let memtables = view.memtables();
        let (longest_write_nanos, longest_write_waits) = counters.longest_write.read();
        let searched = counters.tables_searched();
        Stats {
            user_bytes,
            write_amplification: WriteAmplification::of(user_bytes, &io),
            io,
            space: self.store.space(),
            deleted: deleted(&view).0,
            levels: self.level_stats(&view.version),
            memtables: memtables.count() as u64,
            memtable_bytes: self.memory.memtables.used().0,
            memtable_bytes_peak: self.memory.memtables.peak().0,
            memory: self.memory.stats(),
            entries_written: counters.entries_written.get(),
            conflicts: counters.conflicts.get(),
            groups: counters.groups.get(),
            gets: counters.gets(),
            tables_searched: searched.iter().sum(),
            tables_searched_by_level: searched,
            scans: counters.scans.get(),
            scan_entries_passed: counters.scan_entries_passed.get(),
            scan_ranges_skipped: counters.scan_ranges_skipped.get(),
            flushes: counters.flushes.get(),
            compactions: counters.compactions.get(),
            workers: self.workers as u64,
            compaction_steps: counters.steps.get(),
            compaction_steps_ended_early: counters.steps_ended_early.get(),
            bytes_discarded: counters.bytes_discarded.get(),
            compaction_step_nanos_max: counters.step_nanos_max.get(),
            trivial_moves: counters.trivial_moves.get(),
            entries_dropped: counters.entries_dropped.get(),
            values_filtered: counters.values_filtered.get(),
            segments_dropped: counters.segments_dropped.get(),
            bytes_dropped: counters.bytes_dropped.get(),
            waits: counters.waits.read().and(&self.store.waits()),
            longest_write_nanos,
            longest_write_waits,
            sequence: self.tree.visible().0,
            failure,
            process: self.sums.here(),
            lifetime: self.sums.ever(),
            readers: self.readers.stats(),
            jobs: self.running.stats(),
        }
    }

    fn level_stats(&self, version: &Version) -> Vec<LevelStats> {
        let tree = version.view();
        let (snapshots, date) = (self.tree.snapshots(), runner::date());
        let mut seen = vec![LevelStats::default(); tree.levels.len()];
        for (place, segment) in version.segments() {
            let level = &mut seen[usize::from(place.level)];
            level.range_tombstones += segment.range_tombstones();
            level.old_version_bytes += segment.old_versions().0;
            level.droppable_bytes += segment.droppable(&snapshots).0;
            level.expired_bytes += segment.expired(date).0;
        }
        let of = |level: usize| {
            let runs = tree.runs(level);
            let segments = || runs.iter().flat_map(|run| &run.segments);
            LevelStats {
                level: level as u8,
                runs: runs.len() as u64,
                segments: segments().count() as u64,
                bytes: segments().map(|segment| segment.size.0).sum(),
                entries: segments().map(|segment| segment.entries).sum(),
                tombstones: segments().map(|segment| segment.tombstones).sum(),
                ..seen[level]
            }
        };
        (0..tree.levels.len()).map(of).collect()
    }
}
