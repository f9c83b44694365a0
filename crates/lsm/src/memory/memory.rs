//! [`Memory`]: the memory budget of an engine, and how much of it is used.
//!
//! - The shares are those of [`Shares`].
//! - Each use is counted by a gauge, and all of them by one more. Large batches that are being
//!   written, and open transactions, are counted, and have no share. Transactions together may hold
//!   an eighth of the budget.
//! - Stacks and working memory of codecs are not counted. Of the values that clients hold, those
//!   count that lie in a large buffer of a scan, or in a block that is still in the cache. Of what
//!   the store below holds, only its buffers for the log and for tables that are being written
//!   count.
//! - A share is no wall: one block, partition or batch in use is held even if it does not fit.
//!
//! Threads: any number. No call here waits for memory: it tells its caller how much there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, MemoryGauge, MemoryLease};

use super::cache::BlockCache;
use super::resident::Clock;
use super::walk::Walk;
use crate::Error;
use crate::options::{EngineOptions, Shares};

/// Bytes that the store below is reckoned to hold for a table that is being written: two writes on
/// their way, together of `io_size` bytes, each twice, because a write that fails is repeated
/// elsewhere; and a buffer as large as one of them that is being filled.
pub(crate) fn writer_bytes(io_size: ByteCount) -> usize {
    usize::try_from(io_size.0.saturating_mul(2) + io_size.0 / 2).unwrap_or(usize::MAX)
}

/// See [`Memory::memtables_overflow`].
const OVERFLOW_MIN: u64 = 256 << 10;
/// Open transactions may hold this part of the budget together, and this much in any case.
const TRANSACTIONS_PART: u64 = 8;
const TRANSACTIONS_MIN: u64 = 256 << 10;
/// Smaller batches are not worth counting.
const BATCH_COUNTED_MIN: u64 = 64 << 10;
/// Scans and cursors may hold this much in any case.
const POSITIONS_MIN: u64 = 256 << 10;
/// Sizes of other reads, as parts of the size that jobs move at once (`io_size`). `JOB_PART`: the
/// least that a job reads, and the part of an index that it reads at once, because some of the
/// job's data lies behind it. `SCAN_PART`: the reads of a long scan, about a disk's track.
/// `SCAN_PART_FIRST`: the first read of a scan that leaves its first block.
const JOB_PART: u64 = 32;
const SCAN_PART: u64 = 8;
const SCAN_PART_FIRST: u64 = 128;

/// Memory that the engine holds, and its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStats {
    /// Budget of all of it together.
    pub budget: u64,
    /// Bytes held now: the sum of the following.
    pub used: u64,
    /// The most that it has been at any moment.
    pub peak: u64,
    /// Memtables.
    pub memtables: u64,
    /// Gathered bytes of the log, and its frames on their way to the medium.
    pub log: u64,
    /// Large batches that are being written, as clients made them.
    pub batches: u64,
    /// Keys and ranges that open transactions have read, and their writes.
    #[serde(default)]
    pub transactions: u64,
    /// Indexes and filters of open tables.
    pub tables: u64,
    /// Blocks in the cache.
    pub cache: u64,
    /// Read-ahead and tables being written of jobs.
    pub jobs: u64,
    /// Open scans and cursors with their blocks, read-ahead of scans, and large blocks that they or
    /// their values are of; ranges that are known to be empty.
    pub scans: u64,
}

/// Memory of the engine.
#[derive(Debug)]
pub(crate) struct Memory {
    shares: Shares,
    budget: ByteCount,
    io_size: ByteCount,
    whole: MemoryGauge,
    pub(crate) memtables: MemoryGauge,
    log: MemoryGauge,
    log_lease: Mutex<MemoryLease>,
    /// Bytes that the lease counts, for a writer of one entry after the other.
    log_bytes: AtomicUsize,
    batches: MemoryGauge,
    transactions: MemoryGauge,
    pub(crate) jobs: MemoryGauge,
    pub(crate) scans: MemoryGauge,
    /// Open scans and cursors, their read-ahead aside.
    positions: MemoryGauge,
    /// Bytes of these for which tables and cache make room.
    positions_balanced: AtomicU64,
    tables: MemoryGauge,
    cached: MemoryGauge,
    pub(crate) parts: Clock,
    pub(crate) cache: BlockCache,
    /// Size that the cache may have now.
    cache_size: Mutex<ByteCount>,
}

