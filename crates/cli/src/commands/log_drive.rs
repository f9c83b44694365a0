//! Finds the second drive of a store by the path that the store remembers: a plain one next to the
//! drive of its tables, for the journal and the logs, or for offloaded tables. A second drive is
//! refused where the drive of the tables is expected.
//!
//! [`path_to_remember`] makes the path that a store remembers. If the second drive lies in the
//! directory of the tables' drive, or below, the path is relative to that directory, so that both
//! images can be moved together. Otherwise it is absolute. Symbolic links are resolved first. A
//! path that is not UTF-8 cannot be remembered, and is an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace::StoreError;
use terrace_env::DeviceId;
use terrace_fs::superblock::{PATH_MAX, Role};
use terrace_fs::{device_number, second_device};
use terrace_zone::Device;

use crate::failure::{Failure, Kind};

/// The role of the plain drive, and its path, as the store on `drive` remembers it; `None` if the
/// store has none or knows no path, and if there is no store. `image` is the path of the drive.
pub(super) fn remembered(drive: &Arc<dyn Device>, image: &Path) -> Option<(Role, PathBuf)> {
    // Other faults of the drive are found when the store is opened.
    let (role, path) = second(drive, image).ok().flatten()?;
    Some((role, path?))
}

/// The role of the plain drive, and its path if the store on `drive` remembers one; `None` if the
/// store has no such drive. An error if there is no store. `image` is the path of the drive.
pub(super) fn second(
    drive: &Arc<dyn Device>,
    image: &Path,
) -> Result<Option<(Role, Option<PathBuf>)>, StoreError> {
    let found = second_device(drive)?;
    let Some((role, member)) = found else { return Ok(None) };
    // Only a link is followed, so that messages have the path as it was typed.
    let linked = image.is_symlink().then(|| image.canonicalize().ok()).flatten();
    let beside = linked.as_deref().unwrap_or(image).parent().unwrap_or(Path::new(""));
    let path = (!member.path.is_empty()).then(|| beside.join(member.path));
    Ok(Some((role, path)))
}

/// The flag that names the second drive.
pub(super) fn flag(role: Role) -> &'static str {
    match role {
        Role::Log => "--log",
        Role::Offload => "--offload",
    }
}

/// A failure with the flag that names the second drive.
pub(super) fn with_flag(mut failure: Failure, role: Role) -> Failure {
    failure.message += &format!("; {} names it", flag(role));
    failure
}

/// Refuses the second drive of a store where that of its tables is expected.
pub(super) fn refuse_as_target(drive: &Arc<dyn Device>, image: &Path) -> Result<(), Failure> {
    // Other faults of the drive are found when the store is opened.
    match device_number(drive) {
        Ok(number) if number != DeviceId::FIRST => {
            let message = format!(
                "{}: expected the drive of a store's tables, found its second drive; name the \
                 drive of the tables, and this one with --log or --offload",
                image.display()
            );
            Err(Failure::new(Kind::Failed, message))
        }
        _ => Ok(()),
    }
}

/// The directory of an image.
pub(super) fn parent(image: &Path) -> PathBuf {
    let parent = image.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

/// The path that a store on the drive `image` is to remember of it; empty if it has none that can
/// be remembered.
pub(super) fn home_to_remember(image: &Path) -> String {
    let real = image.canonicalize().ok();
    let path = real.as_deref().and_then(Path::to_str).unwrap_or_default();
    if path.len() <= PATH_MAX { path.to_owned() } else { String::new() }
}

/// The path that a store on the drive `image` is to remember of the plain drive `second`.
pub(super) fn path_to_remember(image: &Path, second: &Path) -> Result<String, Failure> {
    let real = |path: &Path| path.canonicalize().map_err(|error| Failure::path(path, &error));
    let second = real(second)?;
    let parent = match image.canonicalize() {
        Ok(image) => image.parent().map(Path::to_owned),
        // The image is being made.
        Err(_) => Some(real(&parent(image))?),
    };
    let beside = parent.and_then(|parent| second.strip_prefix(parent).ok());
    let path = beside.unwrap_or(&second).to_str();
    path.map(str::to_owned).ok_or_else(|| {
        let message = format!("{}: expected a path in UTF-8", second.display());
        Failure::new(Kind::Failed, message)
    })
}
