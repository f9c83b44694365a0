//! [`DeviceLayer`]: a device on top of another one, from which it differs in some calls.
//!
//! A layer names the device below it. Of the four calls `geometry`, `report`, `submit` and `wait`
//! it implements those in which the two devices differ; the others go to the device below. So does
//! `users`, for claims. `read`, `write`, `append` and `control` of a layer are made of its own
//! `submit` and `wait`.
//!
//! If a layer hands out tickets of its own, its `wait` must take them. Threads: as for the device
//! below.

use terrace_env::{ByteCount, Users, ZoneId};

use crate::{Completion, Device, DeviceError, Geometry, Request, Ticket, ZoneReport};

/// A device on top of another one. By default each method calls the method of the same name on the
/// device below.
///
/// ```
/// use terrace_env::{ByteCount, Cause};
/// use terrace_zone::{Device, Emulator, Geometry, DeviceLayer, Op, Request, Ticket};
///
/// /// A drive whose flushes do nothing.
/// struct Forgetful(Emulator);
///
/// impl DeviceLayer for Forgetful {
///     fn below(&self) -> &dyn Device {
///         &self.0
///     }
///
///     fn submit(&self, request: Request) -> Ticket {
///         let op = match request.op {
///             Op::Flush => Op::Read { lba: terrace_env::Lba(0), blocks: 1 },
///             op => op,
///         };
///         self.below().submit(Request { op, cause: request.cause })
///     }
/// }
///
/// let geometry = Geometry::uniform(ByteCount::mib(1), 8);
/// let drive: &dyn Device = &Forgetful(Emulator::in_memory(geometry, 1)?);
/// assert!(drive.control(Op::Flush, Cause::Client).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(missing_docs, reason = "each method does the same as its namesake in `Device`")]
pub trait DeviceLayer: Send + Sync + 'static {
    /// The device below.
    fn below(&self) -> &dyn Device;

    fn geometry(&self) -> &Geometry {
        self.below().geometry()
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        self.below().report(first, count)
    }

    fn submit(&self, request: Request) -> Ticket {
        self.below().submit(request)
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        self.below().wait(ticket)
    }
}

impl<L: DeviceLayer> Device for L {
    fn geometry(&self) -> &Geometry {
        DeviceLayer::geometry(self)
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        DeviceLayer::report(self, first, count)
    }

    fn users(&self) -> &Users {
        self.below().users()
    }

    fn forces_writes(&self) -> bool {
        self.below().forces_writes()
    }

    fn host_room(&self) -> Option<ByteCount> {
        self.below().host_room()
    }

    fn submit(&self, request: Request) -> Ticket {
        DeviceLayer::submit(self, request)
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        DeviceLayer::wait(self, ticket)
    }
}
