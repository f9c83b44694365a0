//! Opens the store at a path: a directory, the image of a drive, or a block device, perhaps with
//! the second drive that the store remembers or that is named.
//!
//! A store must be there. It is made with `terrace format`. It offers a live window
//! ([`terrace::live`]) while it is open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace::device::{Access, Device, DriveAt};
use terrace::fs::{DirOptions, DirStore, Fs, MountOptions, check_copied, second_device};
use terrace::{Db, Devices, Error, ErrorKind, Options, Store};

/// Reason why a store is not opened.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The store, or the drive, cannot be opened.
    #[error("{}", named(.0, .1))]
    Store(PathBuf, Error),
    /// The second drive is not known.
    #[error(
        "{0}: expected the path of the store's second drive, found none; name it with --second"
    )]
    NoSecond(PathBuf),
    /// There is no store.
    #[error("{0}: expected a store, found none; make one with `terrace format {0}`")]
    NoStore(PathBuf),
}

/// An error with the path before it, unless it names the path itself.
fn named(path: &Path, error: &Error) -> String {
    let (path, error) = (path.display().to_string(), error.to_string());
    if error.contains(&path) { error } else { format!("{path}: {error}") }
}

/// Opens the store.
pub(crate) fn open(path: &Path, second: Option<&Path>) -> Result<Db, PlaceError> {
    let failed = |error: Error| PlaceError::Store(path.to_owned(), error);
    let of = |store: &dyn Store| Options::fitting(store.space().capacity).live(path);
    if path.is_dir() {
        // For writing, an empty directory would become a store.
        let read_only = DirOptions { access: terrace::fs::Access::ReadOnly };
        let found = DirStore::open(path, read_only).map_err(|error| failed(error.into()))?;
        check(&*found, path)?;
        found.close();
        drop(found);
        return Db::open_directory(path, Options::default().live(path)).map_err(failed);
    }
    let drive = drive_at(path).map_err(failed)?;
    let devices = match second_of(&drive, path, second)? {
        None => drive.into(),
        Some(second) => {
            let opened = drive_at(&second).map_err(|error| PlaceError::Store(second, error))?;
            Devices::pair(drive, opened)
        }
    };
    let fs = Fs::mount(devices, &MountOptions::default()).map_err(|error| failed(error.into()))?;
    if let Err(error) = check(&*fs, path) {
        fs.unmount();
        return Err(error);
    }
    let options = of(&*fs);
    Db::open_fs(fs, options).map_err(failed)
}

/// Files without a store, or no files, are left as they are.
fn check(store: &dyn Store, path: &Path) -> Result<(), PlaceError> {
    let is_new =
        store.info(terrace::FileId::STORE).is_none_or(|info| info.annotation.opaque.is_empty());
    if is_new { Err(PlaceError::NoStore(path.to_owned())) } else { Ok(()) }
}

fn drive_at(path: &Path) -> Result<Arc<dyn Device>, Error> {
    let drive = DriveAt::open(path, Access::ReadWrite)?;
    // A synced image, or a device: both are drives.
    drive
        .into_device(false)
        .ok_or_else(|| Error::from(terrace::StoreError::Invalid("no drive".into())))
}

/// Path of the second drive.
fn second_of(
    drive: &Arc<dyn Device>,
    path: &Path,
    named: Option<&Path>,
) -> Result<Option<PathBuf>, PlaceError> {
    let failed = |error: Error| PlaceError::Store(path.to_owned(), error);
    if let Some(named) = named {
        return Ok(Some(named.to_owned()));
    }
    let Some((_, member)) = second_device(drive).map_err(|error| failed(error.into()))? else {
        return Ok(None);
    };
    if member.path.is_empty() {
        return Err(PlaceError::NoSecond(path.to_owned()));
    }
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let second = real.parent().unwrap_or(Path::new("")).join(member.path);
    check_copied(drive, path, &second).map_err(|error| failed(error.into()))?;
    Ok(Some(second))
}

/// Whether another process has the store open.
pub(crate) fn is_in_use(error: &PlaceError) -> bool {
    matches!(error, PlaceError::Store(_, error) if error.kind() == ErrorKind::InUse)
}
