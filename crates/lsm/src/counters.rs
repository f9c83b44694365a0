//! [`Counters`]: the engine's own counts since it was opened, of writes, reads, jobs, waits, and
//! the work in each level.
//!
//! A count or a maximum never decreases. Point reads count per thread. Maxima of time are in
//! nanoseconds. Any thread may count. The counts are separate atomics, so counts that are read
//! together may be of different moments.
//! The waits of the longest write are under a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::PerThread;
use terrace_env::sync::Mutex;
use terrace_env::wait::{WaitCounts, Waits};
use terrace_policy::{LEVELS_MAX, Merge};

use crate::lifetime::LevelWork;

/// A count that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The largest of some numbers.
#[derive(Debug, Default)]
pub(crate) struct Longest(AtomicU64);

impl Longest {
    pub(crate) fn meet(&self, n: u64) {
        self.0.fetch_max(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The write that has waited longest.
#[derive(Debug, Default)]
pub(crate) struct LongestWrite {
    nanos: Longest,
    waits: Mutex<Waits>,
}

impl LongestWrite {
    /// Notes the time of a write, from its first wait on.
    pub(crate) fn meet(&self, time: Duration, waits: &Waits) {
        if nanos(time) > self.nanos.get() {
            let mut longest = self.waits.lock();
            // Another thread may have noted a longer one meanwhile.
            if nanos(time) > self.nanos.get() {
                self.nanos.meet(nanos(time));
                *longest = waits.clone();
            }
        }
    }

    pub(crate) fn read(&self) -> (u64, Waits) {
        let waits = self.waits.lock();
        (self.nanos.get(), waits.clone())
    }
}

/// Counts of one level.
#[derive(Debug, Default)]
pub(crate) struct LevelCounts {
    /// Bytes of tables that were written into the level.
    pub(crate) bytes_written: Count,
    /// Bytes of tables that merges read out of the level.
    pub(crate) bytes_read: Count,
    /// Bytes of tables that trivial moves brought.
    pub(crate) bytes_moved: Count,
    /// Merges in whose plan this level is the uppermost.
    pub(crate) merges: Count,
    /// Tables that these merges read, of all levels.
    pub(crate) tables_merged: Count,
}

impl LevelCounts {
    pub(crate) fn read(&self) -> LevelWork {
        LevelWork {
            bytes_written: self.bytes_written.get(),
            bytes_read: self.bytes_read.get(),
            bytes_moved: self.bytes_moved.get(),
            merges: self.merges.get(),
            tables_merged: self.tables_merged.get(),
        }
    }
}

/// The engine's own counts since it was opened.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) user_bytes: Count,
    pub(crate) entries_written: Count,
    pub(crate) conflicts: Count,
    pub(crate) groups: Count,
    pub(crate) scans: Count,
    pub(crate) scan_entries_passed: Count,
    pub(crate) scan_ranges_skipped: Count,
    pub(crate) flushes: Count,
    pub(crate) compactions: Count,
    pub(crate) gear_compactions: Count,
    pub(crate) trivial_moves: Count,
    pub(crate) delete_only_compactions: Count,
    pub(crate) entries_dropped: Count,
    pub(crate) values_filtered: Count,
    pub(crate) segments_dropped: Count,
    pub(crate) bytes_dropped: Count,
    pub(crate) steps: Count,
    pub(crate) steps_ended_early: Count,
    /// Shared with jobs, whose tables count themselves when they are dropped.
    pub(crate) bytes_discarded: Arc<Count>,
    pub(crate) step_nanos_max: Longest,
    /// Waits outside of the store.
    pub(crate) waits: WaitCounts,
    pub(crate) longest_write: LongestWrite,
    pub(crate) levels: Vec<LevelCounts>,
    point_reads: PerThread<PointReadCounts>,
}

/// Counts of point reads.
#[derive(Debug)]
struct PointReadCounts {
    gets: Count,
    /// Tables searched, by level.
    searched: [Count; LEVELS_MAX],
}

impl Default for PointReadCounts {
    fn default() -> Self {
        Self { gets: Count::default(), searched: std::array::from_fn(|_| Count::default()) }
    }
}

impl Counters {
    pub(crate) fn new() -> Self {
        let count = Count::default;
        Self {
            user_bytes: count(),
            entries_written: count(),
            conflicts: count(),
            groups: count(),
            scans: count(),
            scan_entries_passed: count(),
            scan_ranges_skipped: count(),
            flushes: count(),
            compactions: count(),
            gear_compactions: count(),
            trivial_moves: count(),
            delete_only_compactions: count(),
            entries_dropped: count(),
            values_filtered: count(),
            segments_dropped: count(),
            bytes_dropped: count(),
            steps: count(),
            steps_ended_early: count(),
            bytes_discarded: Arc::default(),
            step_nanos_max: Longest::default(),
            waits: WaitCounts::default(),
            longest_write: LongestWrite::default(),
            levels: (0..LEVELS_MAX).map(|_| LevelCounts::default()).collect(),
            point_reads: PerThread::default(),
        }
    }

    /// Counts point reads.
    pub(crate) fn got(&self, keys: u64) {
        self.point_reads.own().gets.add(keys);
    }

    /// Number of point reads.
    pub(crate) fn gets(&self) -> u64 {
        self.point_reads.iter().map(|counts| counts.gets.get()).sum()
    }

    /// Counts a search of a table of the level by a point read.
    pub(crate) fn searched(&self, level: u8) {
        self.point_reads.own().searched[usize::from(level)].add(1);
    }

    /// Tables that point reads searched, by level, down to the deepest one.
    pub(crate) fn tables_searched(&self) -> Vec<u64> {
        let of = |level: usize| self.point_reads.iter().map(move |it| it.searched[level].get());
        let mut counts: Vec<u64> = (0..LEVELS_MAX).map(|level| of(level).sum()).collect();
        counts.truncate(counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1));
        counts
    }

    /// Counts a merge, whether all of it was carried out or only a part.
    pub(crate) fn merged(&self, merge: &Merge) {
        self.compactions.add(1);
        let mut targets: Vec<u8> = merge.routes.iter().map(|route| route.to.level).collect();
        targets.sort_unstable();
        targets.dedup();
        if targets.len() > 1 {
            self.gear_compactions.add(1);
        }
        let levels = merge.inputs.iter().map(|input| input.place.level);
        if let Some(level) = levels.min().map(usize::from) {
            let tables: usize = merge.inputs.iter().map(|input| input.parts.len()).sum();
            self.levels[level].merges.add(1);
            self.levels[level].tables_merged.add(tables as u64);
        }
    }

    /// Counts a committed step of a compaction.
    pub(crate) fn stepped(&self, time: Duration) {
        self.steps.add(1);
        self.step_nanos_max.meet(nanos(time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_some_numbers_stays_whatever_comes_later() {
        let longest = Longest::default();
        for (number, expected) in [(5, 5), (3, 5), (9, 9), (0, 9)] {
            longest.meet(number);
            assert_eq!(longest.get(), expected);
        }
    }
}
