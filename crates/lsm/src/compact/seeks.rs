//! [`Seeks`]: counts the *misses* of each table (searches by point reads that did not find the
//! key), and tells which table is to be merged because of them.
//!
//! - A point read searches tables from the newest to the oldest. If it must search a second one,
//!   the search of the first was a miss: in one table for both, the read would have been cheaper.
//! - A scan or a cursor reads all tables in its range at once. All of them together count one miss
//!   per n bytes that they pass, for the first table at that place, if there are several. (LevelDB
//!   draws the first n at random for each iterator.)
//! - A table counts misses from its opening on. The decider says how many it may have
//!   ([`Compaction::seeks_allowed`]). The first table that has that number becomes due. Others
//!   become due at a later read, after that one has been taken.
//! - Most deciders allow any number. Then reads count nothing.
//!
//! Threads: any. One lock; no other lock is taken while it is held.

use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::FileId;
use terrace_env::sync::Mutex;
use terrace_policy::{ByteCount, Compaction};

use crate::tree::TableHandle;

/// Bytes that scans read in the time of one miss, as a multiple of the bytes of a table that pay
/// for one. LevelDB has 1 MiB for 16 KiB (`db/dbformat.h`, `kReadBytesPeriod`).
const BYTES_READ: u64 = 64;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Seeks {
    /// Bytes of a table per allowed miss; `None` where misses do not count.
    cost: Option<u64>,
    /// Bytes that scans have passed.
    passed: AtomicU64,
    due: Mutex<Option<FileId>>,
}

impl Seeks {
    /// No misses yet. The decider says whether they count at all.
    pub(crate) fn new(decider: &dyn Compaction) -> Self {
        let whole = ByteCount::gib(1 << 10);
        let cost = decider.seeks_allowed(whole).map(|allowed| whole.0 / allowed.max(1));
        Self { cost, passed: AtomicU64::new(0), due: Mutex::default() }
    }

    /// Whether misses count.
    pub(crate) fn count(&self) -> bool {
        self.cost.is_some()
    }

    /// Adds bytes that scans passed. Returns whether a miss is due at this place: all scans
    /// together have passed as many bytes as are read in the time of one.
    pub(crate) fn pass(&self, bytes: u64) -> bool {
        let Some(cost) = self.cost else { return false };
        let (sample, passed) = (cost.max(1).saturating_mul(BYTES_READ), &self.passed);
        let before = passed.fetch_add(bytes, Ordering::Relaxed);
        before / sample != before.wrapping_add(bytes) / sample
    }

    /// Counts a miss of a table. Returns whether the table became due, and no other one was.
    pub(crate) fn note_vain(&self, table: &TableHandle, decider: &dyn Compaction) -> bool {
        let vain = table.note_vain_search();
        if decider.seeks_allowed(table.size()).is_none_or(|allowed| vain < allowed) {
            return false;
        }
        let mut due = self.due.lock();
        let is_first = due.is_none();
        due.get_or_insert(table.id());
        is_first
    }

    /// Whether a table is due.
    pub(crate) fn is_due(&self) -> bool {
        self.count() && self.due.lock().is_some()
    }

    /// Takes the table that is due.
    pub(crate) fn take(&self) -> Option<FileId> {
        self.due.lock().take()
    }
}
