//! The timing model of a hard disk: a head that moves, platters that turn, a cache and a queue.
//!
//! | part | content |
//! |---|---|
//! | `parameters` | the parameters in a drive file |
//! | `seek` | the time of the head over a distance |
//! | `surface` | the place of a byte (track and angle), and the platter's time over a range |
//! | `segments` | blocks that were read, and the head's read-ahead |
//! | `buffer` | blocks that were written and are not on the medium yet |
//! | `queue` | the commands that wait |
//! | `model` | joins them: chooses the next action of the head |
//! | `inside` | calls of a translation layer on the disk |
//!
//! Offsets on the disk are in bytes, times in nanoseconds. The times of calls must not go back.

mod buffer;
mod inside;
mod model;
mod parameters;
mod queue;
mod seek;
mod segments;
mod surface;

pub use model::Disk;
pub(super) use parameters::DiskParameters;
#[cfg(test)]
pub(super) use parameters::Settings;
