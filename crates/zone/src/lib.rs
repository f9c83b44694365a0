//! Layer 1: devices, zoned, plain and of shingled tracks.
//!
//! [`Device`] is the contract that every back-end keeps, [`Geometry`] the shape of a device with
//! its [`Layout`], [`DeviceError`] what it may answer. The zone state machine is pure and shared;
//! the emulator joins it with a medium (memory or a file), a volatile cache and faults;
//! [`DeviceLayer`] changes single calls of another device; [`timing`] holds models of when real
//! drives complete what they are asked. The conformance suite is a library function, so that any
//! back-end can be run through it.
//!
//! A device may be called from any number of actors, but not from within its own observer or timing
//! model. No lock of [`sync`](terrace_env::sync) may be held over a report, a submission or a wait.
//!
//! zone does not know files or keys.

pub mod conformance;
mod device;
mod device_layer;
pub mod emulator;
mod error;
mod geometry;
mod ranges;
mod state;
pub mod timing;

pub use device::{Completion, Device, Op, Request, Ticket, ZoneReport, ZoneState};
pub use device_layer::DeviceLayer;
pub use emulator::{Access, Emulator, PowerCut, Snapshot};
pub use error::DeviceError;
pub use geometry::{Geometry, GeometryError, Layout, Tracks, ZoneType};
pub use state::{Transition, ZoneStatus, ZoneTable};
