//! Runs in virtual time: a system, a modelled drive and a workload, from which figures come that
//! are the same on every machine.

mod figures;
mod names;
mod outcome;
mod sample;

pub use figures::{Amplification, Figures, SpaceEfficiency};
pub use outcome::{Cost, Outcome};
pub use sample::{Sample, ZoneShare};
