//! [`Memory`]: the memory budget of an engine, and how much of it is used.
//!
//! - Each use of a share ([`Shares`]) is counted by a gauge, and all of them by one more. Large
//!   batches that are being written, their idle buffers ([`LargeBuffers`]), and open transactions,
//!   are counted, and have no share.
//!   Transactions together may hold an eighth of the budget.
//! - Stacks and working memory of codecs are not counted. A value that a client holds counts if it
//!   lies in a large buffer of a scan, or in a block that is still in the cache. Of the memory of
//!   the store below, only its buffers for the log and for tables that are being written count.
//! - Reads borrow the share of jobs while no job runs, and the part of the memtables' share that
//!   memtables do not use ([`Memory::share_out`]). They give it back before a job begins and before
//!   memtables grow into it.
//! - A share is not a hard limit: one block, partition or batch in use is held even if it does not
//!   fit.
//!
//! Threads: any number. No call waits for memory: it tells its caller how much there is.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, MemoryGauge, MemoryLease};

use super::cache::BlockCache;
use super::large_buffers::LargeBuffers;
use super::memtable_chunks::MemtableChunks;
use super::resident::{Clock, Owner, PartClass, Slot};
use super::scan_buffers::{BUFFER_BYTES, ScanBuffers};
use super::walk::Walk;
use crate::Error;
use crate::options::{EngineOptions, Shares, TableShape};

/// Estimate of the bytes that the store below holds for a table that is being written. Two writes
/// are in flight, together of `io_size` bytes, each twice, because a write that fails is repeated
/// elsewhere; and a buffer as large as one of them is being filled.
pub(crate) fn writer_bytes(io_size: ByteCount) -> usize {
    usize::try_from(io_size.0.saturating_mul(2) + io_size.0 / 2).unwrap_or(usize::MAX)
}

/// See [`Memory::memtables_overflow`].
const OVERFLOW_MIN: u64 = 256 << 10;
/// Divisor of the budget for all open transactions, and the least of it.
const TRANSACTIONS_PART: u64 = 8;
const TRANSACTIONS_MIN: u64 = 256 << 10;
/// Size of memtables from which their chunks are kept. With a smaller budget, memory that is at
/// hand counts more than the cost of fresh pages.
const CHUNKS_KEPT_FROM: u64 = 8 << 20;
/// Least size of batches that are counted.
const BATCH_COUNTED_MIN: u64 = 64 << 10;
/// Divisor of open tables' memory for the least of their indexes. A filter answers most reads that
/// a table does not concern; an index that is read again costs one request.
const INDEXES_PART: u64 = 4;
/// Bytes that scans and cursors may always hold.
const POSITIONS_MIN: u64 = 256 << 10;
/// Sizes of other reads, as divisors of the size that jobs move at once (`io_size`). `JOB_PART`:
/// the least that a job reads, and the part of an index that it reads at once, because some of the
/// job's data lies after it. `SCAN_PART`: the reads of a long scan, about a disk's track.
/// `SCAN_PART_FIRST`: the first read of a scan after its first block.
const JOB_PART: u64 = 32;
const SCAN_PART: u64 = 8;
const SCAN_PART_FIRST: u64 = 128;
/// First read of a scan after its first block, if the host has the file in memory: then a read
/// costs little more than the copy of its bytes.
const CACHED_SCAN_FIRST: usize = 8 << 10;

/// Memtables give and take an eighth of their share at a time: each change goes through all shards
/// of the block cache.
const MEMTABLE_STEPS: u64 = 8;

/// Memory that the engine holds, and its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStats {
    /// Budget of all of it together.
    pub budget: u64,
    /// Bytes held now: the sum of the following.
    pub used: u64,
    /// The largest value of `used` so far.
    pub peak: u64,
    /// Memtables, and idle chunks for the next ones.
    pub memtables: u64,
    /// Buffered bytes of the log, and its frames in flight to the medium.
    pub log: u64,
    /// Large batches that are being written, as clients made them, and idle buffers for the next
    /// ones.
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
    /// Open scans and cursors with their blocks; read-ahead of scans; large blocks that they or
    /// their values lie in; ranges that are known to be empty.
    pub scans: u64,
}

