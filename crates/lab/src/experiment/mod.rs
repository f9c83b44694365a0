//! Experiments as data: a small file lists runs and plots. The project's own files redraw figures
//! of papers, or answer questions about them.
//!
//! | part | content |
//! |---|---|
//! | [`Experiment`] | the whole file: drive, store, systems, phases, variants, plots, claims |
//! | [`DeviceDescription`] | the kind of device that holds the tables |
//! | [`Plot`] | a drawing |
//! | [`Claim`] | a value that a paper states, and our quantity to compare with it |
//! | [`NamedRun`] | the run that shows why a value of ours differs from a paper's |
//! | [`settings_of`] | a hash of the settings that a claim's value depends on |
//! | [`names`] | the experiments that come with the project, `experiments/GROUP/NAME.toml` |
//!
//! Sizes, counts and times are those of the full drive. The form of the file is described in
//! `docs/lab/experiments.md`.
//!
//! A file is checked when it is read (`parse`, `check`, `position`), except for points that depend
//! on the scale of a run, and for settings of the store that do not fit each other.

mod check;
mod claim;
mod description;
mod device;
mod evaluate;
#[cfg(test)]
mod fuzz;
mod library;
mod named_run;
mod parse;
mod plot;
mod position;
mod settings;

pub use claim::{Claim, Measure, Quantity, Than};
pub use description::{Experiment, Location, PhaseDescription, StoreDescription, Variant};
pub use device::DeviceDescription;
pub use library::names;
pub use named_run::NamedRun;
pub use parse::ExperimentError;
pub use plot::{Over, Plot, SETTING};
pub(crate) use plot::{leading_number, parameter_of};
pub use position::Position;
pub use settings::settings_of;
