//! [`Bound`]: the file of a socket that is bound, to remove it when the store is closed.
//!
//! The store may have been moved meanwhile, and another one may be at its path. So the file is
//! removed from the directory in which it was made, wherever that is by now, and only if it is
//! still the file that was made.
//!
//! Linux only. Any thread.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Stat};

/// See the [module](self).
pub(crate) struct Bound {
    path: PathBuf,
    directory: OwnedFd,
    file: Stat,
}

impl Bound {
    /// The socket at a path, in the open directory that the path names.
    pub(crate) fn new(path: &Path, directory: OwnedFd, file: Stat) -> Self {
        Self { path: path.to_owned(), directory, file }
    }

    /// The path at which it was made.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file, unless another process has replaced it.
    pub(crate) fn remove(&self) {
        let Some(name) = self.path.file_name() else { return };
        let found = rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let id = |file: &Stat| (file.st_dev, file.st_ino);
        if found.is_ok_and(|found| id(&found) == id(&self.file)) {
            let _ = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
        }
    }
}
