//! Layer 1: pure deciders. A policy is given a view and returns a choice; whoever asked carries it
//! out without thinking.
//!
//! | question | trait | deciders |
//! |---|---|---|
//! | which zone does a file's next stretch go to | [`Placement`] | [`LogStructured`] |
//! | which zone is emptied next, and where to | [`Reclaim`] | [`Greedy`] |
//!
//! policy does not know I/O, bytes on a medium, threads or the clock.

mod greedy;
mod log_structured;
mod placement;
mod reclaim;

pub use greedy::Greedy;
pub use log_structured::LogStructured;
pub use placement::{PartZone, Placement, PlacementChoice, PlacementRequest, SpaceView};
pub use reclaim::{CandidateZone, RECLAIM_STREAM, Reclaim, ReclaimChoice, ReclaimView};
