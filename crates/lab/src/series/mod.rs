//! Series: many runs, whose outcomes are kept in files. A series that was stopped can be carried
//! out again. Runs that have a sound result are then left out, unless [`Limits::fresh`] is set, and
//! a run that was running begins anew.
//!
//! | part | content |
//! |---|---|
//! | [`plans()`] | the runs of an experiment, in the order in which they are reported |
//! | [`Results`] | a directory of outcomes, by a hash of all that they depend on |
//! | `others` | finds the outcomes of other builds of the program |
//! | [`carry_out_all`] | carries out runs, as many at once as the [`Limits`] allow |
//! | [`estimate`], [`available`] | memory of a run and of the machine, for these limits |
//!
//! Each run that is carried out has a thread and a virtual clock of its own, so the number of runs
//! at once does not change their metrics.

mod memory;
mod others;
mod plans;
mod results;
mod schedule;

pub use memory::{available, estimate};
pub use plans::plans;
pub use results::{ResultError, Results};
pub use schedule::{Carried, Event, Limits, SeriesError, carry_out_all};
