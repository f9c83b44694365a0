//! Series: many runs, whose outcomes are kept, so that a long series goes on where it stopped: a
//! run that was under way begins again.
//!
//! | part | content |
//! |---|---|
//! | [`plans()`] | the runs of an experiment, in the order in which they are reported |
//! | [`Results`] | a directory of outcomes, by a hash of all that they depend on |
//! | `others` | finds the outcomes of other builds of the program |
//! | [`carry_out_all`] | carries out runs, as many at once as the [`Limits`] allow |
//! | [`estimate`], [`available`] | memory of a run and of the machine, for these limits |
//!
//! Each run is in virtual time and on one thread: the number of runs at once changes no metric.

mod memory;
mod others;
mod plans;
mod results;
mod schedule;

pub use memory::{available, estimate};
pub use plans::plans;
pub use results::{ResultError, Results};
pub use schedule::{Carried, Event, Limits, SeriesError, carry_out_all};
