//! Copies of a [`Db`] while it is written: checkpoints, which fill an empty store, and backups,
//! which also bring an earlier backup up to date.
//!
//! A copy runs in the calling thread. The engine does the work (`terrace_lsm`); this module
//! prepares the places: directories, and devices, which are formatted if they hold no store.

use std::path::Path;
use std::sync::Arc;

use terrace_env::{ByteCount, Store};
use terrace_fs::dir::DirStore;
use terrace_fs::{Devices, FormatOptions, Fs, MountOptions, holds_store};
use terrace_lsm::{Checkpointed, TableComparison, mark_of_unfinished_copy};

use crate::{Db, Error};

impl Db {
    /// Copies the current state into an empty store of files, while writes go on. Tables are copied
    /// as they are, and every checksum in them is verified. One transaction at the end makes the
    /// target a store like this one. Before that it is marked as an unfinished copy, also after a
    /// power cut: it cannot be opened ([`UnfinishedCopy`](crate::ErrorKind::UnfinishedCopy)), and
    /// another checkpoint completes it. After an error the target is empty again, or such a copy if
    /// the error is one of the target itself. Writers wait for a second flush, of the writes made
    /// during the first.
    pub fn checkpoint(&self, target: Arc<dyn Store>) -> Result<Checkpointed, Error> {
        self.checkpoint_watched(target, &mut |_, _| {})
    }

    /// Like [`checkpoint`](Self::checkpoint), with progress: bytes done, and bytes to do in all.
    pub fn checkpoint_watched(
        &self,
        target: Arc<dyn Store>,
        progress: &mut dyn FnMut(ByteCount, ByteCount),
    ) -> Result<Checkpointed, Error> {
        Ok(self.inner.engine.checkpoint(&*target, progress)?)
    }

    /// The same, into a directory that is empty or does not exist, or holds an unfinished copy. A
    /// new store there is marked from the start, and stays an unfinished copy after an error.
    pub fn checkpoint_directory(&self, path: impl AsRef<Path>) -> Result<Checkpointed, Error> {
        self.checkpoint(DirStore::open_annotated(path, mark_of_unfinished_copy())?)
    }

    /// The same, onto a device of any kind, or one and a plain one, which are formatted first. All
    /// data on them is lost. If the copy fails, they are blank: no store is found on them. The
    /// `annotation` of the options is not used.
    pub fn checkpoint_device(
        &self,
        devices: impl Into<Devices>,
        format: &FormatOptions,
    ) -> Result<Checkpointed, Error> {
        fill(devices.into(), Some(format), |target| self.checkpoint(target))
    }

    /// Makes a store of files a backup of this one: a copy of the current state that remembers of
    /// which store it is, and from which tables its own were copied. The target is empty, or an
    /// earlier backup of this store: then only tables that it lacks are copied, and the counts say
    /// how many were [kept](Checkpointed::kept_tables). Both are copied as by
    /// [`checkpoint`](Self::checkpoint).
    ///
    /// One transaction at the end replaces the earlier backup by the new one. Before it, after an
    /// error and after a power cut the target is the earlier backup. So it needs room for the old
    /// tables and the new ones.
    ///
    /// A backup that is opened for writing becomes an ordinary store, which is refused from then on
    /// ([`TargetNotEmpty`](crate::ErrorKind::TargetNotEmpty)), as is every other store that is not
    /// empty; one that is opened for reading stays a backup. Versions of the library that do not
    /// know backups refuse to open one.
    pub fn backup(&self, target: Arc<dyn Store>) -> Result<Checkpointed, Error> {
        self.backup_watched(target, TableComparison::default(), &mut |_, _| {})
    }

    /// Like [`backup`](Self::backup), with progress: bytes done, those of kept tables among them,
    /// and bytes to do in all. `comparison` says how tables are found to be equal.
    pub fn backup_watched(
        &self,
        target: Arc<dyn Store>,
        comparison: TableComparison,
        progress: &mut dyn FnMut(ByteCount, ByteCount),
    ) -> Result<Checkpointed, Error> {
        Ok(self.inner.engine.backup(&*target, comparison, progress)?)
    }

    /// The same, into a directory that is empty or does not exist, or holds an earlier backup of
    /// this store or an unfinished copy.
    pub fn backup_directory(&self, path: impl AsRef<Path>) -> Result<Checkpointed, Error> {
        self.backup(DirStore::open_annotated(path, mark_of_unfinished_copy())?)
    }

    /// The same, onto a device of any kind, or one and a plain one. If none of them holds a store,
    /// they are formatted first, and all data on them is lost; if the first backup fails then, they
    /// are blank again. The `annotation` of the options is not used.
    pub fn backup_device(
        &self,
        devices: impl Into<Devices>,
        format: &FormatOptions,
    ) -> Result<Checkpointed, Error> {
        let devices = devices.into();
        let mut is_blank = !holds_store(&**devices.tables())?;
        if let Some(second) = devices.second() {
            is_blank = is_blank && !holds_store(&**second)?;
        }
        fill(devices, is_blank.then_some(format), |target| self.backup(target))
    }
}

/// Mounts devices and copies a store to them; formats them before, if there are options for that.
/// If the copy fails, devices that were formatted are blank.
fn fill(
    devices: Devices,
    format: Option<&FormatOptions>,
    copy: impl FnOnce(Arc<dyn Store>) -> Result<Checkpointed, Error>,
) -> Result<Checkpointed, Error> {
    if let Some(format) = format {
        let annotation = mark_of_unfinished_copy();
        Fs::format(devices.clone(), &FormatOptions { annotation, ..format.clone() })?;
    }
    let mounted = Fs::mount(devices.clone(), &MountOptions::default());
    let copied = mounted.map_err(Error::from).and_then(|fs| {
        let copied = copy(Arc::clone(&fs) as Arc<dyn Store>);
        fs.unmount();
        copied
    });
    if copied.is_err() && format.is_some() {
        // The error of the copy says more than an error here.
        let _ = Fs::erase(devices);
    }
    copied
}
