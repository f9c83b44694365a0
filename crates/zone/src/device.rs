//! [`Device`]: the contract between a device and its users. Its rules for zones follow ZBC, ZAC and
//! NVMe ZNS.
//!
//! - *Writing.* A sequential zone is written at its write pointer, in whole physical blocks. The
//!   pointer moves by the written blocks; at the capacity the zone is full. A write that does not
//!   fill the zone opens it implicitly, unless it is open already. A conventional zone is written
//!   anywhere, in whole logical blocks.
//! - *Append.* A device may offer appends, which go to the place of the write pointer at that
//!   moment. Appends to one zone that are in flight together land one after the other, in an order
//!   that the device chooses. On Linux 6.10 and later, a write after them may fail although the
//!   drive is sound; [`linux`](crate::linux) has the rule that avoids it.
//! - *Limits.* A device may limit open zones, and active ones (open or closed). It may close an
//!   implicitly opened zone to make room for another, but not an explicitly opened one. Power-on
//!   closes all open zones.
//! - *Reset and finish.* Reset empties a sequential zone, and finish makes it full.
//! - *Failed zones.* A zone can become read-only or offline. No request makes it writable again.
//! - *Reading.* A read or a write stays within one zone. A read below the pointer returns the
//!   written bytes, unless a power cut has taken them or the block is damaged. A read beyond the
//!   pointer returns zeros, or 0xff on some devices. An offline zone cannot be read.
//! - *Durability.* A completed write is *volatile* until a flush that covers it completes, unless
//!   it was forced (`fua`). Resets and finishes are volatile, too. A power cut keeps, drops or
//!   tears volatile writes, block by block. A forced write makes itself durable, and the reset of
//!   its zone, but not the blocks before it: they may be lost although the pointer is beyond them.
//! - *Flush.* It covers the requests that had completed when it was submitted. A request has
//!   completed when an actor has waited for it, not before.
//! - *Errors.* A request against these rules changes nothing. A write that fails for another reason
//!   may have written its first blocks: the zone's report tells where its pointer is. After a
//!   failed flush all volatile changes may be lost.
//!
//! A [`Plain`](crate::Layout::Plain) device is one conventional zone. It refuses zone operations
//! and appends. After a power cut, each physical block of a volatile write is new or old.
//!
//! A device of [`Tracks`](crate::Layout::Tracks) is used like a plain one, but a write destroys the
//! blocks that [`Tracks::harmed`](crate::Tracks::harmed) names. No request is refused for that: the
//! host must leave a guard before blocks that it still wants. A destroyed block reads as other
//! bytes than it held, maybe zeros, or the read fails with [`DeviceError::Medium`], until the block
//! is written again. The destruction is as volatile as the write: after a power cut, a block that a
//! volatile write destroyed is old or destroyed. If no block of the write was kept, the destroyed
//! block is old, except in an image after a power cut of its host.
//!
//! # Threads
//! All methods may be called from any actor. Requests to one zone are carried out in the order in
//! which they were submitted; appends that are in flight together have no order among themselves.
//! No lock may be held over a report, a submission or a wait. Each ticket must be waited for once,
//! by any actor.

use serde::{Deserialize, Serialize};
use terrace_env::{ByteCount, Cause, IoBuf, Lba, Users, ZoneId};

use crate::{DeviceError, Geometry, ZoneType};

/// The state of a zone, in the words of ZBC and NVMe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneState {
    /// The zone is empty.
    Empty,
    /// Opened by a write; the device may close it.
    ImplicitlyOpen,
    /// Opened by the host; only the host closes it.
    ExplicitlyOpen,
    /// Partly written, and not open.
    Closed,
    /// Written to its capacity, or finished.
    Full,
    /// Readable, and never writable again.
    ReadOnly,
    /// Neither readable nor writable, for ever.
    Offline,
    /// A conventional zone.
    NotWritePointer,
}

impl ZoneState {
    /// The state in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::ImplicitlyOpen => "open (implicitly)",
            Self::ExplicitlyOpen => "open (explicitly)",
            Self::Closed => "closed",
            Self::Full => "full",
            Self::ReadOnly => "read-only",
            Self::Offline => "offline",
            Self::NotWritePointer => "writable anywhere",
        }
    }

    /// Whether the zone takes up one of the open slots.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpen | Self::ExplicitlyOpen)
    }

    /// Whether the zone takes up one of the active slots.
    #[must_use]
    pub fn is_active(self) -> bool {
        self.is_open() || self == Self::Closed
    }

    /// Whether the write pointer means something: on full, conventional, read-only and offline
    /// zones its value differs from device to device.
    #[must_use]
    pub fn has_pointer(self) -> bool {
        self == Self::Empty || self.is_active()
    }
}

