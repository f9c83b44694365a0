//! [`Below`]: the layer below a store, and its state after the store is closed, or dropped without
//! a close:
//!
//! | layer | closed | dropped |
//! |---|---|---|
//! | a store of files of the user | stays open | stays open |
//! | a directory, a device | is closed | is closed |
//! | a file system that the user had mounted | is unmounted | stays mounted if it has other users |
//!
//! The engine must have ended before, because its last writes go through this layer. If a drop
//! happens while a panic unwinds, a device is not unmounted here, because that may wait: the drop
//! of the file system releases it.

use std::sync::Arc;

use terrace_fs::Fs;
use terrace_fs::dir::DirStore;

/// Lower layer of a store.
pub(crate) enum Below {
    /// A store of files of the user.
    Store,
    /// A directory that was opened for this store.
    Directory(Arc<DirStore>),
    /// A device that was mounted for this store.
    Device(Arc<Fs>),
    /// A file system that the user had mounted: a close of the store unmounts it, a drop does not.
    Mounted(Arc<Fs>),
}

impl Below {
    /// The mounted file system, if there is one.
    pub(crate) fn fs(&self) -> Option<&Arc<Fs>> {
        match self {
            Self::Store | Self::Directory(_) => None,
            Self::Device(fs) | Self::Mounted(fs) => Some(fs),
        }
    }

    /// Closes the layer below a closed store.
    pub(crate) fn close(&self) {
        match self {
            Self::Store => {}
            Self::Directory(directory) => directory.close(),
            Self::Device(fs) | Self::Mounted(fs) => fs.unmount(),
        }
    }
}

impl Drop for Below {
    /// Scans and snapshots may hold the store for longer. While a panic unwinds, there is no wait:
    /// the file system releases its device when it is dropped.
    fn drop(&mut self) {
        match self {
            Self::Directory(directory) => directory.close(),
            Self::Device(fs) if !std::thread::panicking() => fs.unmount(),
            Self::Store | Self::Device(_) | Self::Mounted(_) => {}
        }
    }
}
