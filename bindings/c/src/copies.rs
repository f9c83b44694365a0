//! Checkpoints and backups, which copy a store while it is written: [`terrace_store_checkpoint`],
//! [`terrace_store_backup`].

use std::path::Path;
use std::sync::Arc;

use terrace::device::Access;
use terrace::fs::MountOptions;
use terrace::{Checkpointed, Fs, Store};

use crate::TerraceCode;
use crate::failure::{Failure, given, guard};
use crate::image;
use crate::slice::TerraceSlice;
use crate::store::TerraceStore;

/// Copies the current state of a store to a place, while writes go on: to a directory that is empty
/// or does not exist, or to a drive that is formatted and empty, of an image or a block device. The
/// copy is an independent store.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_checkpoint(
    store: Option<&TerraceStore>,
    place: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (db, path) = (&given(store, "store")?.db, Path::new(place.text("place")?));
        match is_drive(path) {
            true => onto_drive(path, |target| db.checkpoint(target)),
            false => Ok(db.checkpoint_directory(path).map(|_| ())?),
        }
    })
}

/// Makes a place a backup of a store, while writes go on. The place is one that
/// `terrace_store_checkpoint` takes, or it has an earlier backup of this store: then only new
/// tables are copied, and the new backup replaces the earlier one at the end. After an error before
/// that, the earlier backup is as it was. A backup that was opened for writing is an ordinary
/// store, which is refused with `TARGET_NOT_EMPTY`, as is every other store that is not empty.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_backup(
    store: Option<&TerraceStore>,
    place: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (db, path) = (&given(store, "store")?.db, Path::new(place.text("place")?));
        match is_drive(path) {
            true => onto_drive(path, |target| db.backup(target)),
            false => Ok(db.backup_directory(path).map(|_| ())?),
        }
    })
}

/// Whether a copy to this path goes to a drive. A path with nothing becomes a directory.
fn is_drive(path: &Path) -> bool {
    path.exists() && !path.is_dir()
}

/// Copies a store to the drive at a path, which is mounted for that.
fn onto_drive(
    path: &Path,
    copy: impl FnOnce(Arc<dyn Store>) -> Result<Checkpointed, terrace::Error>,
) -> Result<(), Failure> {
    let drive = image::open(path, Access::ReadWrite, false)?;
    let fs = Fs::mount(drive, &MountOptions::default())?;
    let copied = copy(Arc::clone(&fs) as Arc<dyn Store>);
    fs.unmount();
    copied?;
    Ok(())
}
