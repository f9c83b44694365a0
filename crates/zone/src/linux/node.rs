//! Opens the node of a block device, past the page cache, and keeps other users out.
//!
//! - A writer opens with `O_EXCL`: it fails if the device or one of its partitions is mounted, or
//!   is used by the kernel otherwise, or if another program has it open in the same way.
//! - A writer locks the node, and readers share a lock.
//! - An open tries again for a second. `udev` takes the lock for a moment after a writer has closed
//!   the node, and the kernel may keep a node for a moment that was used by `io_uring`.
//! - An open next to a writer ([`Access::Beside`]) takes no lock.
//! - A reader, too, is refused if the device is mounted or used as swap: it would miss the data
//!   that the page cache has not written yet.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use terrace_env::{lock_holders_in_words, runner};

use super::listed;
use crate::{Access, DeviceError};

/// How often a lock is tried, and how long an open sleeps in between.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Number of the block device at a path; `None` if something else is there.
pub(super) fn number(path: &Path) -> Result<Option<u64>, DeviceError> {
    match std::fs::metadata(path) {
        Ok(found) if found.file_type().is_block_device() => Ok(Some(found.rdev())),
        Ok(_) => Ok(None),
        Err(error) => Err(DeviceError::host(format!("cannot examine {}", path.display()), error)),
    }
}

/// Opens the node of the block device with this number.
pub(super) fn open(path: &Path, number: u64, access: Access) -> Result<File, DeviceError> {
    let in_use = |by: &str| {
        let by = match by {
            "" => lock_holders_in_words(path),
            by => format!(" ({by})"),
        };
        DeviceError::InUse { path: format!("{}{by}", path.display()) }
    };
    let users = listed::kernel_users(number);
    if !users.is_empty() {
        return Err(in_use(&users.join(", ")));
    }
    let write = access == Access::ReadWrite;
    let mut flags = OFlags::DIRECT;
    if write {
        flags |= OFlags::EXCL;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(write).custom_flags(flags.bits() as i32);
    let mut tries = TRIES;
    let node = loop {
        match options.open(path) {
            Ok(node) => break node,
            Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
                tries -= 1;
                if tries == 0 {
                    return Err(in_use(""));
                }
                runner::sleep(PAUSE);
            }
            Err(error) => {
                return Err(DeviceError::host(format!("cannot open {}", path.display()), error));
            }
        }
    };
    if access == Access::Beside {
        return Ok(node);
    }
    let lock = if write {
        FlockOperation::NonBlockingLockExclusive
    } else {
        FlockOperation::NonBlockingLockShared
    };
    for _ in 0..TRIES {
        match rustix::fs::flock(&node, lock) {
            Ok(()) => return Ok(node),
            Err(Errno::WOULDBLOCK) => runner::sleep(PAUSE),
            Err(error) => {
                return Err(DeviceError::host(
                    format!("cannot lock {}", path.display()),
                    error.into(),
                ));
            }
        }
    }
    Err(in_use(""))
}
