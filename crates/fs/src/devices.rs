//! [`Devices`]: the devices of a store: one of any layout for the tables, and perhaps a second,
//! plain one.
//!
//! `check_layouts` refuses a second device that is not plain, and more than two devices. It cannot
//! tell two plain devices that are in each other's place. In the place of a lost offload device,
//! `without_offload` puts a stand-in. A claim on the devices binds users in this process, not other
//! processes.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{Claim, DeviceId};
use terrace_zone::Device;
use terrace_zone::emulator::Drives;

use crate::absent::Absent;
use crate::assembly::second_device;
use crate::superblock::Role;

/// The devices of a store: one for the tables, with zones, of shingled tracks or plain; and perhaps
/// a plain one, which holds the journal and all logs, or offloaded tables. A single device converts
/// into this.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use terrace_env::store::StoreError;
/// # use terrace_fs::{Devices, FormatOptions, Fs, MountOptions};
/// # use terrace_zone::Device;
/// # fn f(drive: Arc<dyn Device>, fast: Arc<dyn Device>) -> Result<(), StoreError> {
/// let devices = Devices::pair(drive, fast);
/// Fs::format(devices.clone(), &FormatOptions::default())?;
/// let fs = Fs::mount(devices, &MountOptions::default())?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Devices {
    all: Vec<Arc<dyn Device>>,
    /// Device 1 stands for one that is lost.
    is_second_lost: bool,
}

impl Devices {
    /// A device for the tables, and a second, plain one.
    #[must_use]
    pub fn pair(tables: Arc<dyn Device>, second: Arc<dyn Device>) -> Self {
        Self { all: vec![tables, second], is_second_lost: false }
    }

    /// Device 0 of a store whose [offload device](crate::superblock::Role::Offload) is lost. Files
    /// on the lost device cannot be read. Nothing is written to it.
    pub fn without_offload(tables: Arc<dyn Device>) -> Result<Self, StoreError> {
        let found = second_device(&tables)?.filter(|(role, _)| *role == Role::Offload);
        let Some((_, member)) = found else {
            let expected = "expected device 0 of a store that has an offload device";
            return Err(StoreError::Invalid(format!("{expected}, found another store or device")));
        };
        let second = Arc::new(Absent::new(member.capacity));
        Ok(Self { all: vec![tables, second], is_second_lost: true })
    }

    /// Whether device 1 stands for one that is lost.
    pub(crate) fn is_second_lost(&self) -> bool {
        self.is_second_lost
    }

    /// The device of the tables.
    #[must_use]
    pub fn tables(&self) -> &Arc<dyn Device> {
        &self.all[0]
    }

    /// Device 1, if there is one. The format chooses its [`Role`] and records it.
    #[must_use]
    pub fn second(&self) -> Option<&Arc<dyn Device>> {
        self.all.get(1)
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<dyn Device>> {
        self.all.iter()
    }

    /// Refuses a device 1 that is not plain, and devices beyond it.
    pub(crate) fn check_layouts(&self) -> Result<(), StoreError> {
        if self.all.len() > 2 {
            let found = self.all.len();
            return Err(StoreError::Invalid(format!("expected at most 2 devices, found {found}")));
        }
        let layout = self.second().map(|device| device.geometry().layout);
        let Some(other) = layout.filter(|layout| !layout.is_plain()) else { return Ok(()) };
        let found = other.phrase("device");
        Err(StoreError::Invalid(format!("device 1: expected a plain device, found {found}")))
    }

    /// Claims all of them: to write alone, or to read with others.
    pub(crate) fn claim(&self, write: bool) -> Result<Vec<Claim>, StoreError> {
        let claim = |(index, device): (usize, &Arc<dyn Device>)| {
            let users = device.users();
            let claim = if write { users.claim_to_write() } else { users.claim_to_read() };
            let name = match index {
                0 => "the device".into(),
                _ => format!("device {}", DeviceId(index as u16)).into(),
            };
            claim.ok_or(StoreError::InUse(name))
        };
        self.all.iter().enumerate().map(claim).collect()
    }
}

impl From<Arc<dyn Device>> for Devices {
    fn from(device: Arc<dyn Device>) -> Self {
        Self { all: vec![device], is_second_lost: false }
    }
}

impl From<&Drives> for Devices {
    /// Emulated drives, in the order of their numbers.
    fn from(drives: &Drives) -> Self {
        let all = drives.all().iter().map(|drive| Arc::clone(drive) as Arc<dyn Device>);
        Self { all: all.collect(), is_second_lost: false }
    }
}

impl<D: Device> From<&Arc<D>> for Devices {
    fn from(device: &Arc<D>) -> Self {
        Arc::clone(device).into()
    }
}

impl<D: Device> From<Arc<D>> for Devices {
    fn from(device: Arc<D>) -> Self {
        Self { all: vec![device], is_second_lost: false }
    }
}
