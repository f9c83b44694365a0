//! [`DeviceError`]: errors of devices, and of the images that emulated drives are kept in.
//!
//! - The request breaks a rule of the device, or the device was opened for reading only
//!   ([`ReadOnlyDevice`](DeviceError::ReadOnlyDevice)): it has changed nothing. After
//!   [`ZoneReadOnly`](DeviceError::ZoneReadOnly) and [`ZoneOffline`](DeviceError::ZoneOffline) the
//!   zone will not be writable again.
//! - [`Medium`](DeviceError::Medium), [`Host`](DeviceError::Host),
//!   [`HostFull`](DeviceError::HostFull): a part of a write may have been done. To try again in a
//!   sequential zone, write at the pointer that the zone's report gives.
//! - [`FlushFailed`](DeviceError::FlushFailed), [`HostSync`](DeviceError::HostSync): requests that
//!   had completed since the last flush may be lost. After `HostSync`, the image takes no changes
//!   until it is opened again.
//! - [`PowerLost`](DeviceError::PowerLost): requests and reports fail until the power is back.
//! - [`Geometry`](DeviceError::Geometry), [`InUse`](DeviceError::InUse),
//!   [`NotAnImage`](DeviceError::NotAnImage), [`BadImage`](DeviceError::BadImage),
//!   [`NotABlockDevice`](DeviceError::NotABlockDevice), and also `Host`, `HostFull` and `HostSync`:
//!   an image could not be made, or a drive could not be opened.
//! - [`Unmounted`](DeviceError::Unmounted) is for handles of a store that has been unmounted.
//!   Devices do not return it.

use std::sync::Arc;

use terrace_env::{Lba, ZoneId};

use crate::{GeometryError, ZoneState};

