//! One memory budget: what the engine may hold in all, and how it is shared out.
//!
//! | share | of | what happens when it is used up |
//! |---|---|---|
//! | memtables | up to three quarters of all | they are flushed; writers wait |
//! | jobs | a quarter of the rest, at most 32 of what they move at once | read-ahead gets smaller |
//! | scans | a sixteenth of the rest, at most half of that | read-ahead gets smaller |
//! | open tables: indexes, filters | up to three quarters of what is left | dropped |
//! | block cache | what open tables leave | blocks are dropped |
//!
//! All of it is counted, each share by a gauge, together by one for the whole. Not counted, because
//! it is not the engine's or is small: blocks that a client holds by their values, the codecs'
//! working memory (some 200 KiB per thread), what the store below needs (its catalog; writes under
//! way, but for what [`writer_bytes`] reckons), thread stacks, and what the allocator adds.
//!
//! A share is no wall: one block, partition or batch that does not fit is held all the same, as
//! long as it is in use.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, MemoryGauge};

use crate::cache::BlockCache;
use crate::limits;
use crate::options::EngineOptions;
use crate::resident::Clock;

/// What a table that is being written is reckoned to take at the store below: two writes on their
/// way, which are what jobs move at once, and a buffer as large as one of them that is filled.
pub(crate) fn writer_bytes(io_size: ByteCount) -> usize {
    usize::try_from(io_size.0.saturating_add(io_size.0 / 2)).unwrap_or(usize::MAX)
}

/// The part of the budget that jobs may move at once: a flush and the slices of a merge each have
/// so much on its way.
const IO_PART: u64 = 8;
/// Beyond so many times what jobs move at once, more memory makes them no quicker: enough for
/// tables to write and for read-ahead of some dozen inputs.
const JOBS_MAX: u64 = 32;
/// Whatever the budget: smaller memtables make more work than memory.
pub(crate) const MEMTABLE_SIZE_MIN: u64 = 16 << 10;
/// The same for scans: enough for a hundred long ones.
const SCANS_MAX: u64 = 16;
/// Into what parts of what jobs move at once other reads are cut: the least that a job reads, and
/// what it reads of an index, because some of its data lie behind it; what a long scan reads, which
/// is the order of a disk's track; what a scan reads when it leaves its first block.
const JOB_PART: u64 = 32;
const SCAN_PART: u64 = 8;
const SCAN_PART_FIRST: u64 = 128;

/// How a budget is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// What one memtable may grow to.
    pub(crate) memtable_size: ByteCount,
    /// What jobs move at once.
    pub(crate) io_size: ByteCount,
    pub(crate) memtables: ByteCount,
    pub(crate) jobs: ByteCount,
    pub(crate) scans: ByteCount,
    /// Open tables and block cache together.
    pub(crate) reads: ByteCount,
}

impl Shares {
    pub(crate) fn of(options: &EngineOptions) -> Self {
        let whole = options.memory.0;
        let count = (options.memtables_max as u64).saturating_add(1);
        let size_max = (whole - whole / 4) / count;
        let memtable_size = options.memtable_size.0.min(size_max.max(MEMTABLE_SIZE_MIN));
        let memtables = memtable_size.saturating_mul(count);
        let rest = whole.saturating_sub(memtables);
        let io_size = options.io_size.0.min((whole / IO_PART).max(limits::IO_SIZE.least.0));
        let most = |times: u64| io_size.saturating_mul(times);
        let (jobs, scans) = ((rest / 4).min(most(JOBS_MAX)), (rest / 16).min(most(SCANS_MAX)));
        Self {
            memtable_size: ByteCount(memtable_size),
            io_size: ByteCount(io_size),
            memtables: ByteCount(memtables),
            jobs: ByteCount(jobs),
            scans: ByteCount(scans),
            reads: ByteCount(rest - jobs - scans),
        }
    }

    /// The most that parts of open tables may take.
    fn tables(&self) -> ByteCount {
        ByteCount(self.reads.0 - self.reads.0 / 4)
    }
}

/// What the engine holds in memory, and may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStats {
    /// What all of it together may be.
    pub budget: u64,
    /// What it is now: the sum of the following.
    pub used: u64,
    /// The most that it has been at any moment.
    pub peak: u64,
    /// Memtables.
    pub memtables: u64,
    /// Indexes and filters of open tables.
    pub tables: u64,
    /// Blocks in the cache.
    pub cache: u64,
    /// Read-ahead and tables being written of jobs.
    pub jobs: u64,
    /// Read-ahead of scans.
    pub scans: u64,
}