impl Memory {
    pub(crate) fn new(options: &EngineOptions) -> Arc<Self> {
        let shares = Shares::of(options);
        let whole = MemoryGauge::new("all");
        let (tables, cached) = (whole.part("tables"), whole.part("cache"));
        let log = whole.part("log");
        let block_size = options.tables.shape().block_size;
        Arc::new(Self {
            shares,
            budget: options.memory,
            io_size: options.io_size,
            memtables: whole.part("memtables"),
            log_lease: Mutex::new(log.lease(0)),
            log_bytes: AtomicUsize::new(0),
            log,
            batches: whole.part("batches"),
            transactions: whole.part("transactions"),
            jobs: whole.part("jobs"),
            scans: whole.part("scans"),
            positions: whole.part("positions"),
            positions_balanced: AtomicU64::new(0),
            parts: Clock::new(tables.clone(), shares.tables()),
            cache: BlockCache::new(shares.reads, block_size, cached.clone()),
            cache_size: Mutex::new(shares.reads),
            tables,
            cached,
            whole,
        })
    }

    /// Gives the cache what open tables leave, after they have come to take more or less.
    pub(crate) fn balance(&self) {
        let reads = self.shares.reads.0;
        let positions = self.positions_balanced.load(Ordering::Relaxed).min(reads / 2);
        let reads = reads - positions;
        let left = reads.saturating_sub(self.tables.used().0);
        let left = ByteCount(left.max(reads / 4));
        let mut size = self.cache_size.lock();
        // By coarse steps: each goes through all shards.
        if left.0.abs_diff(size.0) > self.shares.reads.0 / 32 {
            *size = left;
            self.cache.resize(left);
        }
    }

    /// Counts a scan or a cursor that begins; an error if all of them hold more than they may.
    pub(crate) fn begin_position(
        &self,
        bytes: usize,
        open: impl FnOnce() -> u64,
    ) -> Result<MemoryLease, Error> {
        let max = ByteCount((self.shares.reads.0 / 2).max(POSITIONS_MIN));
        let got = self.positions.used();
        if got > max {
            return Err(Error::TooManyScans { max, got, open: open() });
        }
        let lease = self.positions.lease(bytes);
        self.balance_positions();
        Ok(lease)
    }

    /// The gauge that counts what scans and cursors take, their read-ahead aside.
    pub(crate) fn positions(&self) -> &MemoryGauge {
        &self.positions
    }

    /// Whether scans and cursors take so much that each is to give back its own, but for its key
    /// and its value.
    pub(crate) fn positions_are_short(&self) -> bool {
        self.positions.used().0 > (self.shares.reads.0 / 4).max(POSITIONS_MIN / 2)
    }

    /// Lets tables and cache make room for scans and cursors, or take the room back, by coarse
    /// steps.
    pub(crate) fn balance_positions(&self) {
        let (used, before) = (&self.positions.used(), &self.positions_balanced);
        if used.0.abs_diff(before.load(Ordering::Relaxed)) > self.shares.reads.0 / 32 {
            before.store(used.0, Ordering::Relaxed);
            let reads = self.shares.reads.0 - used.0.min(self.shares.reads.0 / 2);
            self.parts.resize(ByteCount(reads - reads / 4));
            self.balance();
        }
    }

    /// Notes how much the log takes that is being written.
    pub(crate) fn note_log(&self, bytes: usize) {
        if self.log_bytes.swap(bytes, Ordering::Relaxed) != bytes {
            self.log_lease.lock().resize(bytes);
        }
    }

    /// Counts a batch of so many bytes, if it is large.
    pub(crate) fn batch(&self, bytes: ByteCount) -> Option<MemoryLease> {
        (bytes.0 >= BATCH_COUNTED_MIN).then(|| self.batches.lease(bytes.0 as usize))
    }

    /// Counts a transaction, which holds nothing yet.
    pub(crate) fn transaction(&self) -> MemoryLease {
        self.transactions.lease(0)
    }

    /// An error if transactions would hold more than they may, once one of them holds `more`.
    pub(crate) fn check_transactions(&self, more: usize) -> Result<(), Error> {
        let max = ByteCount((self.budget.0 / TRANSACTIONS_PART).max(TRANSACTIONS_MIN));
        let got = ByteCount(self.transactions.used().0.saturating_add(more as u64));
        if got <= max { Ok(()) } else { Err(Error::TransactionsOverMemory { max, got }) }
    }

