//! `leveldb-greedy`: LevelDB over log-structured zones with a greedy collector (Yao et al.,
//! "GearDB", FAST '19, section 2.3, baseline "Ldb-Greedy").
//!
//! 1. Compaction is LevelDB's, see [`Leveled`](crate::Leveled). [`leveldb`] has its parameters.
//!    Writers are slowed by the runs of level 0 alone, so under a heavy load deeper levels grow
//!    beyond their targets, as in LevelDB.
//! 2. Tables of all levels are written to the open zone, one after the other (figure 2). See
//!    [`LogStructured`].
//! 3. The collector is due when less than 20 % of the zones are free, when few are spare
//!    ([`Supply::spare_min`](crate::Supply::spare_min)), or when space is wanted, for example by a
//!    writer that waits. It empties the zone with the fewest live bytes ("passive" collection). See
//!    [`Greedy`].
//!
//! # Where the paper is silent
//! - Several jobs may write at once. Then several zones are open, each with tables of all levels.
//! - Moved data and logs go to zones of their own, where that is possible. The paper keeps its log
//!   elsewhere.
//! - While space is not wanted, a zone is emptied only if a tenth of it comes free (`gain_min`).
//!   Otherwise a store that is more than 80 % valid would copy without end. When space is wanted, a
//!   zone that gives anything may be emptied.

use std::sync::Arc;

use super::{Row, RowParts, leveldb};
use crate::{Greedy, LogStructured};

pub(super) const PARTS: RowParts = RowParts {
    name: "leveldb-greedy",
    summary: "leveled; tables of all levels in one log of zones, emptied by a greedy collector",
    suits: "comparison: LevelDB on zones with a simple collector",
    costs: "the collector copies live tables, and takes a fifth of the drive's time when it is \
            full",
    live_max: 55,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    own: leveldb::row(Row::LeveldbGreedy),
    parameters: &[leveldb::PARAMETERS],
    placement: |_| Arc::new(LogStructured),
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};