/// What the engine holds in memory.
#[derive(Debug)]
pub(crate) struct Memory {
    shares: Shares,
    budget: ByteCount,
    io_size: ByteCount,
    whole: MemoryGauge,
    pub(crate) memtables: MemoryGauge,
    pub(crate) jobs: MemoryGauge,
    pub(crate) scans: MemoryGauge,
    tables: MemoryGauge,
    cached: MemoryGauge,
    pub(crate) parts: Clock,
    pub(crate) cache: BlockCache,
    /// What the cache may hold now.
    cache_size: Mutex<ByteCount>,
}

impl Memory {
    pub(crate) fn new(options: &EngineOptions) -> Arc<Self> {
        let shares = Shares::of(options);
        let whole = MemoryGauge::new("all");
        let (tables, cached) = (whole.part("tables"), whole.part("cache"));
        Arc::new(Self {
            shares,
            budget: options.memory,
            io_size: options.io_size,
            memtables: whole.part("memtables"),
            jobs: whole.part("jobs"),
            scans: whole.part("scans"),
            parts: Clock::new(tables.clone(), shares.tables()),
            cache: BlockCache::new(shares.reads, options.block_size, cached.clone()),
            cache_size: Mutex::new(shares.reads),
            tables,
            cached,
            whole,
        })
    }

    /// Gives the cache what open tables leave, after they have come to take more or less.
    pub(crate) fn balance(&self) {
        let left = self.shares.reads.0.saturating_sub(self.tables.used().0);
        let left = ByteCount(left.max(self.shares.reads.0 / 4));
        let mut size = self.cache_size.lock();
        // By coarse steps: each goes through all shards.
        if left.0.abs_diff(size.0) > self.shares.reads.0 / 32 {
            *size = left;
            self.cache.resize(left);
        }
    }

    /// How much a job may read at once for one of its inputs: an eighth of what jobs have left, so
    /// that those that come later get something, too.
    pub(crate) fn job_ahead(&self) -> usize {
        share(&self.jobs, self.shares.jobs, self.part(JOB_PART), self.part(1))
    }

    /// How much a job reads of an index at once.
    pub(crate) fn job_index_ahead(&self) -> usize {
        self.part(JOB_PART)
    }

    /// How much a scan may read at once that read so much before.
    pub(crate) fn scan_ahead(&self, before: usize) -> usize {
        let (first, most) = (self.part(SCAN_PART_FIRST), self.part(SCAN_PART));
        let wanted = before.saturating_mul(2).clamp(first, most);
        share(&self.scans, self.shares.scans, first, wanted)
    }

    /// A part of what jobs move at once.
    fn part(&self, of: u64) -> usize {
        usize::try_from(self.io_size.0 / of).unwrap_or(usize::MAX).max(1)
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        MemoryStats {
            budget: self.budget.0,
            used: self.whole.used().0,
            peak: self.whole.peak().0,
            memtables: self.memtables.used().0,
            tables: self.tables.used().0,
            cache: self.cached.used().0,
            jobs: self.jobs.used().0,
            scans: self.scans.used().0,
        }
    }
}

fn share(gauge: &MemoryGauge, limit: ByteCount, least: usize, most: usize) -> usize {
    let left = limit.0.saturating_sub(gauge.used().0) / 8;
    usize::try_from(left).unwrap_or(usize::MAX).clamp(least, most.max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(memory: u64, memtable_size: ByteCount) -> Shares {
        let memory = ByteCount(memory);
        Shares::of(&EngineOptions { memory, memtable_size, ..EngineOptions::default() })
    }

    #[test]
    fn the_shares_never_add_up_to_more_than_there_is() {
        for memory in [0, 1, 3, 1000, 1 << 20, 200 << 20, 1 << 40, u64::MAX] {
            for memtable_size in [1, 1 << 16, 64 << 20, u64::MAX] {
                let shares = shares(memory, ByteCount(memtable_size));
                let all = [shares.memtables, shares.jobs, shares.scans, shares.reads];
                let sum: u128 = all.iter().map(|share| u128::from(share.0)).sum();
                assert!(sum <= u128::from(memory.max(3 * MEMTABLE_SIZE_MIN)), "{shares:?}");
                assert!(shares.memtable_size.0 > 0);
            }
        }
    }

    #[test]
    fn memtables_too_large_for_the_budget_are_made_smaller() {
        let fits = shares(256 << 20, ByteCount::mib(64));
        assert_eq!(fits.memtable_size, ByteCount::mib(64));
        assert_eq!(shares(128 << 20, ByteCount::mib(64)).memtable_size, ByteCount::mib(32));
    }
}
