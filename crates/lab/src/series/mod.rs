//! Many runs: what comes of them is kept, so that a long series goes on where it stopped.
//!
//! | part | what it is |
//! |---|---|
//! | [`plans()`] | the runs of an experiment, in the order in which they are reported |
//! | [`Results`] | a directory of what came of runs, by a hash of all they depend on |
//! | [`carry_out_all`] | runs on threads of their own, as many as processors and memory allow |
//!
//! Each run is in virtual time and on one thread: how many go on at once changes no figure.

mod memory;
mod others;
mod plans;
mod results;
mod schedule;

pub use memory::{available, estimate};
pub use plans::plans;
pub use results::{ResultError, Results};
pub use schedule::{Carried, Event, Limits, SeriesError, carry_out_all};
