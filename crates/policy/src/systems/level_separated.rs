//! `level-separated`: LevelDB with a zone for each level and a collector (the baseline "LS" of Jung
//! and Shin, "Lifetime-Leveling LSM-tree Compaction for ZNS SSD", HotStorage '22: a paper and the
//! slides of its talk).
//!
//! 1. Compaction is LevelDB's, see [`Leveled`](crate::Leveled).
//! 2. Each level has its own open zone, as in GearDB: a zone holds tables of one level, which live
//!    about equally long. Where no free zone can be opened, any partly written one is taken. See
//!    [`LevelSeparated`].
//! 3. When less than 20 % of the zones is free, few are spare, or a writer waits, the zone with the
//!    fewest live bytes is emptied; while nobody waits, only if it gives 10 % of a zone. See
//!    [`Greedy`].
//!
//! # Where the slides are silent
//! - At how much free space the collector starts. It is `leveldb-greedy`'s here.
//! - A large merge goes by subcompactions, on as many cores as there are: so many zones of its
//!   level are open then. Two flushes never run at once.
//! - Data that the collector moves goes to zones of its own, of whatever level it is: it has
//!   survived its neighbours, and one zone is all that is kept for it when space is short.
//! - A table that moves down by metadata alone stays in its zone, which then holds two levels.

use std::sync::Arc;

use super::{Row, RowParts, System, leveldb, parameter};
use crate::{Greedy, LevelSeparated};

pub(super) const PARTS: RowParts = RowParts {
    name: "level-separated",
    summary: "leveled; a zone holds tables of one level, emptied by a greedy collector",
    live_max: 55,
    own: System::row(Row::LevelSeparated, leveldb::COLLECTOR),
    parameters: parameter::LEVELED,
    placement: |_| Arc::new(LevelSeparated),
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};
