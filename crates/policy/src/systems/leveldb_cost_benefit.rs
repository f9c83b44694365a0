//! `leveldb-cost-benefit`: LevelDB over log-structured zones with a cost-benefit collector (Yao et
//! al., "GearDB", FAST '19, section 2.3 and equation 1).
//!
//! 1. Compaction and placement are those of `leveldb-greedy`: LevelDB's, and one log of zones for
//!    tables of all levels.
//! 2. When less than 20 % of the zones is free, few are spare, or a writer waits, the zone of the
//!    largest benefit over cost is emptied; while nobody waits, only if it gives 10 % of a zone.
//!    The benefit is what comes free, weighted with the levels of all tables that were written to
//!    the zone, added up, because what lies deep is rewritten rarely; the cost is reading the zone
//!    and writing what is live in it. See [`CostBenefit`].
//!
//! The paper finds it almost as slow as the greedy collector: in zones with tables of all levels
//! the sums hardly differ.
//!
//! # Where the paper is silent
//! - As in `leveldb-greedy`: which zones are open at once, and when a collector should rather not.
//! - Worth of a zone without deep tables, and which tables make its age: see [`CostBenefit`].

use std::sync::Arc;

use super::parameter::{self, Parameter};
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
    parameter::ALIGNED_FROM,
    parameter::ALL_CANDIDATES,
    parameter::CARRY_OVERLAP,
    parameter::CHECK_MOVES,
    parameter::FACTOR,
    parameter::FLUSH_LEVEL,
    parameter::FREE_MIN,
    parameter::GAIN_MIN,
    parameter::GROWTH,
    parameter::JOBS,
    parameter::LEVEL0_RUNS,
    parameter::LEVEL0_SLOW,
    parameter::LEVEL0_STOP,
    parameter::LEVEL1_SIZE,
    parameter::MOVES_TOGETHER,
    parameter::TABLE_SIZE,
    parameter::THROTTLE,
    parameter::ZONE_AGE,
];
