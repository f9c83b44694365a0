//! [`Media`]: the devices of a store, by their numbers. It also knows the role of device 1, and
//! whether device 1 is lost.
//!
//! Code that reads or writes blocks names them by address; the device follows from the address. A
//! request about one device, such as for its shape or a flush of it alone, goes to its [`Medium`].
//!
//! # Threads
//! Any number of requests may be in flight, from any thread. Submitting does not wait for the
//! request. The caller has to wait for each ticket once.

use std::sync::{Arc, OnceLock};

use terrace_env::store::IoCounts;
use terrace_env::wait::Waits;
use terrace_env::{Cause, DeviceId, IoBuf};
use terrace_zone::{Completion, Device, DeviceError, Ticket};

use crate::medium::Medium;
use crate::superblock::Role;
use crate::{AddressSpace, BlockAddr, Devices};

/// See the [module](self).
pub(crate) struct Media {
    devices: Box<[Arc<Medium>]>,
    space: AddressSpace,
    /// The role of device 1, once that is known.
    role: OnceLock<Role>,
    /// Device 1 stands for one that is lost.
    is_second_lost: bool,
}

/// A request for blocks. It must be waited for.
#[must_use = "a request that is never waited for is never known to have succeeded"]
pub(crate) struct BlockTicket {
    device: DeviceId,
    ticket: Ticket,
}

impl Media {
    /// These devices, numbered in their order. Counts from zero.
    pub(crate) fn new(devices: &Devices) -> Self {
        let is_second_lost = devices.is_second_lost();
        let numbered = (0..).map(DeviceId).zip(devices.iter());
        let devices: Box<[_]> =
            numbered.map(|(id, device)| Arc::new(Medium::new(id, Arc::clone(device)))).collect();
        let space = devices.iter().fold(AddressSpace::default(), |space, medium| {
            if medium.layout().is_zoned() {
                space.with_zoned(*medium.grid())
            } else {
                space.with_plain(medium.grid().end())
            }
        });
        Self { devices, space, role: OnceLock::new(), is_second_lost }
    }

    /// Sets the role of device 1. Until then it counts as a log device.
    pub(crate) fn set_role(&self, role: Role) {
        let known = self.role.get_or_init(|| role);
        debug_assert_eq!(*known, role, "device 1 changes its role");
    }

    /// The role of device 1; `None` if there is one device.
    pub(crate) fn role(&self) -> Option<Role> {
        (self.devices.len() > 1).then(|| self.role.get().copied().unwrap_or_default())
    }

    /// Which addresses there are.
    pub(crate) fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// The device that tables and clients' files lie on.
    pub(crate) fn tables(&self) -> &Arc<Medium> {
        &self.devices[0]
    }

    /// The device that the journal and the logs lie on.
    pub(crate) fn logs(&self) -> &Arc<Medium> {
        &self.devices[usize::from(self.has_log_device())]
    }

    /// The offload device, if the store has one.
    pub(crate) fn offload(&self) -> Option<&Arc<Medium>> {
        self.devices.get(1).filter(|_| self.role() == Some(Role::Offload))
    }

    /// All devices, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Medium>> {
        self.devices.iter()
    }

    /// All devices but a lost one, in the order of their numbers.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Arc<Medium>> {
        self.devices.iter().take(if self.is_second_lost { 1 } else { usize::MAX })
    }

    /// Whether the offload device is lost.
    pub(crate) fn is_offload_lost(&self) -> bool {
        self.is_second_lost
    }

    /// Whether the journal and the logs have a device of their own.
    pub(crate) fn has_log_device(&self) -> bool {
        self.role() == Some(Role::Log)
    }

    /// Whether the store has several devices.
    pub(crate) fn are_several(&self) -> bool {
        self.devices.len() > 1
    }

    /// A device of the store.
    ///
    /// # Panics
    /// If the store has no such device: addresses from the medium are checked before their use.
    pub(crate) fn of(&self, device: DeviceId) -> &Arc<Medium> {
        &self.devices[usize::from(device.0)]
    }

    /// Reads whole blocks of one extent.
    pub(crate) fn read_blocks(
        &self,
        at: BlockAddr,
        blocks: u32,
        cause: Cause,
    ) -> Result<IoBuf, DeviceError> {
        match self.wait(self.submit_read(at, blocks, cause))? {
            Completion::Read(data) => Ok(data),
            other => unreachable!("a read completed as {other:?}"),
        }
    }

    /// Starts to read whole blocks of one extent.
    pub(crate) fn submit_read(&self, at: BlockAddr, blocks: u32, cause: Cause) -> BlockTicket {
        let ticket = self.of(at.device()).submit_read(at, blocks, cause);
        BlockTicket { device: at.device(), ticket }
    }

    /// Starts to write whole blocks: on a device with zones, at a zone's pointer.
    pub(crate) fn submit_blocks(
        &self,
        at: BlockAddr,
        data: IoBuf,
        fua: bool,
        cause: Cause,
    ) -> BlockTicket {
        let ticket = self.of(at.device()).submit_blocks(at, data, fua, cause);
        BlockTicket { device: at.device(), ticket }
    }

    /// Waits for a request to complete.
    pub(crate) fn wait(&self, ticket: BlockTicket) -> Result<Completion, DeviceError> {
        self.of(ticket.device).wait(ticket.ticket)
    }

    /// Lets no request pass from now on.
    pub(crate) fn shut(&self) {
        self.devices.iter().for_each(|medium| medium.shut());
    }

    /// Bytes and requests moved on all devices; journal rolls are not known here.
    pub(crate) fn io(&self) -> IoCounts {
        let mut devices = self.devices.iter();
        let first = devices.next().map(|medium| medium.io()).unwrap_or_default();
        devices.fold(first, |sum, medium| sum.and(&medium.io()))
    }

    /// Waits in the file system, for requests to the devices and for all else.
    pub(crate) fn waits(&self) -> Waits {
        let all = self.devices.iter().map(|medium| medium.waits.read());
        all.reduce(|sum, waits| sum.and(&waits)).unwrap_or_default()
    }

    /// Where a block lies, for messages: `what` lies there and on which device, and the byte of
    /// that device.
    pub(crate) fn describe(&self, what: &str, at: BlockAddr) -> (String, u64) {
        let medium = self.of(at.device());
        if medium.layout().is_zoned() {
            medium.grid().describe(what, medium.grid().place(at))
        } else {
            (format!("{what} on device {}", at.device()), medium.grid().byte(at))
        }
    }

    /// The name of a device for messages, where there are several: with a blank before it.
    pub(crate) fn on_device(&self, device: DeviceId) -> String {
        if self.are_several() { format!(" on device {device}") } else { String::new() }
    }
}
