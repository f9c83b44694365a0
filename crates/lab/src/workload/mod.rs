//! What clients do: which operation comes next, on which record, of which size.
//!
//! A [`Workload`] is pure: from a seed it gives a sequence of [`Operation`]s on *records*, which
//! are numbered in the order of their insertion; how a number becomes a key is its user's. It knows
//! no clock, so that the same sequence is carried out in real and in virtual time. A sequence can
//! be written down and carried out again: see [`Trace`].

mod chooser;
mod operation;
mod sizes;
mod trace;
mod ycsb;
mod zipfian;

pub use chooser::Chooser;
pub use operation::{Operation, Proportions, Workload};
pub use sizes::Sizes;
pub use trace::{Trace, TraceError, write_trace};
pub use ycsb::{UnknownWorkload, Ycsb};
pub use zipfian::{ScrambledZipfian, Zipfian};
