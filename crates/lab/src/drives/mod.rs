//! Measures the timing models of drives, and compares them with published measurements of the real
//! drives.
//!
//! - [`fn@measure`] does one job on a model, in virtual time, as fio does on a real drive. For jobs
//!   that read, write or append, `load` makes the requests.
//! - [`fn@sweep`] measures a grid of patterns, sizes, depths and places.
//! - [`fn@validate`] repeats the published measurements and compares.
//! - [`Validation`] prints comparisons and sweeps as tables.
//!
//! Call these outside of simulations: each measurement starts its own.

mod load;
mod measure;
mod sweep;
mod validate;
mod validation;

pub use measure::{MeasureError, Measured, measure};
pub use sweep::{Cell, Grid, sweep};
pub use validate::{Comparison, DEVIATION_MAX, validate};
pub use validation::Validation;