/// Memory of the engine.
#[derive(Debug)]
pub(crate) struct Memory {
    shares: Shares,
    /// Usual shape of tables, for estimates.
    shape: TableShape,
    budget: ByteCount,
    io_size: ByteCount,
    short_queue: AtomicBool,
    /// Whether clients read tables where the store has mapped them, if it does.
    pub(crate) maps_tables: bool,
    whole: MemoryGauge,
    pub(crate) memtables: MemoryGauge,
    pub(crate) chunks: Arc<MemtableChunks>,
    /// Idle ones of these.
    idle_chunks: MemoryGauge,
    log: MemoryGauge,
    log_lease: Mutex<MemoryLease>,
    /// Bytes that the lease of the log counts.
    log_bytes: AtomicUsize,
    batches: MemoryGauge,
    pub(crate) large_buffers: Arc<LargeBuffers>,
    transactions: MemoryGauge,
    pub(crate) jobs: MemoryGauge,
    pub(crate) scans: MemoryGauge,
    pub(crate) scan_buffers: Arc<ScanBuffers>,
    /// Open scans and cursors, without their read-ahead.
    positions: MemoryGauge,
    /// Bytes of these for which tables and cache make room.
    positions_balanced: AtomicU64,
    tables: MemoryGauge,
    cached: MemoryGauge,
    /// Number of jobs that run.
    jobs_running: AtomicUsize,
    /// Present bytes for open tables and the cache.
    reads: AtomicU64,
    /// Most bytes of open tables.
    tables_max: AtomicU64,
    /// Open tables without their indexes, and filters.
    parts: Clock,
    /// Indexes and their partitions.
    indexes: Clock,
    pub(crate) cache: BlockCache,
    /// Current size of the cache.
    cache_size: Mutex<ByteCount>,
}

impl Memory {
    pub(crate) fn new(options: &EngineOptions) -> Arc<Self> {
        let shares = Shares::of(options);
        let whole = MemoryGauge::new("all");
        let (tables, cached) = (whole.part("tables"), whole.part("cache"));
        let (filters, indexes) = (tables.part("filters"), tables.part("indexes"));
        let (log, scans) = (whole.part("log"), whole.part("scans"));
        let batches = whole.part("batches");
        let (memtables, idle_chunks) = (whole.part("memtables"), whole.part("idle chunks"));
        // Idle chunks are freed at rest, so a store that does nothing then keeps none.
        let memtable = shares.memtables.0 / (options.memtables_max as u64 + 1);
        let keeps = options.compact_at_rest && memtable >= CHUNKS_KEPT_FROM;
        let idle_max = ByteCount(if keeps { memtable } else { 0 });
        let shape = options.tables.shape();
        Arc::new(Self {
            shares,
            shape,
            budget: options.memory,
            io_size: options.io_size,
            short_queue: AtomicBool::new(false),
            maps_tables: options.map_tables,
            chunks: Arc::new(MemtableChunks::new(memtables.clone(), &idle_chunks, idle_max)),
            memtables,
            idle_chunks,
            log_lease: Mutex::new(log.lease(0)),
            log_bytes: AtomicUsize::new(0),
            log,
            large_buffers: Arc::new(LargeBuffers::new(batches.clone(), options.memory)),
            batches,
            transactions: whole.part("transactions"),
            jobs: whole.part("jobs"),
            scan_buffers: Arc::new(ScanBuffers::new(scans.clone(), shares.scans)),
            scans,
            positions: whole.part("positions"),
            positions_balanced: AtomicU64::new(0),
            jobs_running: AtomicUsize::new(0),
            reads: AtomicU64::new(shares.reads.0),
            tables_max: AtomicU64::new(shares.tables().0),
            parts: Clock::new(filters, filters_max(shares.tables())),
            indexes: Clock::new(indexes, shares.tables()),
            cache: BlockCache::new(shares.reads, shape.block_size, cached.clone()),
            cache_size: Mutex::new(shares.reads),
            tables,
            cached,
            whole,
        })
    }