    /// An error if the range deletes of a batch, which take so many bytes in memory, would take
    /// more than all memtables may.
    pub(crate) fn check_ranges(&self, bytes: usize) -> Result<(), Error> {
        let (max, got) = (self.shares.memtables, ByteCount(bytes as u64));
        let (budget, fits) = (self.budget, got <= max);
        if fits { Ok(()) } else { Err(Error::RangesOverMemory { max, budget, got }) }
    }

    /// Whether memtables would be more than they may be together, with so much more.
    pub(crate) fn memtables_overflow_with(&self, bytes: usize) -> bool {
        self.memtables.used().0.saturating_add(bytes as u64) > self.shares.memtables.0
    }

    /// Whether memtables are more than they may be together, beyond what their last entries and
    /// their chunks may be more.
    pub(crate) fn memtables_overflow(&self) -> bool {
        let most = self.shares.memtables.0;
        self.memtables.used().0 > most.saturating_add(most / 4).saturating_add(OVERFLOW_MIN)
    }

    /// How much a job may read at once for one of its inputs: an eighth of what jobs have left, so
    /// that those that come later get something, too. The job will not need the bytes it has read,
    /// `own`.
    pub(crate) fn job_ahead(&self, own: u64) -> usize {
        let used = self.jobs.used().0.saturating_sub(own);
        share(used, self.shares.jobs, self.part(JOB_PART), self.part(1))
    }

    /// How much a job may read by one request of inputs that lie together: three quarters of what
    /// jobs have left beside a table that is written. Most is for the set of a merge, whose other
    /// input is one table; the rest is for a flush and for other jobs.
    pub(crate) fn job_joint(&self) -> ByteCount {
        let kept = self.jobs.used().0.saturating_add(writer_bytes(self.io_size) as u64);
        let left = self.shares.jobs.0.saturating_sub(kept);
        ByteCount(left - left / 4)
    }

    /// Whether a walk may read another section while it has one of the size `present`: if that is
    /// the largest size, and no other read becomes smaller for it. The walk has the bytes `own` for
    /// it.
    pub(crate) fn has_room_for_next(&self, walk: Walk, present: usize, own: u64) -> bool {
        let (used, limit, most) = match walk {
            Walk::Scan => (self.scans.used(), self.shares.scans, self.part(SCAN_PART)),
            Walk::Job(_) => (self.jobs.used(), self.shares.jobs, self.part(1)),
        };
        let with_next = used.0.saturating_sub(own).saturating_add(present as u64);
        present >= most && share(with_next, limit, 0, most) == most
    }

    /// Whether a job may write another table beside one: if what the store below holds for it is
    /// within the jobs' share.
    pub(crate) fn has_room_for_table(&self) -> bool {
        let with_table = self.jobs.used().0.saturating_add(writer_bytes(self.io_size) as u64);
        with_table <= self.shares.jobs.0
    }

    /// How much a job reads of an index at once.
    pub(crate) fn job_index_ahead(&self) -> usize {
        self.part(JOB_PART)
    }

    /// Whether scans, or jobs, hold more than their share.
    pub(crate) fn is_short(&self, walk: Walk) -> bool {
        match walk {
            Walk::Scan => self.scans.used() > self.shares.scans,
            Walk::Job(_) => self.jobs.used() > self.shares.jobs,
        }
    }

    /// The gauge that counts what a walk reads.
    pub(crate) fn gauge(&self, walk: Walk) -> &MemoryGauge {
        match walk {
            Walk::Scan => &self.scans,
            Walk::Job(_) => &self.jobs,
        }
    }

    /// How much a scan may read at once that read so much before. The scan will not need the bytes
    /// it has of that, `own`.
    pub(crate) fn scan_ahead(&self, before: usize, own: u64) -> usize {
        let (first, most) = (self.part(SCAN_PART_FIRST), self.part(SCAN_PART));
        let wanted = before.saturating_mul(2).clamp(first, most);
        let used = self.scans.used().0.saturating_sub(own);
        share(used, self.shares.scans, first, wanted)
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
            log: self.log.used().0,
            batches: self.batches.used().0,
            transactions: self.transactions.used().0,
            tables: self.tables.used().0,
            cache: self.cached.used().0,
            jobs: self.jobs.used().0,
            scans: self.scans.used().0 + self.positions.used().0,
        }
    }
}

fn share(used: u64, limit: ByteCount, least: usize, most: usize) -> usize {
    let left = limit.0.saturating_sub(used) / 8;
    usize::try_from(left).unwrap_or(usize::MAX).clamp(least, most.max(least))
}