/// A device's report on one zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneReport {
    /// The zone.
    pub zone: ZoneId,
    /// Whether it must be written sequentially.
    pub zone_type: ZoneType,
    /// State of the zone.
    pub state: ZoneState,
    /// First block of the zone.
    pub start: Lba,
    /// Writable logical blocks.
    pub capacity: u64,
    /// The next block to write; meaningless unless [`ZoneState::has_pointer`].
    pub write_pointer: Lba,
}

/// Operation of a device.
#[derive(Debug)]
pub enum Op {
    /// Reads `blocks` logical blocks.
    Read {
        /// The first block.
        lba: Lba,
        /// How many.
        blocks: u32,
    },
    /// Writes whole blocks: at the write pointer of a sequential zone, anywhere in a conventional
    /// one; never across a zone's capacity.
    Write {
        /// The first block.
        lba: Lba,
        /// The bytes; the buffer comes back with the completion.
        data: IoBuf,
        /// Durable on completion.
        fua: bool,
    },
    /// Writes whole blocks at the pointer, wherever it is by then.
    Append {
        /// The zone.
        zone: ZoneId,
        /// The bytes; the buffer comes back with the completion.
        data: IoBuf,
        /// Durable on completion.
        fua: bool,
    },
    /// Opens a zone explicitly.
    Open(ZoneId),
    /// Closes an open zone; one with nothing written becomes empty.
    Close(ZoneId),
    /// Makes a zone full wherever its pointer is.
    Finish(ZoneId),
    /// Empties a zone.
    Reset(ZoneId),
    /// Makes everything that completed before durable.
    Flush,
}

/// A request, with the job it is for.
#[derive(Debug)]
pub struct Request {
    /// The operation.
    pub op: Op,
    /// The cause on whose behalf the request is made.
    pub cause: Cause,
}

/// A submitted request. It must be waited for once, by any actor.
#[must_use = "a request that is never waited for is never known to have succeeded"]
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket(pub u64);

/// Answer of a device to a request that succeeded.
#[derive(Debug)]
pub enum Completion {
    /// The zone operation or flush is done.
    Done,
    /// The bytes read.
    Read(IoBuf),
    /// Where the bytes were written, and their buffer for reuse.
    Written {
        /// The first block written.
        lba: Lba,
        /// The buffer that was handed in.
        data: IoBuf,
    },
}

/// A device.
pub trait Device: Send + Sync + 'static {
    /// The shape of the device.
    fn geometry(&self) -> &Geometry;

    /// The state of `count` zones from `first` on; fewer at the end of the device.
    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError>;

    /// Claims on the device: a file system claims it before it looks at it. A device that wraps
    /// another one returns the claims of the inner one.
    fn users(&self) -> &Users;

    /// Whether the device carries out a forced write by itself, for the cost of that write. Of
    /// another device the host flushes the whole cache after each of them.
    fn forces_writes(&self) -> bool {
        false
    }

    /// Bytes that the host has left for zones of an image that were never written, or were reset;
    /// `None`: the device has all its space.
    fn host_room(&self) -> Option<ByteCount> {
        None
    }

    /// Hands a request to the device, and does not wait for its completion. (The submission to an
    /// image may wait for a sync of the host.)
    fn submit(&self, request: Request) -> Ticket;

    /// Waits for a request to complete.
    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError>;

    /// Reads `blocks` logical blocks and waits.
    fn read(&self, lba: Lba, blocks: u32, cause: Cause) -> Result<IoBuf, DeviceError> {
        match self.wait(self.submit(Request { op: Op::Read { lba, blocks }, cause }))? {
            Completion::Read(data) => Ok(data),
            other => unreachable!("a read completed as {other:?}"),
        }
    }

    /// Writes and waits; returns the buffer.
    fn write(&self, lba: Lba, data: IoBuf, fua: bool, cause: Cause) -> Result<IoBuf, DeviceError> {
        match self.wait(self.submit(Request { op: Op::Write { lba, data, fua }, cause }))? {
            Completion::Written { data, .. } => Ok(data),
            other => unreachable!("a write completed as {other:?}"),
        }
    }

    /// Appends and waits; returns where the bytes went.
    fn append(
        &self,
        zone: ZoneId,
        data: IoBuf,
        fua: bool,
        cause: Cause,
    ) -> Result<(Lba, IoBuf), DeviceError> {
        match self.wait(self.submit(Request { op: Op::Append { zone, data, fua }, cause }))? {
            Completion::Written { lba, data } => Ok((lba, data)),
            other => unreachable!("an append completed as {other:?}"),
        }
    }

    /// Carries out an operation that returns nothing: open, close, finish, reset or flush.
    fn control(&self, op: Op, cause: Cause) -> Result<(), DeviceError> {
        debug_assert!(!matches!(op, Op::Read { .. } | Op::Write { .. } | Op::Append { .. }));
        self.wait(self.submit(Request { op, cause })).map(|_| ())
    }
}
