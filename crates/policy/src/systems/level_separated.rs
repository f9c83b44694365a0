//! `level-separated`: LevelDB with a zone for each level and a collector (the baseline "LS" of Jung
//! and Shin, "Lifetime-Leveling LSM-tree Compaction for ZNS SSD", HotStorage '22).
//!
//! 1. Compaction is that of [`Leveled`](crate::Leveled), with LevelDB's sizes ([`leveldb`]).
//! 2. Each level has its own open zone: a zone holds tables of one level, which live about equally
//!    long. If no free zone can be opened, a table goes to a zone of another level. See
//!    [`LevelSeparated`].
//! 3. A greedy collector empties zones: see [`Greedy`]. It begins below 20 % of free zones, as in
//!    `leveldb-greedy`.
//!
//! # Where the slides are silent
//! - Several workers may write a large merge: then several zones of its level are open.
//! - Data that the collector moves goes to zones of its own, for all levels alike, as long as there
//!   are such zones.
//! - A table that moves down by metadata alone stays in its zone, which then holds tables of two
//!   levels.

use std::sync::Arc;

use super::{Row, RowParts, System, leveldb};
use crate::{Greedy, LevelSeparated};

pub(super) const PARTS: RowParts = RowParts {
    name: "level-separated",
    summary: "leveled; a zone holds tables of one level, emptied by a greedy collector",
    suits: "comparison: a collector that finds emptier zones",
    costs: "copies less than `leveldb-greedy`, and still copies",
    live_max: 55,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    own: System::row(Row::LevelSeparated, leveldb::COLLECTOR),
    parameters: &[leveldb::PARAMETERS],
    placement: |_| Arc::new(LevelSeparated),
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};