/// An error of a [`Device`](crate::Device).
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeviceError {
    /// A write to a sequential zone that does not start at its pointer.
    #[error("zone {zone}: write at block {got}, expected the write pointer {expected}")]
    NotAtWritePointer {
        /// The zone.
        zone: ZoneId,
        /// Its write pointer.
        expected: Lba,
        /// Where the write starts.
        got: Lba,
    },
    /// A write that ends beyond the zone's capacity.
    #[error("zone {zone}: write of {blocks} blocks at {lba} ends beyond its capacity at {end}")]
    BeyondCapacity {
        /// The zone.
        zone: ZoneId,
        /// Where the write starts.
        lba: Lba,
        /// Its logical blocks.
        blocks: u64,
        /// The first block that cannot be written.
        end: Lba,
    },
    /// A write to a full zone.
    #[error("zone {zone} is full: expected a zone with room; reset it first")]
    ZoneFull {
        /// The zone.
        zone: ZoneId,
    },
    /// A request whose start or length is not made of whole blocks.
    #[error("request of {bytes} bytes at block {lba}: expected multiples of {expected} bytes")]
    Misaligned {
        /// Where the request starts.
        lba: Lba,
        /// Its bytes.
        bytes: u64,
        /// The block it must be made of.
        expected: u32,
    },
    /// A request beyond the device's end, or for no blocks.
    #[error("request for {blocks} blocks at {lba}: expected 1 or more within 0..{end}")]
    OutOfRange {
        /// Where the request starts.
        lba: Lba,
        /// Its logical blocks.
        blocks: u64,
        /// The device's logical blocks.
        end: Lba,
    },
    /// There is no such zone.
    #[error("zone {zone}: expected a zone below {zones}")]
    NoSuchZone {
        /// The zone.
        zone: ZoneId,
        /// The device's zones.
        zones: u32,
    },
    /// A request that crosses from one zone to the next.
    #[error("request for {blocks} blocks at {lba} crosses the end of zone {zone}")]
    CrossesZone {
        /// The zone it starts in.
        zone: ZoneId,
        /// Where it starts.
        lba: Lba,
        /// Its logical blocks.
        blocks: u64,
    },
    /// All open slots are taken by zones that the host opened.
    #[error("zone {zone}: {limit} zones are explicitly open already; close one first")]
    TooManyOpen {
        /// The zone that was to be opened.
        zone: ZoneId,
        /// The device's limit.
        limit: u32,
    },
    /// All active slots are taken.
    #[error("zone {zone}: {limit} zones are active already; finish or reset one first")]
    TooManyActive {
        /// The zone that was to be written.
        zone: ZoneId,
        /// The device's limit.
        limit: u32,
    },
    /// A zone operation that the zone's state does not allow.
    #[error("zone {zone}: cannot {operation} it while it is {}", state.name())]
    WrongState {
        /// The zone.
        zone: ZoneId,
        /// Operation asked for.
        operation: &'static str,
        /// The state it is in.
        state: ZoneState,
    },
    /// The zone can be read, and never written again.
    #[error("zone {zone} is read-only")]
    ZoneReadOnly {
        /// The zone.
        zone: ZoneId,
    },
    /// The zone is gone.
    #[error("zone {zone} is offline")]
    ZoneOffline {
        /// The zone.
        zone: ZoneId,
    },
    /// An append larger than the device allows, or to a device without append.
    #[error("append of {blocks} blocks to zone {zone}: expected at most {limit}")]
    AppendTooLarge {
        /// The zone.
        zone: ZoneId,
        /// Its logical blocks.
        blocks: u64,
        /// The device's limit, 0 if it has no append.
        limit: u32,
    },
    /// The medium failed under a request; part of a write may have been done.
    #[error("zone {zone}: medium error at block {lba} during {operation}")]
    Medium {
        /// The zone.
        zone: ZoneId,
        /// Where.
        lba: Lba,
        /// Operation that failed.
        operation: &'static str,
    },
    /// The flush failed: requests completed since the last one may be lost.
    #[error("cache flush failed: completed writes since the last flush may be lost")]
    FlushFailed,
    /// The power is off.
    #[error("the device has lost power")]
    PowerLost,
    /// The host's operating system failed the request.
    #[error("{operation}: {source}")]
    Host {
        /// Operation that failed.
        operation: String,
        /// The operating system's error.
        source: Arc<std::io::Error>,
    },
    /// The host's disk has no room for the bytes written to the image.
    #[error("no room on the host's disk for the bytes written to the image {path}: {source}")]
    HostFull {
        /// The image file.
        path: String,
        /// The operating system's error.
        source: Arc<std::io::Error>,
    },
    /// The host could not make the image durable. The image takes no more changes until it is
    /// opened again.
    #[error(
        "the image {path} could not be synced to the host's disk: writes that completed since the \
         last flush may be lost: {source}"
    )]
    HostSync {
        /// The image file.
        path: String,
        /// The operating system's error.
        source: Arc<std::io::Error>,
    },
    /// The device was opened for reading only.
    #[error("cannot {operation}: the device was opened for reading only")]
    ReadOnlyDevice {
        /// Operation asked for.
        operation: &'static str,
    },
    /// Another process, or another part of this one, uses the image or the block device; or the
    /// block device is mounted.
    #[error("{path} is in use: expected a drive without another user")]
    InUse {
        /// The image file or the block device; and its user, if known.
        path: String,
    },
    /// The store on the device has been unmounted: its handles reach the device no more, because
    /// another user may have it by now.
    #[error("the store on the device has been unmounted")]
    Unmounted,
    /// No device can have this shape.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// The path does not hold an image: it is a directory, a pipe, or a file of another kind.
    #[error("{path}: expected the image of a Terrace drive, found {found}")]
    NotAnImage {
        /// Path of the supposed image.
        path: String,
        /// Description of the finding, in words.
        found: String,
    },
    /// The path does not lead to a block device of the kind that was expected.
    #[error("{path}: expected {expected}, found {found}")]
    NotABlockDevice {
        /// Path of the supposed device.
        path: String,
        /// The kind of device.
        expected: &'static str,
        /// Description of the finding, in words.
        found: String,
    },
    /// The image is damaged, or of a version that is unknown here.
    #[error("{path}: {what}: expected {expected}, found {got}")]
    BadImage {
        /// The image file.
        path: String,
        /// The field.
        what: &'static str,
        /// Value expected.
        expected: String,
        /// Value found.
        got: String,
    },
}

impl DeviceError {
    /// Wraps an error of the operating system.
    pub fn host(operation: impl Into<String>, source: std::io::Error) -> Self {
        Self::Host { operation: operation.into(), source: Arc::new(source) }
    }
}
