//! Experiments as data: a small file lists runs and plots. They redraw a figure of a paper, or
//! answer a question about one.
//!
//! | part | what it says |
//! |---|---|
//! | [`Experiment`] | the whole file: drive, store, phases, systems, variants |
//! | [`Plot`] | what is drawn |
//! | [`Claim`] | a value that a paper states, and our metric to compare with it |
//! | [`names`] | the experiments that come with the project, `experiments/PAPER/FIGURE.toml` |
//!
//! Sizes, counts and times are those of the full drive. A run at scale `1/n` makes them smaller by
//! the rules of `run::scaling`. `docs/experiments.md` describes the form of the file.
//!
//! A file is checked when it is read (`parse`, `check`, `position`). Wrong settings of the store,
//! and a scale that is too small, are found later, when a run is planned.

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
