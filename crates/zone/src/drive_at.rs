//! [`DriveAt`]: the drive at a path of the host, be it a block device of Linux, zoned or not, or an
//! emulated drive in an image.
//!
//! An image may lie on a block device without zones: if the device begins with one, the image is
//! opened. Otherwise the device itself is the drive.

use std::path::Path;
use std::sync::Arc;

use crate::linux::{BlockDevice, ZoneModel};
use crate::{Access, Device, DeviceError, Emulator};

/// See the [module](self).
#[derive(Debug)]
pub enum DriveAt {
    /// An emulated drive.
    Image(Box<Emulator>),
    /// A device of the host.
    BlockDevice(Box<BlockDevice>),
}

impl DriveAt {
    /// Opens the drive at a path.
    pub fn open(path: &Path, access: Access) -> Result<Self, DeviceError> {
        let model = BlockDevice::probe(path)?;
        if model.is_none_or(|model| model == ZoneModel::None) {
            match Emulator::open_image(path, access) {
                Ok(drive) => return Ok(Self::Image(Box::new(drive))),
                Err(DeviceError::NotAnImage { .. }) if model.is_some() => {}
                // A store begins with a mark that is like the one of an image.
                Err(DeviceError::BadImage { what: "magic", .. }) if model.is_some() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self::BlockDevice(Box::new(BlockDevice::open(path, access)?)))
    }

    /// The drive. `unsynced`: flushes of an image do not reach the host's disk; of a block device
    /// they always do, so that there is `None`.
    #[must_use]
    pub fn into_device(self, unsynced: bool) -> Option<Arc<dyn Device>> {
        Some(match self {
            Self::Image(drive) if unsynced => Arc::new(drive.unsynced()),
            Self::Image(drive) => Arc::new(*drive),
            Self::BlockDevice(_) if unsynced => return None,
            Self::BlockDevice(drive) => Arc::new(*drive),
        })
    }
}
