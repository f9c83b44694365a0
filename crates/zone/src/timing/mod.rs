//! Models of when real drives complete requests, and the drives themselves as data.
//!
//! | part | content |
//! |---|---|
//! | [`Drive`] | a drive of a published experiment: geometry, parameters, published measurements |
//! | `drives/*.toml` | the drives that come with the project, each value with its source |
//! | [`Published`] | measurements of a drive, and their methods |
//! | [`Span`], [`Rate`], [`Size`] | values with units, as they are written in those files |
//! | [`Scale`] | how much smaller than the real drive a modelled one is |
//! | [`Disk`] | the model of a hard disk |
//! | [`Translated`] | the model of a disk that hides its shingled bands, with or without a cache |
//! | [`Flash`] | the model of a ZNS SSD |
//! | [`Drive::plain_timing`] | makes the model of a drive that is used without zones |
//! | [`Work`], [`DeviceTime`] | where the time went, by cause |
//!
//! A model is attached to an emulated drive by
//! [`Emulator::set_timing`](crate::Emulator::set_timing). It decides when requests complete, not
//! their effects. The emulated drive must have the geometry that [`Drive::geometry_of`] gives for
//! the same drive at the same scale; with a model from [`Drive::plain_timing`] it must be a device
//! without zones, of blocks of 4 KiB. `docs/drives.md` has the formulas, and the parts that are not
//! modelled.
//!
//! Times are whole nanoseconds. Where floating point is used, the operations are those that IEEE
//! 754 rounds exactly, so that results do not depend on the machine.
//!
//! A model is called with the emulated drive's lock held, at times that do not go back.

mod accounts;
mod disk;
mod drive;
mod drive_file;
mod flash;
#[cfg(test)]
mod fuzz;
mod published;
mod quantity;
mod scale;
mod translation;

pub use accounts::{CauseTime, DeviceTime, Work};
pub use disk::Disk;
pub use drive::{Drive, Media};
pub use drive_file::DriveError;
pub use flash::Flash;
pub use published::{Job, Metric, Pattern, Published, Region};
pub use quantity::{ParseQuantityError, Rate, Size, Sourced, Span};
pub use scale::{Scale, ScaleMode};
pub use translation::Translated;
