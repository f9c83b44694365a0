//! A load replayed through a system's deciders, on a tree and zones of a few entries each. What is
//! left is drawn as a picture, or told in metrics. There is no I/O, no log and no clock.
//!
//! The picture is a line per zone, a letter per entry - the level of the table it is in, `x` for a
//! dead one, `.` for what is not written - and `R` behind a zone that reclaim has written.

pub(crate) mod load;
pub(crate) mod store;
pub(crate) mod uniform;
mod zones;
