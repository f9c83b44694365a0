//! [`Seeks`]: which table is to be merged because point reads searched it in vain.
//!
//! - A point read searches tables from the newest to the oldest. If it must search a second one,
//!   the search of the first was in vain: in one table for both, the read would have been cheaper.
//! - A scan or a cursor searches all tables in its way at once. For each so many bytes that all of
//!   them together come by, one counts as such a read of the first table there, if there are
//!   several. (LevelDB begins each of them at a random number of bytes.)
//! - Each table counts such reads from its opening on. The decider says how many it may have
//!   ([`Compaction::seeks_allowed`]). The first table that has so many becomes due. Others become
//!   due at a later read, once that one has been taken.
//! - Most deciders allow any number. Then reads count nothing.
//!
//! Threads: any. One lock, with nothing else under it.

use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::FileId;
use terrace_env::sync::Mutex;
use terrace_policy::{ByteCount, Compaction};

use crate::tree::TableHandle;

/// So many times as many bytes as a vain search costs are read in the time of one search. LevelDB
/// has 1 MiB for 16 KiB (`db/dbformat.h`, `kReadBytesPeriod`).
const BYTES_READ: u64 = 64;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Seeks {
    /// Bytes of a table for each vain search; `None` where these do not count.
    cost: Option<u64>,
    /// Bytes that scans came by.
    passed: AtomicU64,
    due: Mutex<Option<FileId>>,
}

impl Seeks {
    /// None so far; whether they count at all, the decider says.
    pub(crate) fn new(decider: &dyn Compaction) -> Self {
        let whole = ByteCount::gib(1 << 10);
        let cost = decider.seeks_allowed(whole).map(|allowed| whole.0 / allowed.max(1));
        Self { cost, passed: AtomicU64::new(0), due: Mutex::default() }
    }

    /// Whether vain searches count.
    pub(crate) fn count(&self) -> bool {
        self.cost.is_some()
    }

    /// Scans came by so many bytes more. Returns whether a sample is due: that at this place all
    /// scans together have come by as many bytes as are read in the time of a search.
    pub(crate) fn pass(&self, bytes: u64) -> bool {
        let Some(cost) = self.cost else { return false };
        let (sample, passed) = (cost.max(1).saturating_mul(BYTES_READ), &self.passed);
        let before = passed.fetch_add(bytes, Ordering::Relaxed);
        before / sample != before.wrapping_add(bytes) / sample
    }

    /// A read searched a table in vain. Returns whether the table is due for that, and no other one
    /// was.
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

    /// The table that is due; it is not due any longer.
    pub(crate) fn take(&self) -> Option<FileId> {
        self.due.lock().take()
    }
}
