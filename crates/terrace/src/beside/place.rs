//! [`Place`]: where the store of a reader is, so that it can be opened again and again.
//!
//! A block device or an image is opened once, and mounted for each view. The second device of a
//! store is looked for where it was when the store was made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_fs::dir::{DirOptions, DirStore, Files};
use terrace_fs::superblock::Role;
use terrace_fs::{Access, Beside, Devices, Fs, MountOptions, second_device};
use terrace_zone::{Device, DriveAt};

use crate::Error;
use crate::below::Below;

/// See the [module](self).
pub(super) enum Place {
    /// A directory of the host.
    Directory(PathBuf),
    /// Files that need not be a directory's.
    Files(Arc<dyn Files>),
    /// One device or two.
    Devices(Devices),
}

impl Place {
    /// The directory, image or block device at a path.
    pub(super) fn at(path: &Path) -> Result<Self, Error> {
        if path.is_dir() {
            // The process may change its working directory.
            let at = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            return Ok(Self::Directory(at));
        }
        let first = drive(path)?;
        let second = second_device(&first)?.filter(|(_, member)| !member.path.is_empty());
        let Some((role, member)) = second else { return Ok(Self::Devices(first.into())) };
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let at = real.parent().unwrap_or(Path::new("")).join(member.path);
        let second = drive(&at).map_err(|error| {
            let holds = match role {
                Role::Log => "journal and logs",
                Role::Offload => "offloaded tables",
            };
            let at = at.display();
            let message = format!("expected the drive of the store's {holds} at {at}: {error}");
            Error::from(StoreError::Invalid(message))
        })?;
        Ok(Self::Devices(Devices::pair(first, second)))
    }

    /// Opens the files as they are now.
    pub(super) fn open(&self) -> Result<(Arc<dyn Beside>, Below), StoreError> {
        let access = Access::Beside;
        let directory =
            |store: Arc<DirStore>| (Arc::clone(&store) as Arc<dyn Beside>, Below::Directory(store));
        match self {
            Self::Directory(path) => DirStore::open(path, DirOptions { access }).map(directory),
            Self::Files(files) => {
                DirStore::open_on(Arc::clone(files), DirOptions { access }).map(directory)
            }
            Self::Devices(devices) => {
                let options = MountOptions { access, ..MountOptions::default() };
                let fs = Fs::mount(devices.clone(), &options)?;
                Ok((Arc::clone(&fs) as _, Below::Device(fs)))
            }
        }
    }
}

fn drive(path: &Path) -> Result<Arc<dyn Device>, Error> {
    let drive = DriveAt::open(path, terrace_zone::Access::Beside)?;
    drive.into_device(false).ok_or_else(|| {
        let message = format!("{}: expected a drive", path.display());
        StoreError::Invalid(message).into()
    })
}
