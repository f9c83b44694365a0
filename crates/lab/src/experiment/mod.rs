//! Experiments as data: a figure of a paper, as a small file that says what to run and what to
//! draw.
//!
//! | part | what it says |
//! |---|---|
//! | [`Experiment`] | the whole file: drive, store, phases, systems, variants |
//! | [`Plot`] | what is drawn |
//! | [`Claim`] | what the paper says of it, and which of our figures answers |
//!
//! All sizes, counts and times are those of the full scale; a run at `1/n` scales them.

mod claim;
mod description;
mod plot;

pub use claim::{Claim, Quantity};
pub use description::{Experiment, LogPlace, PhaseDescription, StoreDescription, Variant};
pub use plot::Plot;
