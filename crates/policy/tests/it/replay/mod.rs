//! A load replayed through a system's deciders on a tree and zones of a few entries each, and what
//! it leaves: a picture, or metrics.
//!
//! The picture is a line per zone, a letter per entry - the level of the table it is in, `R` beside
//! what reclaim has moved, `x` for a dead one, `.` for what is not written.

pub(crate) mod load;
pub(crate) mod store;
mod zones;
