//! Opens the drive at a path: a block device of Linux, zoned or not, or an emulated drive in an
//! image.
//!
//! An image may lie on a block device without zones: if the device begins with one, that is what is
//! opened. Otherwise the device itself is the drive.

use std::path::Path;
use std::sync::Arc;

use terrace::device::{Access, BlockDevice, Device, DeviceError, Emulator, ZoneModel};

use crate::failure::{Failure, Kind};

/// Opens the drive at a path. `unsynced`: an image need not reach the host's disk; a block device
/// has no such choice.
pub(super) fn open(
    path: &Path,
    access: Access,
    unsynced: bool,
) -> Result<Arc<dyn Device>, Failure> {
    let model = BlockDevice::probe(path)?;
    if model.is_none_or(|model| model == ZoneModel::None) {
        match Emulator::open_image(path, access) {
            Ok(drive) => return Ok(Arc::new(if unsynced { drive.unsynced() } else { drive })),
            Err(DeviceError::NotAnImage { .. }) if model.is_some() => {}
            // A store begins with a mark that is like the one of an image.
            Err(DeviceError::BadImage { what: "magic", .. }) if model.is_some() => {}
            Err(error) => return Err(error.into()),
        }
    }
    if unsynced {
        let path = path.display();
        let message = format!("--unsynced-image: expected an image, found the block device {path}");
        return Err(Failure::new(Kind::Usage, message));
    }
    Ok(Arc::new(BlockDevice::open(path, access)?))
}

/// Whether there is a block device at a path, be it the drive itself or what an image lies on.
pub(super) fn is_block_device(path: &Path) -> bool {
    BlockDevice::probe(path).is_ok_and(|found| found.is_some())
}