    /// Has jobs submit the read of a next section late, so that the queue of the medium stays short
    /// ([`Store::keeps_queue_short`]).
    ///
    /// [`Store::keeps_queue_short`]: terrace_env::store::Store::keeps_queue_short
    pub(crate) fn keep_queue_short(&self, short: bool) {
        self.short_queue.store(short, Ordering::Relaxed);
    }

    /// Whether jobs submit the read of a next section late.
    pub(crate) fn keeps_queue_short(&self) -> bool {
        self.short_queue.load(Ordering::Relaxed)
    }

    /// Gives the cache the memory that open tables do not use, after their size has changed.
    pub(crate) fn balance(&self) {
        let reads = self.reads.load(Ordering::Relaxed);
        let left = reads.saturating_sub(self.tables.used().0);
        let left = ByteCount(left.max(reads / 4));
        let mut size = self.cache_size.lock();
        // In coarse steps: each goes through all shards.
        if left.0.abs_diff(size.0) > self.shares.reads.0 / 32 {
            *size = left;
            self.cache.resize(left);
        }
    }

    /// Divides the memory anew, if jobs, memtables, or scans and cursors use more or less of it
    /// than at the last call. The caller holds no lock: a dropped table may close its file.
    pub(crate) fn share_out(&self) {
        let reads = self.reads_now();
        if self.reads.load(Ordering::Relaxed) == reads {
            return;
        }
        self.reads.store(reads, Ordering::Relaxed);
        // The present value: a concurrent call may have changed it.
        let reads = self.reads.load(Ordering::Relaxed);
        self.tables_max.store(reads - reads / 4, Ordering::Relaxed);
        self.parts.resize(filters_max(ByteCount(reads - reads / 4)));
        self.balance_indexes();
        self.balance();
    }

    /// Bytes for open tables and the cache.
    fn reads_now(&self) -> u64 {
        let Shares { reads, jobs, memtables, .. } = self.shares;
        let positions = self.positions_balanced.load(Ordering::Relaxed).min(reads.0 / 2);
        let idle_jobs = if self.jobs_running.load(Ordering::Relaxed) == 0 { jobs.0 } else { 0 };
        let step = (memtables.0 / MEMTABLE_STEPS).max(1);
        // A step ahead of the memtables, which grow between two calls.
        let kept = self.memtables.used().0.saturating_add(self.idle_chunks.used().0);
        let kept = kept.next_multiple_of(step).saturating_add(step);
        (reads.0 - positions) + idle_jobs + memtables.0.saturating_sub(kept)
    }

    /// Begins a job: it has its share until the result is dropped.
    pub(crate) fn job(self: &Arc<Self>) -> JobShare {
        self.jobs_running.fetch_add(1, Ordering::Relaxed);
        self.share_out();
        JobShare(Arc::clone(self))
    }

    /// The shape that tables usually have, by the options of the engine.
    pub(crate) fn shape(&self) -> &TableShape {
        &self.shape
    }

    /// The clock of parts of a class.
    pub(crate) fn parts(&self, class: PartClass) -> &Clock {
        match class {
            PartClass::Filter => &self.parts,
            PartClass::Index => &self.indexes,
        }
    }

    /// Puts a part of a table into its slot, and drops other parts if they exceed their share: an
    /// index never drops a filter.
    pub(crate) fn keep<T>(
        &self,
        class: PartClass,
        slot: &Slot<T>,
        part: Arc<T>,
        owner: Weak<dyn Owner>,
        number: u32,
    ) {
        if class == PartClass::Index {
            self.balance_indexes();
        }
        self.parts(class).keep(slot, part, owner, number);
        if class == PartClass::Filter {
            self.balance_indexes();
        }
        self.balance();
        self.share_out();
    }

