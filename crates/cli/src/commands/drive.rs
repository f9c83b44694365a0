//! Opens the drive at a path: a block device of Linux, or an emulated drive in an image.

use std::path::Path;
use std::sync::Arc;

use terrace::device::{Access, BlockDevice, Device, DriveAt};

use crate::failure::{Failure, Kind};

/// Opens the drive at a path. `unsynced`: an image need not reach the host's disk; a block device
/// has no such choice.
pub(super) fn open(
    path: &Path,
    access: Access,
    unsynced: bool,
) -> Result<Arc<dyn Device>, Failure> {
    DriveAt::open(path, access)?.into_device(unsynced).ok_or_else(|| {
        let path = path.display();
        let message = format!("--unsynced-image: expected an image, found the block device {path}");
        Failure::new(Kind::Usage, message)
    })
}

/// Whether there is a block device at a path, be it the drive itself or what an image lies on.
pub(super) fn is_block_device(path: &Path) -> bool {
    BlockDevice::probe(path).is_ok_and(|found| found.is_some())
}
