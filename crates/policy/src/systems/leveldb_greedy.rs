//! `leveldb-greedy`: LevelDB over log-structured zones with a greedy collector (Yao et al.,
//! "GearDB", FAST '19, section 2.3, where it is the baseline "Ldb-Greedy").
//!
//! 1. Compaction is LevelDB's, see [`Leveled`](crate::Leveled): a pointer per level that goes
//!    round, trivial moves, outputs cut at ten overlapping tables of the next level but one. Tables
//!    are as large as memtables, level 1 two and a half times as large, each further one ten times:
//!    at memtables of 4 MiB, the figures that the papers use.
//! 2. Tables of all levels are written to the open zone, one behind the other (figure 2). See
//!    [`LogStructured`].
//! 3. When less than 20 % of the zones is free, the zone with the most invalid data is emptied, its
//!    valid data going to other zones ("passive" collection). See [`Greedy`](crate::Greedy).
//!
//! # Where the paper is silent
//! - Two jobs write at once here, a flush and a merge: then two zones are open, each with tables of
//!   all levels.
//! - What is moved goes to zones of its own, and logs do: the paper's implementation kept its log
//!   and manifest elsewhere.
//! - Collecting as long as anything is invalid cannot reach 20 % once more than 80 % is valid, and
//!   copies without end on the way: the paper measures 80 % of the time at 76 % valid. Unasked, a
//!   zone is emptied only if a tenth of it comes back (`gain_min`; 1 for the paper's). When a
//!   writer waits for space, whatever gives any is emptied, so that all that is dead comes back
//!   before a writer is told that the store is full.
//! - Opened on what another system wrote, it goes on in the zones that are partly written.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::StoreShape;
use crate::{LogStructured, Placement};

pub(super) const NAME: &str = "leveldb-greedy";
pub(super) const SUMMARY: &str =
    "leveled; tables of all levels in one log of zones, emptied by a greedy collector";

/// The paper's threshold: 20 % free. What a zone must give, it does not say.
pub(super) const COLLECTOR: (u8, u8) = (20, 10);

/// LevelDB's tables, at the most.
const TABLE_SIZE_MAX: ByteCount = ByteCount::mib(16);

pub(super) fn placement() -> Arc<dyn Placement> {
    Arc::new(LogStructured)
}

/// A memtable's: 4 MiB at LevelDB's memtables.
pub(super) fn table_size(store: &StoreShape) -> ByteCount {
    store.memtable_size.min(TABLE_SIZE_MAX)
}

/// LevelDB's proportion: 10 MiB at memtables of 4 MiB.
pub(super) fn level1_size(memtable: ByteCount) -> ByteCount {
    ByteCount(memtable.0.saturating_mul(5) / 2)
}
