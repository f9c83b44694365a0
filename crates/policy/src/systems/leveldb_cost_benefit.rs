//! `leveldb-cost-benefit`: LevelDB over log-structured zones with a cost-benefit collector (Yao et
//! al., "GearDB", FAST '19, section 2.3 and equation 1).
//!
//! 1. Compaction and placement are those of `leveldb-greedy`.
//! 2. The collector is due as in `leveldb-greedy`. Of the zones that give enough (`gain_min`), it
//!    empties the one of the largest benefit over cost: the benefit is the freed bytes, weighted
//!    with the age of the zone; the cost is reading the zone and writing its live bytes. See
//!    [`CostBenefit`], also for the points that the paper leaves open.

use std::sync::Arc;

use super::{Row, RowParts, leveldb, parameters};
use crate::{CostBenefit, LogStructured};

pub(super) const PARTS: RowParts = RowParts {
    name: "leveldb-cost-benefit",
    summary: "leveled; tables of all levels in one log of zones, emptied where it pays most",
    suits: "comparison: the same with a collector that weighs age",
    costs: "as `leveldb-greedy`",
    live_max: 55,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    own: leveldb::row(Row::LeveldbCostBenefit),
    parameters: &[leveldb::PARAMETERS, &[parameters::ALL_CANDIDATES, parameters::ZONE_AGE]],
    placement: |_| Arc::new(LogStructured),
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(CostBenefit::of(system)),
    table_size: leveldb::table_size,
};
