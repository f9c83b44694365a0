//! What a command works on: an emulated drive in a file, or a plain directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace::{Db, Options, Store, System};
use terrace_env::store::StoreError;
use terrace_fs::dir::{DirOptions, DirStore};
use terrace_fs::inspect::Inspector;
use terrace_fs::{Access, Fs, MountOptions};
use terrace_zone::{Device as _, Emulator, Layout};

use super::under::Under;
use crate::failure::{Failure, Kind};

/// A drive or directory, as one types it.
#[derive(clap::Args)]
pub(crate) struct Target {
    /// The drive's image, or a directory that holds a store
    image: PathBuf,
    /// Leave it to the host when the image reaches its disk: faster, and if the host loses its
    /// power, the image may hold anything
    #[arg(long)]
    unsynced_image: bool,
}

impl Target {
    /// What was typed.
    pub(crate) fn path(&self) -> &Path {
        &self.image
    }

    /// Opens the drive.
    pub(crate) fn drive(&self, access: Access) -> Result<Arc<Emulator>, Failure> {
        let path = &self.image;
        if path.is_dir() {
            return Err(Failure::new(
                Kind::Failed,
                format!("{}: expected the image of a drive, found a directory", path.display()),
            ));
        }
        let drive = Emulator::open_image(path, of_image(access)).map_err(|error| {
            let mut failure = Failure::from(error);
            if failure.kind == Kind::NotFound {
                failure.message += "; make one with `terrace device create`";
            }
            failure
        })?;
        if drive.geometry().layout != Layout::Zoned {
            return Err(Failure::new(
                Kind::Failed,
                format!("{}: expected a zoned drive, found a plain one", path.display()),
            ));
        }
        let drive = if self.unsynced_image { drive.unsynced() } else { drive };
        Ok(Arc::new(drive))
    }

    /// What it is, and whether what it says is durable is on the host's disk.
    pub(crate) fn describe(&self) -> String {
        let path = self.image.display();
        if self.image.is_dir() {
            return format!("directory {path}");
        }
        let lasts = if self.unsynced_image { "not synced" } else { "synced" };
        format!("image {path}, {lasts} to the host's disk")
    }

    /// Mounts the file system on the drive.
    pub(crate) fn fs(&self, access: Access) -> Result<Arc<Fs>, Failure> {
        let options = MountOptions { access, ..MountOptions::default() };
        Ok(Fs::mount(self.drive(access)?, &options)?)
    }

    /// Opens the files, wherever they are.
    pub(crate) fn store(&self, access: Access) -> Result<Arc<dyn Store>, Failure> {
        if self.image.is_dir() {
            if access == Access::ReadWrite {
                // For writing, an empty directory would become a store; only `format` does that.
                self.directory(Access::ReadOnly)?;
            }
            return Ok(self.directory(access)?);
        }
        Ok(self.fs(access)?)
    }

    /// Opens the files of a directory; for writing, an empty one becomes a store.
    pub(crate) fn directory(&self, access: Access) -> Result<Arc<DirStore>, StoreError> {
        DirStore::open(&self.image, DirOptions { access })
    }

    /// Looks at the store without mounting it.
    pub(crate) fn inspector(&self) -> Result<Inspector, Failure> {
        if self.image.is_dir() {
            return Ok(Inspector::directory(&self.image)?);
        }
        Ok(Inspector::device(self.drive(Access::ReadOnly)?)?)
    }

    /// Opens the store under the system it was opened under last.
    pub(crate) fn db(&self, access: Access) -> Result<Db, Failure> {
        self.open(access, None)
    }

    /// Opens the store for writing, under the system that was asked for.
    pub(crate) fn db_under(&self, under: &Under) -> Result<Db, Failure> {
        self.open(Access::ReadWrite, under.system)
    }

    fn open(&self, access: Access, system: Option<System>) -> Result<Db, Failure> {
        let read_only = access == Access::ReadOnly;
        if self.image.is_dir() {
            let store = self.store(access)?;
            let fitting = Options::fitting(store.space().capacity);
            return Ok(Db::open(store, fitting.read_only(read_only).system(system))?);
        }
        let fs = self.fs(access)?;
        let fitting = Options::fitting(fs.space().capacity);
        Ok(Db::open_fs(fs, fitting.read_only(read_only).system(system))?)
    }
}

fn of_image(access: Access) -> terrace_zone::Access {
    match access {
        Access::ReadWrite => terrace_zone::Access::ReadWrite,
        Access::ReadOnly => terrace_zone::Access::ReadOnly,
    }
}
