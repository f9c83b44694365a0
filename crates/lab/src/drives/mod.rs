//! Measurements of the timing models, compared with published measurements of the real drives.
//!
//! [`fn@measure`] does to a modelled drive, in virtual time, what fio does to a real one.
//! [`fn@validate`] repeats the measurements whose results were published and compares; [`fn@sweep`]
//! covers a grid of patterns, sizes, depths and places, for the eye. [`Validation`] prints both as
//! tables; `load` makes the requests of a measurement. Metrics are the same on every machine.
//!
//! Each measurement is a simulation of its own. So all of this is called outside of simulations.

mod load;
mod measure;
mod sweep;
mod validate;
mod validation;

pub use measure::{MeasureError, Measured, measure};
pub use sweep::{Cell, Grid, sweep};
pub use validate::{Comparison, DEVIATION_MAX, validate};
pub use validation::Validation;
