//! [`Below`]: the layer that a store lies on, and what becomes of it when the store is closed, or
//! dropped without being closed:
//!
//! | layer | closed | dropped |
//! |---|---|---|
//! | a store of files that the user brought | stays open | stays open |
//! | a directory, a device | is closed | is closed |
//! | a file system that the user had mounted | is unmounted | stays mounted if others hold it |
//!
//! The engine must have ended before, because its last writes go through this layer. If a drop
//! happens while a panic unwinds, a device is not unmounted here, because that may wait: the file
//! system gives it up when it is dropped itself.

use std::sync::Arc;

use terrace_fs::Fs;
use terrace_fs::dir::DirStore;

/// Lower layer of a store.
pub(crate) enum Below {
    /// A store of files that the user brought.
    Store,
    /// A directory that was opened for this store.
    Directory(Arc<DirStore>),
    /// A device that was mounted for this store.
    Device(Arc<Fs>),
    /// A file system that the user had mounted: closing the store unmounts it, dropping does not.
    Mounted(Arc<Fs>),
}

impl Below {
    /// The mounted file system, where there is one.
    pub(crate) fn fs(&self) -> Option<&Arc<Fs>> {
        match self {
            Self::Store | Self::Directory(_) => None,
            Self::Device(fs) | Self::Mounted(fs) => Some(fs),
        }
    }

    /// Gives up what the closed store lies on.
    pub(crate) fn close(&self) {
        match self {
            Self::Store => {}
            Self::Directory(directory) => directory.close(),
            Self::Device(fs) | Self::Mounted(fs) => fs.unmount(),
        }
    }
}

impl Drop for Below {
    /// Scans and snapshots may hold the store for longer. While a panic unwinds, nobody is waited
    /// for: the file system gives its device up itself when it is dropped.
    fn drop(&mut self) {
        match self {
            Self::Directory(directory) => directory.close(),
            Self::Device(fs) if !std::thread::panicking() => fs.unmount(),
            Self::Store | Self::Device(_) | Self::Mounted(_) => {}
        }
    }
}
