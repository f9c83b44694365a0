//! [`check_copied`]: refuses to write to the second drive of a store by way of a copy of its first.
//!
//! A store on two drives remembers where the second one is. A copy of the first drive remembers
//! the same place, and a write by way of the copy would go to the original's second drive: the
//! original, whose first drive does not know of that write, could never be opened again. So a store
//! also remembers where its first drive was when it was made. If another drive is there, a file of
//! the same name, and its second drive is the one that was found, then this first drive is taken
//! for a copy.
//!
//! A drive that was moved has none at its old place, and a copy of both drives to places that are
//! found from each other has a second drive of its own. Neither is refused.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_zone::Device;

use crate::devices::Devices;
use crate::media::Media;
use crate::superblock::SuperblockArea;
use crate::volume::as_device;

/// Refuses the second drive at the path `second`, where the store on `first` remembers it, if the
/// drive at the path `image`, on which that store was found, is a copy. The caller writes.
pub fn check_copied(
    first: &Arc<dyn Device>,
    image: &Path,
    second: &Path,
) -> Result<(), StoreError> {
    let media = Media::new(&Devices::from(Arc::clone(first)));
    let (_, superblock) = SuperblockArea::find(as_device(media.tables()))?;
    let [made, other, ..] = &superblock.members[..] else { return Ok(()) };
    if made.path.is_empty() {
        return Ok(());
    }
    let home = Path::new(&made.path);
    let seen_from_home = home.parent().unwrap_or(Path::new("")).join(&other.path);
    if are_same(home, image) != Some(false) || are_same(&seen_from_home, second) != Some(true) {
        return Ok(());
    }
    let (image, home, second) = (image.display(), home.display(), second.display());
    Err(StoreError::Invalid(format!(
        "{image}: expected the drive {home}, with which the store was made, found another one, and \
         that one is still there: writes to a copy would go to the second drive of the original, \
         {second}; name the copy's own second drive, or remove the drive that is not needed"
    )))
}

/// Whether two paths are of the same file; `None` if one is of none.
fn are_same(one: &Path, other: &Path) -> Option<bool> {
    let [one, other] = [one, other].map(|path| path.metadata().ok());
    let (one, other) = (one?, other?);
    Some((one.dev(), one.ino()) == (other.dev(), other.ino()))
}
