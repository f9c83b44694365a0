//! Devices: the contract, for implementations of devices; the emulator, with power cuts and planned
//! failures of requests ([`FaultPlan`]); models of real drives; and the block devices of Linux
//! ([`BlockDevice`]).
//!
//! ```
//! use std::sync::Arc;
//! use terrace::device::{Emulator, Geometry};
//! use terrace::{ByteCount, Db, FormatOptions, Options};
//!
//! # fn main() -> Result<(), terrace::Error> {
//! // 64 zones of 1 MiB, in memory; `Emulator::create_image` makes them in a sparse file.
//! let drive = Arc::new(Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 64), 1)?);
//! let db = Db::create_device(drive, &FormatOptions::default(), Options::default())?;
//! db.put(b"key", b"value")?;
//! db.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! A device holds at most one store, or a part of one.
//! [`Db::create_device`](crate::Db::create_device) makes an empty store, and all data on the device
//! is lost; [`Db::open_device`](crate::Db::open_device) opens the existing store.

pub use terrace_env::random::Random;
pub use terrace_env::{Cause, IoBuf, Lba, Users, Uuid, ZoneId};
pub use terrace_zone::emulator::{FaultPlan, RandomLatency, RequestKind, Timing};
pub use terrace_zone::linux::{
    BlockDevice, IoEngine, Listed, Queue, Usage, ZoneModel, foreign_content,
};
pub use terrace_zone::timing::{self, Drive};
pub use terrace_zone::{
    Access, Completion, Device, DeviceError, DriveAt, Emulator, Geometry, GeometryError, Layout,
    Op, PowerCut, Request, Ticket, Tracks, ZoneReport, ZoneState, ZoneType,
};