    /// Gives indexes the memory of open tables that the other parts do not use.
    fn balance_indexes(&self) {
        let most = self.tables_max.load(Ordering::Relaxed);
        let left = most.saturating_sub(self.parts.used().0);
        self.indexes.resize(ByteCount(left.max(most / INDEXES_PART)));
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

    /// The gauge of scans and cursors, without their read-ahead.
    pub(crate) fn positions(&self) -> &MemoryGauge {
        &self.positions
    }

    /// Whether scans and cursors hold too much, so that each must free all but its key and its
    /// value.
    pub(crate) fn positions_are_short(&self) -> bool {
        self.positions.used().0 > (self.shares.reads.0 / 4).max(POSITIONS_MIN / 2)
    }

    /// Lets tables and cache make room for scans and cursors, or take it back, in coarse steps.
    pub(crate) fn balance_positions(&self) {
        let (used, before) = (&self.positions.used(), &self.positions_balanced);
        if used.0.abs_diff(before.load(Ordering::Relaxed)) > self.shares.reads.0 / 32 {
            before.store(used.0, Ordering::Relaxed);
            self.share_out();
        }
    }

    /// Notes the memory of the active log.
    pub(crate) fn note_log(&self, bytes: usize) {
        if self.log_bytes.swap(bytes, Ordering::Relaxed) != bytes {
            self.log_lease.lock().resize(bytes);
        }
    }

    /// Counts a batch of `bytes`, if it is large.
    pub(crate) fn batch(&self, bytes: ByteCount) -> Option<MemoryLease> {
        (bytes.0 >= BATCH_COUNTED_MIN).then(|| self.batches.lease(bytes.0 as usize))
    }

    /// Counts a new transaction.
    pub(crate) fn transaction(&self) -> MemoryLease {
        self.transactions.lease(0)
    }

    /// An error if transactions would hold more than they may, once one of them holds `more`.
    pub(crate) fn check_transactions(&self, more: usize) -> Result<(), Error> {
        let max = ByteCount((self.budget.0 / TRANSACTIONS_PART).max(TRANSACTIONS_MIN));
        let got = ByteCount(self.transactions.used().0.saturating_add(more as u64));
        if got <= max { Ok(()) } else { Err(Error::TransactionsOverMemory { max, got }) }
    }

    /// An error if the range deletes of a batch, with `bytes` in memory, would exceed the limit of
    /// all memtables.
    pub(crate) fn check_ranges(&self, bytes: usize) -> Result<(), Error> {
        let (max, got) = (self.shares.memtables, ByteCount(bytes as u64));
        let (budget, fits) = (self.budget, got <= max);
        if fits { Ok(()) } else { Err(Error::RangesOverMemory { max, budget, got }) }
    }

    /// Whether memtables would exceed their share with `bytes` more.
    pub(crate) fn memtables_overflow_with(&self, bytes: usize) -> bool {
        self.memtables.used().0.saturating_add(bytes as u64) > self.shares.memtables.0
    }

    /// Whether memtables exceed their share by more than their last entries and their chunks may.
    pub(crate) fn memtables_overflow(&self) -> bool {
        let most = self.shares.memtables.0;
        self.memtables.used().0 > most.saturating_add(most / 4).saturating_add(OVERFLOW_MIN)
    }

    /// Bytes that a job may read at once for one of its inputs: an eighth of the jobs' free memory,
    /// so that later jobs get some, too. The read bytes, `own`, will be free then.
    pub(crate) fn job_ahead(&self, own: u64) -> usize {
        let used = self.jobs.used().0.saturating_sub(own);
        share(used, self.shares.jobs, self.part(JOB_PART), self.part(1))
    }

    /// Bytes that a job may read by one request of adjacent inputs: three quarters of the jobs'
    /// free memory, less the memory of a table's writer. Most is for the set of a merge, whose
    /// other input is one table; the rest is for a flush and for other jobs.
    pub(crate) fn job_joint(&self) -> ByteCount {
        let kept = self.jobs.used().0.saturating_add(writer_bytes(self.io_size) as u64);
        let left = self.shares.jobs.0.saturating_sub(kept);
        ByteCount(left - left / 4)
    }

    /// Whether a walk may read another section while it has one of the size `present`: if that is
    /// the largest size, and no other read becomes smaller for it. The walk holds the bytes `own`.
    pub(crate) fn has_room_for_next(&self, walk: Walk, present: usize, own: u64) -> bool {
        let (used, limit, most) = match walk {
            Walk::Scan => (self.scans.used(), self.shares.scans, self.part(SCAN_PART)),
            Walk::Job(_) => (self.jobs.used(), self.shares.jobs, self.part(1)),
        };
        let with_next = used.0.saturating_sub(own).saturating_add(present as u64);
        present >= most && share(with_next, limit, 0, most) == most
    }

    /// Whether a job may write one more table: if the memory of the store below for it fits the
    /// jobs' share.
    pub(crate) fn has_room_for_table(&self) -> bool {
        let with_table = self.jobs.used().0.saturating_add(writer_bytes(self.io_size) as u64);
        with_table <= self.shares.jobs.0
    }

    /// Bytes of an index that a job reads at once.
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

    /// The gauge of a walk's reads.
    pub(crate) fn gauge(&self, walk: Walk) -> &MemoryGauge {
        match walk {
            Walk::Scan => &self.scans,
            Walk::Job(_) => &self.jobs,
        }
    }

    /// Bytes that a scan may read at once after it read `before`. The bytes that it still has of
    /// these, `own`, will be free then.
    pub(crate) fn scan_ahead(&self, before: usize, own: u64) -> usize {
        let (first, most) = (self.part(SCAN_PART_FIRST), self.part(SCAN_PART));
        let wanted = before.saturating_mul(2).clamp(first, most);
        let used = self.scans.used().0.saturating_sub(own);
        share(used, self.shares.scans, first, wanted)
    }

    /// The same, if the host reads ahead and has most bytes in memory: a scan that ends leaves a
    /// sixth of the bytes that it has read unused, and not a third.
    pub(crate) fn cached_scan_ahead(&self, before: usize, own: u64) -> usize {
        let wanted = (before + before / 2).clamp(CACHED_SCAN_FIRST, BUFFER_BYTES);
        let used = self.scans.used().0.saturating_sub(own);
        share(used, self.shares.scans, CACHED_SCAN_FIRST, wanted)
    }

    /// A part of the bytes that jobs move at once.
    fn part(&self, of: u64) -> usize {
        usize::try_from(self.io_size.0 / of).unwrap_or(usize::MAX).max(1)
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        MemoryStats {
            budget: self.budget.0,
            used: self.whole.used().0,
            peak: self.whole.peak().0,
            memtables: self.memtables.used().0 + self.idle_chunks.used().0,
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

/// A job that runs, and has the jobs' share together with others.
#[derive(Debug)]
pub(crate) struct JobShare(Arc<Memory>);

impl Drop for JobShare {
    fn drop(&mut self) {
        self.0.jobs_running.fetch_sub(1, Ordering::Relaxed);
        self.0.share_out();
    }
}

/// The most of open tables' memory for parts other than indexes.
fn filters_max(tables: ByteCount) -> ByteCount {
    ByteCount(tables.0 - tables.0 / INDEXES_PART)
}

fn share(used: u64, limit: ByteCount, least: usize, most: usize) -> usize {
    let left = limit.0.saturating_sub(used) / 8;
    usize::try_from(left).unwrap_or(usize::MAX).clamp(least, most.max(least))
}

#[cfg(test)]
mod tests;
