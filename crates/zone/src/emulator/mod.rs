//! An emulated drive, zoned, plain or of shingled tracks, in memory or in an *image*: a sparse
//! file. It enforces the rules of [`Device`](crate::Device). A plain drive, or one of tracks, is
//! one conventional zone; its image can also lie on a block device of the host.
//!
//! | part | task |
//! |---|---|
//! | `device` | [`Emulator`]: the [`Device`](crate::Device), and further calls |
//! | `core` | takes requests: tickets, observers, faults, times, counters |
//! | `faults` | which faults the drive is told to have |
//! | `drive` | joins zone states, volatile cache and medium |
//! | `cache`, `overwrite` | which changes are not durable yet |
//! | `cut` | the fate of these changes in a power cut |
//! | `medium` | the bytes, wherever they are kept |
//! | `memory` | the bytes in memory |
//! | `file`, `image` | the bytes in an image, and its format |
//! | `destroyed` | bytes that a read of destroyed blocks returns |
//! | `host`, `host_file` | the part of an image that has reached the host's disk |
//! | `snapshot` | copies of the drive at a moment, whose power can be cut |
//! | `drives` | several drives, watched and cut together |
//! | `timing` | how a model of [`timing`](crate::timing) tells when requests complete |
//!
//! # Fault model
//! - Writes, resets and finishes are volatile as [`Device`](crate::Device) says. Three events make
//!   more durable. A write to a sequential zone makes the reset before it durable. A zone that
//!   fails makes all its changes durable. When more than 64 MiB of old bytes of conventional zones
//!   are kept for a power cut, all completed writes there become durable.
//! - A write is complete, for the flush that follows and for a power cut, once an actor has waited
//!   for it. A forced write that was not waited for may be torn.
//! - The unit of tearing is the physical block; a block is never torn itself.
//! - Tracks that a write destroys read as [`destroyed()`] bytes, and a power cut can bring them
//!   back as long as the write is volatile. Bytes that were never written keep their zeros, and so
//!   do pages of an image that hold zeros only.
//! - The end of the process that uses an image is no power cut: the image keeps volatile changes.
//! - A power cut of the *host* leaves an image in a state that a power cut of the drive could
//!   leave, too; the head of `file` has the exceptions. An image that is used
//!   [unsynced](Emulator::unsynced) may then hold anything.
//! - A [`FaultPlan`] says which requests and zones fail, and when; [`Emulator::set_zone_condition`]
//!   fails a zone, [`Emulator::corrupt`] damages blocks.
//!
//! # Threads
//! One lock guards the drive. It is held while a request is carried out, and while the observer and
//! the timing model are called: these must not call the drive. (The observer gets an event, which
//! can make a snapshot.) The lock is not held while a request, or a sync of the host, is waited
//! for. A submission to an image may wait for such a sync.

mod cache;
mod core;
mod cut;
mod destroyed;
mod device;
mod drive;
mod drives;
mod faults;
mod file;
#[cfg(test)]
mod fuzz;
mod host;
mod host_file;
#[cfg(test)]
mod host_tests;
mod image;
mod medium;
mod memory;
mod overwrite;
mod snapshot;
mod timing;

pub use core::Observer;
pub use cut::PowerCut;
pub use destroyed::destroyed;
pub use device::Emulator;
pub use drives::{Drives, DrivesObserver, Snapshots};
pub use faults::{FaultPlan, RequestKind};
pub use file::Access;
pub use snapshot::{Event, Snapshot};
pub use timing::{Command, Progress, RandomLatency, Timing};
