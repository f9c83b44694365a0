//! Layer 1: pure deciders. A policy is given a view and returns a choice; whoever asked carries it
//! out without thinking.
//!
//! | question | trait | deciders |
//! |---|---|---|
//! | which zone does a file's next stretch go to | [`Placement`] | [`LogStructured`] |
//! | which zone is emptied next, and where to | [`Reclaim`] | [`Greedy`] |
//! | which tables are merged next, and where do they go | [`Compaction`] | [`Leveled`] |
//!
//! policy does not know I/O, bytes on a medium, threads or the clock.

mod compaction;
mod greedy;
mod legality;
mod leveled;
mod log_structured;
mod placement;
mod plan;
mod reclaim;
mod tree;

pub use compaction::{Choice, Compaction, Pressure, Urgency};
pub use greedy::Greedy;
pub use legality::Illegal;
pub use leveled::{LEVEL_STREAM_FIRST, Leveled, LeveledOptions};
pub use log_structured::LogStructured;
pub use placement::{PartZone, Placement, PlacementChoice, PlacementRequest, SpaceView};
pub use plan::{Cut, Input, Merge, Move, Obstacle, Part, Place, Plan, Route};
pub use reclaim::{CandidateZone, RECLAIM_STREAM, Reclaim, ReclaimChoice, ReclaimView};
pub use tree::{Key, LEVELS_MAX, LevelView, RunId, RunView, SegmentView, Span, TreeView};
