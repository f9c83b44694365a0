//! Block devices, zoned, plain and of shingled tracks: layer 1 of the workspace.
//!
//! - [`Device`] is the contract that back-ends keep. [`Geometry`] is the shape of a device,
//!   [`DeviceError`] its errors.
//! - [`ZoneTable`] is the zone state machine. It does no I/O and holds no bytes.
//! - [`Emulator`] is a device in memory or in an image, with a volatile cache, power cuts and
//!   faults.
//! - [`timing`] has real drives as data, and models of when they complete requests. A model can be
//!   attached to an emulator.
//! - [`linux`] has the block devices of Linux, zoned and plain.
//! - [`DeviceLayer`] changes single calls of another device.
//! - [`conformance`] is a suite of rules that a back-end can be tested with.
//!
//! This crate does not know files of a store, nor keys.
//!
//! A device may be called from any number of actors. An emulator must not be called from within its
//! own observer or timing model. No lock of [`sync`](terrace_env::sync) may be held over a report,
//! a submission or a wait.

pub mod conformance;
mod device;
mod device_layer;
mod drive_at;
pub mod emulator;
mod error;
mod geometry;
mod layout;
pub mod linux;
mod ranges;
mod state;
pub mod timing;

pub use device::{Completion, Device, Op, Request, Ticket, ZoneReport, ZoneState};
pub use device_layer::DeviceLayer;
pub use drive_at::DriveAt;
pub use emulator::{Access, Emulator, PowerCut, Snapshot};
pub use error::DeviceError;
pub use geometry::{Geometry, GeometryError, ZoneType};
pub use layout::{Layout, Tracks};
pub use state::{Transition, ZoneStatus, ZoneTable};
