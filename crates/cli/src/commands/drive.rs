//! Opens the drive at a path: a block device of Linux, or an emulated drive in an image. Tells
//! whether two paths lead to one drive.

use std::fs;
use std::os::unix::fs::MetadataExt;
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

/// Refuses a path that leads to the same place as another one on the command line, be it by a link.
pub(super) fn refuse_twice(path: &Path, again: &Path) -> Result<(), Failure> {
    let place = |path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    match (place(path), place(again)) {
        (Ok(one), Ok(other)) if one == other => {
            let (path, again) = (path.display(), again.display());
            let message =
                format!("{again}: expected another place than {path}, found it named twice");
            Err(Failure::new(Kind::Usage, message))
        }
        _ => Ok(()),
    }
}

/// Whether there is a block device at a path, be it the drive itself or the device under an image.
pub(super) fn is_block_device(path: &Path) -> bool {
    BlockDevice::probe(path).is_ok_and(|found| found.is_some())
}
