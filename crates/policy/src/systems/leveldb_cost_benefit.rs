//! `leveldb-cost-benefit`: LevelDB over log-structured zones with a cost-benefit collector (Yao et
//! al., "GearDB", FAST '19, section 2.3 and equation 1).
//!
//! 1. Compaction and placement are those of `leveldb-greedy`.
//! 2. The collector is due as in `leveldb-greedy`. It empties the zone of the largest benefit over
//!    cost: the benefit is what comes free, weighted with the age of the zone; the cost is reading
//!    the zone and writing what is live in it. See [`CostBenefit`], also for what the paper leaves
//!    open.

use std::sync::Arc;

use super::parameter::Parameter;
use super::parameters;
use super::{Row, RowParts, leveldb};
use crate::{CostBenefit, LogStructured};

pub(super) const PARTS: RowParts = RowParts {
    name: "leveldb-cost-benefit",
    summary: "leveled; tables of all levels in one log of zones, emptied where it pays most",
    live_max: 55,
    own: leveldb::row(Row::LeveldbCostBenefit),
    parameters: PARAMETERS,
    placement: |_| Arc::new(LogStructured),
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(CostBenefit::of(system)),
    table_size: leveldb::table_size,
};

const PARAMETERS: &[Parameter] = &[
    parameters::ALIGNED_FROM,
    parameters::ALL_CANDIDATES,
    parameters::CARRY_OVERLAP,
    parameters::CHECK_MOVES,
    parameters::FACTOR,
    parameters::FLUSH_LEVEL,
    parameters::FREE_MIN,
    parameters::GAIN_MIN,
    parameters::GROWTH,
    parameters::JOBS,
    parameters::LEVEL0_RUNS,
    parameters::LEVEL0_SLOW,
    parameters::LEVEL0_STOP,
    parameters::LEVEL1_SIZE,
    parameters::MOVES_TOGETHER,
    parameters::TABLE_SIZE,
    parameters::THROTTLE,
    parameters::ZONE_AGE,
];
