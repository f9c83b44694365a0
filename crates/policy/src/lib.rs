//! Layer 1 of the workspace: pure deciders. A decider is given a view and returns a choice. It does
//! not carry the choice out.
//!
//! | question | trait | deciders |
//! |---|---|---|
//! | where does a file go on | [`Placement`] | [`LogStructured`], [`LevelSeparated`] |
//! | | | [`WholeZones`], [`ByLifetime`], [`Fitted`] |
//! | which zone is emptied next, and where to | [`Reclaim`] | [`Greedy`], [`CostBenefit`] |
//! | | | [`LastResort`], [`OnDemand`] |
//! | which tables are merged, and where to; | [`Compaction`] | [`Leveled`], [`Tiered`] |
//! | where new data goes | | [`Sliced`], [`Sweep`], [`Gear`] |
//! | | | [`Bands`], [`Sealdb`] |
//! | and when that pays | | [`LoadAware`], around any of these |
//!
//! A [`System`] is a row of such deciders and of their parameters.
//!
//! This crate does no I/O, starts no threads and reads no clock. Some compaction deciders ask a
//! [`ZonesSource`] where tables lie. State that has to last from one choice to the next is an
//! argument, and a part of the choice.
//!
//! # Order
//! A module imports from modules of its own line and of later lines alone; `cargo xtask tidy`
//! checks it.
//!
//! 1. `lean`, `marks`
//! 2. `systems`, `cost_benefit`, `greedy`, `last_resort`, `on_demand`
//! 3. `by_lifetime`, `sliced`
//! 4. `geardb`, `sealdb`, `smrdb`, `sweep`, `tiered`
//! 5. `leveled`, `load_aware`
//! 6. `compaction`
//! 7. `intake`
//! 8. `claims`, `legality`, `sets`
//! 9. `plan`, `whole_zones`
//! 10. `level_separated`, `log_structured`, `tree`
//! 11. `fit`, `placement`, `histogram`, `load`, `pointers`, `reclaim`, `zones`

mod by_lifetime;
mod claims;
mod compaction;
mod cost_benefit;
mod fit;
#[cfg(test)]
mod fuzz;
mod geardb;
mod greedy;
mod histogram;
mod intake;
mod last_resort;
mod lean;
mod legality;
mod level_separated;
mod leveled;
mod load;
mod load_aware;
mod log_structured;
mod marks;
mod on_demand;
mod placement;
mod plan;
mod pointers;
mod reclaim;
mod sealdb;
mod sets;
mod sliced;
mod smrdb;
mod sweep;
mod systems;
mod tiered;
mod tree;
mod whole_zones;
mod zones;

pub use by_lifetime::ByLifetime;
pub use claims::{Claim, Claims};
pub use compaction::{Choice, Compaction, MOVES_TOGETHER, Pressure, Urgency, WriteRule};
pub use cost_benefit::{CostBenefit, ZoneAge};
pub use fit::{Fit, Fitted};
pub use geardb::{Gear, GearOptions, GearRepairs, GearVariant};
pub use greedy::Greedy;
pub use histogram::{Histogram, HistogramBuilder};
pub use intake::{FLUSH_STREAM, FlushRoute, check_place, deepest_free};
pub use last_resort::LastResort;
pub use lean::Lean;
pub use legality::Illegal;
pub use level_separated::LevelSeparated;
pub use leveled::{LEVEL_STREAM_FIRST, Leveled, LeveledOptions, Throttle};
pub use load::Load;
pub use load_aware::{LoadAware, LoadRule};
pub use log_structured::LogStructured;
pub use marks::Marks;
pub use on_demand::OnDemand;
pub use placement::{PartZone, Placement, PlacementChoice, PlacementRequest, SpaceView};
pub use plan::{Cut, Grandparent, Input, Merge, Move, Part, Place, Plan, Route};
pub use reclaim::{
    CandidateZone, RECLAIM_STREAM, Reclaim, ReclaimChoice, ReclaimView, Sight, Supply,
};
pub use sealdb::{Sealdb, SealdbOptions, Victim};
pub use sliced::{Sliced, SlicedOptions};
pub use smrdb::{Bands, BandsOptions};
pub use sweep::{Sweep, SweepOptions, TAIL_STREAM};
pub use systems::{
    MEMTABLES_KEPT, ParameterText, ParseSystemError, Row, RowParts, StoreShape, System, ZONES_KEPT,
};
pub use terrace_env::ByteCount;
pub use tiered::{Tiered, TieredOptions};
pub use tree::{
    Key, LEVELS_MAX, LevelView, RunId, RunView, SegmentView, Segments, SetView, Span, TreeView,
};
pub use whole_zones::WholeZones;
pub use zones::{ExtentView, NoZones, ZoneView, ZonesSource, ZonesView};
