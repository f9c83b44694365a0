//! An emulated drive, zoned, plain or of shingled tracks, in memory or in a sparse file. It
//! enforces the rules of [`Device`](crate::Device). A plain drive, or one of tracks, is one
//! conventional zone; it can also lie on a block device of the host.
//!
//! | part | what it does |
//! |---|---|
//! | `device` | [`Emulator`]: the [`Device`](crate::Device), and the knobs of tests |
//! | `core` | tickets, observers, counters |
//! | `faults` | errors that the drive is told to have |
//! | `drive` | joins zone states, volatile cache and medium |
//! | `cache`, `overwrite`, `cut` | what is not durable yet, and what a power cut makes of it |
//! | `medium`, `memory` | the bytes, in memory |
//! | `file`, `image` | the bytes in a sparse file, and its format |
//! | `destroyed` | what destroyed blocks read as |
//! | `host`, `host_file` | what of that file has reached the host's disk |
//! | `snapshot` | copies of the drive at any moment, to be cut and recovered |
//! | `drives` | several drives, watched and cut together |
//! | `timing` | the seam where a model of [`timing`](crate::timing) says when requests complete |
//!
//! # Fault model
//! - Unflushed writes, resets and finishes are volatile, as [`Device`](crate::Device) says. On top
//!   of that, bytes that are written to a sequential zone make the reset before them durable, and a
//!   zone that fails makes all its changes durable.
//! - A write is complete, for the flush that follows and for a power cut, once it was waited for; a
//!   forced write that was not waited for may be torn.
//! - The unit of tearing is the physical block; a block is never torn itself.
//! - Tracks that a write destroys are destroyed at once, and read as [`destroyed()`] bytes, unless
//!   they held zeros only. The destruction is as volatile as the write: a power cut that keeps
//!   nothing of the write brings the tracks back, and one that keeps a block of it may bring back
//!   any of their blocks. The bytes of a write are never destroyed by an earlier one, in whatever
//!   order the two become durable.
//! - The end of the process that uses an image is no power cut: the image keeps what was volatile.
//! - A power cut of the *host* is one of the drive, with holes: what a completed flush or forced
//!   write covers has been synced to the host's disk. A drive that was made
//!   [unsynced](Emulator::unsynced) may be lost.
//! - A [`FaultPlan`] says which requests and zones fail, and when; [`Emulator::set_zone_condition`]
//!   fails a zone, [`Emulator::corrupt`] damages blocks.
//!
//! # Threads
//! One lock guards the drive. It is held while a request is carried out, and while the observer and
//! the timing model are called: these must not call the drive (the observer's event gives it a
//! snapshot). The lock is not held while a request, or a sync of the host, is waited for. A
//! submission to an image may wait for such a sync.

mod cache;
mod core;
mod cut;
mod destroyed;
mod device;
mod drive;
mod drives;
mod faults;
mod file;
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
