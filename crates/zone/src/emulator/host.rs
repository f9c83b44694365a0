//! [`Host`]: the file of an image on the host, and which of its changes have reached the host's
//! disk.
//!
//! 1. Each write to the file and each punched hole is a change, and has a number. A caller that
//!    needs changes on the disk has to *reach* the number of the last of them.
//! 2. A caller that has to reach a number syncs the file, unless the number is reached. If another
//!    caller is syncing, it waits for that sync and looks again. A sync reaches all changes that
//!    were made before it began. So callers that come together can share a sync.
//! 3. A failed sync is not repeated: the host may have dropped the bytes, and would then report
//!    success. From then on [`Host::check`] and [`Host::reach`] fail with
//!    [`DeviceError::HostSync`].
//!
//! After [`Host::leave_unsynced`] no sync is begun, and [`Host::reach`] succeeds at once: a power
//! cut of the host may then leave anything.
//!
//! # Threads
//! Any number of actors may call at once. [`Host::reach`] waits for the host's disk, so it must be
//! called without a lock. The other calls may be made under the drive's lock.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::io::Errno;
use terrace_env::ByteCount;
use terrace_env::sync::{self, Condvar, Mutex};

use super::host_file::HostFile;
use crate::DeviceError;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Host {
    file: Arc<dyn HostFile>,
    path: PathBuf,
    changes: AtomicU64,
    is_synced: AtomicBool,
    has_failed: AtomicBool,
    syncs: Mutex<Syncs>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Syncs {
    /// Changes up to this number are on the host's disk.
    reached: u64,
    under_way: bool,
    count: u64,
    failed: Option<DeviceError>,
}

impl Host {
    pub(super) fn new(file: Arc<dyn HostFile>, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
            changes: AtomicU64::new(0),
            is_synced: AtomicBool::new(true),
            has_failed: AtomicBool::new(false),
            syncs: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// From now on nothing is synced.
    pub(super) fn leave_unsynced(&self) {
        self.is_synced.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_synced(&self) -> bool {
        self.is_synced.load(Ordering::Relaxed)
    }

    /// How often the file has been synced.
    pub(super) fn syncs(&self) -> u64 {
        self.syncs.lock().count
    }

    /// The number of the last change.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The number up to which all changes are on the host's disk; all there will ever be, where
    /// nothing is synced.
    pub(super) fn reached(&self) -> u64 {
        if self.is_synced() { self.syncs.lock().reached } else { u64::MAX }
    }

    /// Checks that no sync has failed.
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        if !self.has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.syncs.lock().failed.clone().map_or(Ok(()), Err)
    }

    /// Returns when all changes up to this number are on the host's disk.
    pub(super) fn reach(&self, number: u64) -> Result<(), DeviceError> {
        if !self.is_synced() {
            return Ok(());
        }
        sync::assert_no_lock_held("a sync of an image");
        let mut syncs = self.syncs.lock();
        loop {
            if let Some(error) = &syncs.failed {
                return Err(error.clone());
            }
            if syncs.reached >= number {
                return Ok(());
            }
            if syncs.under_way {
                self.ended.wait(&mut syncs);
                continue;
            }
            syncs.under_way = true;
            drop(syncs);
            let changes = self.changes();
            let result = self.file.sync_data();
            syncs = self.syncs.lock();
            syncs.under_way = false;
            syncs.count += 1;
            match result {
                Ok(()) => syncs.reached = syncs.reached.max(changes),
                Err(source) => {
                    let (path, source) = (self.path.display().to_string(), Arc::new(source));
                    syncs.failed = Some(DeviceError::HostSync { path, source });
                    self.has_failed.store(true, Ordering::Relaxed);
                }
            }
            self.ended.notify_all();
        }
    }

    pub(super) fn size(&self) -> Result<u64, DeviceError> {
        self.file.size().map_err(|error| host_error("examine", &self.path, error))
    }

    pub(super) fn is_block_device(&self) -> Result<bool, DeviceError> {
        self.file.is_block_device().map_err(|error| host_error("examine", &self.path, error))
    }

    /// Bytes that can be written to parts of the file that have no space yet, as far as the host
    /// tells.
    pub(super) fn room(&self) -> Option<ByteCount> {
        self.file.room().ok().flatten()
    }

    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        let read = self.file.read_at(offset, into);
        read.map_err(|error| host_error("read", &self.path, error))
    }

    /// Writes, and returns the number of the change.
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<u64, DeviceError> {
        let written = self.file.write_at(offset, bytes);
        // A write that failed may have changed something, too.
        let number = self.changes.fetch_add(1, Ordering::AcqRel) + 1;
        written.map(|()| number).map_err(|error| host_error("write", &self.path, error))
    }

    /// Asks for room for bytes that are written later. It is no error if there is none: the later
    /// write will fail.
    pub(super) fn allocate(&self, offset: u64, len: u64) {
        drop(self.file.allocate(offset, len));
    }

    /// Punches a hole. A file system that cannot keeps the bytes: nothing reads them.
    pub(super) fn punch(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        let punched = self.file.punch(offset, len);
        self.changes.fetch_add(1, Ordering::AcqRel);
        match punched {
            Err(error) if error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error()) => Ok(()),
            punched => punched.map_err(|error| host_error("punch a hole into", &self.path, error)),
        }
    }
}

/// An error of the host, where an image was to be used.
pub(super) fn host_error(operation: &str, path: &Path, error: io::Error) -> DeviceError {
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    if full.contains(&error.kind()) {
        let (path, source) = (path.display().to_string(), Arc::new(error));
        return DeviceError::HostFull { path, source };
    }
    DeviceError::host(format!("cannot {operation} the image {}", path.display()), error)
}
