//! Finds the plain drive that holds the journal and the logs of a store, beside the drive of its
//! tables, by the path that the store remembers.
//!
//! [`path_to_remember`] makes this path. If the plain drive lies in the directory of the tables'
//! drive, or below, the path is relative to that directory, so that both images can be moved
//! together. Otherwise it is absolute. Symbolic links are resolved first. A path that is not UTF-8
//! cannot be remembered, and is an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace_env::DeviceId;
use terrace_fs::{device_number, log_device};
use terrace_zone::{Device, Emulator};

use crate::failure::{Failure, Kind};

/// Path of the plain drive, as the store on `drive` remembers it; `None` if the store has none, and
/// if there is no store. `image` is the path of the drive.
pub(super) fn remembered(drive: &Arc<Emulator>, image: &Path) -> Option<PathBuf> {
    // Other faults of the drive are found when the store is opened.
    let member = log_device(&(Arc::clone(drive) as Arc<dyn Device>)).ok().flatten()?;
    // Only a link is followed, so that messages have the path as it was typed.
    let linked = image.is_symlink().then(|| image.canonicalize().ok()).flatten();
    let beside = linked.as_deref().unwrap_or(image).parent().unwrap_or(Path::new(""));
    (!member.path.is_empty()).then(|| beside.join(member.path))
}

/// Refuses the drive of a store's journal and logs where that of its tables is expected.
pub(super) fn refuse_as_target(drive: &Arc<Emulator>, image: &Path) -> Result<(), Failure> {
    // Other faults of the drive are found when the store is opened.
    match device_number(&(Arc::clone(drive) as Arc<dyn Device>)) {
        Ok(number) if number != DeviceId::FIRST => {
            let message = format!(
                "{}: expected the drive of a store's tables, found that of its journal and logs; \
                 name the drive of the tables, and this one with --log",
                image.display()
            );
            Err(Failure::new(Kind::Failed, message))
        }
        _ => Ok(()),
    }
}

/// The path that a store on the zoned drive `image` is to remember of the plain drive `log`.
pub(super) fn path_to_remember(image: &Path, log: &Path) -> Result<String, Failure> {
    let real = |path: &Path| path.canonicalize().map_err(|error| Failure::path(path, &error));
    let (image, log) = (real(image)?, real(log)?);
    let beside = image.parent().and_then(|parent| log.strip_prefix(parent).ok());
    let path = beside.unwrap_or(&log).to_str();
    path.map(str::to_owned).ok_or_else(|| {
        let message = format!("{}: expected a path in UTF-8", log.display());
        Failure::new(Kind::Failed, message)
    })
}
