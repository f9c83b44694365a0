//! A load replayed through a system's deciders, on a tree and zones of a few entries each. The
//! final state is drawn as a picture, or told in metrics. There is no I/O, no log and no clock.
//!
//! The picture is a line per zone, a letter per entry - the level of the table it is in, `x` for a
//! dead one, `.` for an unwritten one - and `R` after a zone that reclaim has written.

pub(crate) mod load;
pub(crate) mod store;
pub(crate) mod uniform;
mod zones;
