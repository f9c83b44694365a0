//! The model of a hard disk: a head that moves, platters that turn, a cache and a queue.
//!
//! | part | what it knows |
//! |---|---|
//! | `parameters` | what a drive file says |
//! | `seek` | how long the head takes over a distance |
//! | `surface` | where a byte lies: track, angle; how long the platter takes over a stretch |
//! | `segments` | what was read, and what the head reads ahead |
//! | `buffer` | what was written and is not on the medium yet |
//! | `queue` | the commands that wait for the head |
//! | `model` | joins them: what the head does next |

mod buffer;
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
