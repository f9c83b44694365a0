//! Experiments as data: a small file lists the runs and the plots that redraw a figure of a paper,
//! or answer a question of ours about one.
//!
//! | part | what it says |
//! |---|---|
//! | [`Experiment`] | the whole file: drive, store, phases, systems, variants |
//! | [`Plot`] | what is drawn |
//! | [`Claim`] | the value that a paper states, and our metric to compare with it |
//! | [`names`] | the experiments that come with the project, `experiments/PAPER/FIGURE.toml` |
//!
//! All sizes, counts and times are those of the full scale; a run at `1/n` scales them, by the
//! rules of `run::scaling`. The form of the file is described in `docs/experiments.md`. A file is
//! checked when it is read (`parse`, `check`, `position`); too small a scale is found when a run is
//! planned.

mod check;
mod claim;
mod description;
mod device;
mod evaluate;
mod library;
mod parse;
mod plot;
mod position;

pub use claim::{Claim, Measure, Quantity, Than};
pub use description::{Experiment, Location, PhaseDescription, StoreDescription, Variant};
pub use device::DeviceDescription;
pub use library::names;
pub use parse::ExperimentError;
pub use plot::{Over, Plot, SETTING};
pub(crate) use plot::{leading_number, parameter_of};
pub use position::Position;
