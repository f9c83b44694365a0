//! A medium in a sparse file; the layout is in `docs/format/image.md`.
//!
//! Zone states are written through as they change, so that the image survives the process that uses
//! it. A lock on the file keeps a second process out.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FallocateFlags, FlockOperation};
use rustix::io::Errno;
use terrace_env::{IoBuf, Uuid, ZoneId};

use super::image::{ENTRY, Flaw, HEADER, Header, RUNS_MAX};
use crate::state::{ZoneStatus, ZoneTable};
use crate::{DeviceError, Geometry, GeometryError};

/// Whether an image is opened to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For one process alone.
    ReadWrite,
    /// For any number of processes at once. The drive takes reads and reports, and nothing else.
    ReadOnly,
}

#[derive(Debug)]
pub(super) struct FileMedium {
    file: File,
    path: PathBuf,
    header: Header,
    blocks_offset: u64,
    /// Bytes of a zone, from start to start.
    zone_len: u64,
}

impl FileMedium {
    /// Makes the image of a new drive. There must not be a file of this name.
    pub(super) fn create(
        path: &Path,
        geometry: Geometry,
        uuid: Uuid,
    ) -> Result<(Self, ZoneTable), DeviceError> {
        geometry.validate()?;
        if geometry.conventional.len() > RUNS_MAX {
            return Err(DeviceError::Geometry(GeometryError {
                what: "runs of conventional zones",
                expected: format!("at most {RUNS_MAX}"),
                got: geometry.conventional.len().to_string(),
            }));
        }
        let failed = |error| host("create", path, error);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path).map_err(failed)?;
        lock(&file, path, Access::ReadWrite)?;
        let medium = Self::new(file, path, Header { uuid, geometry });
        medium.file.set_len(medium.header.image_len()).map_err(failed)?;
        medium.file.write_all_at(&medium.header.encode(), 0).map_err(failed)?;
        let table = ZoneTable::new(Arc::new(medium.header.geometry.clone()));
        Ok((medium, table))
    }

    /// Opens an image and reads its zone table, as it was left.
    pub(super) fn open(path: &Path, access: Access) -> Result<(Self, ZoneTable), DeviceError> {
        let bad = |flaw: Flaw| DeviceError::BadImage {
            path: path.display().to_string(),
            what: flaw.what,
            expected: flaw.expected,
            got: flaw.got,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(access == Access::ReadWrite);
        let file = options.open(path).map_err(|error| host("open", path, error))?;
        lock(&file, path, access)?;
        let len = file.metadata().map_err(|error| host("examine", path, error))?.len();
        let mut bytes = vec![0; HEADER.min(len) as usize];
        file.read_exact_at(&mut bytes, 0).map_err(|error| host("read", path, error))?;
        let header = Header::decode(&bytes).map_err(bad)?;
        Flaw::unless_equal("file length", header.image_len(), len).map_err(bad)?;

        let mut entries = vec![0; header.geometry.zones as usize * ENTRY as usize];
        file.read_exact_at(&mut entries, HEADER).map_err(|error| host("read", path, error))?;
        let mut table = ZoneTable::new(Arc::new(header.geometry.clone()));
        let (entries, _) = entries.as_chunks();
        for (zone, entry) in header.geometry.zone_ids().zip(entries) {
            if let Some(status) = header.decode_entry(zone, entry).map_err(bad)? {
                table.set(zone, status);
            }
        }
        Self::check_limits(&table).map_err(bad)?;
        Ok((Self::new(file, path, header), table))
    }

    fn check_limits(table: &ZoneTable) -> Result<(), Flaw> {
        let geometry = table.geometry();
        for (what, limit, count) in [
            ("open zones", geometry.max_open, table.open()),
            ("active zones", geometry.max_active, table.active()),
        ] {
            if let Some(limit) = limit
                && count > limit as usize
            {
                let expected = format!("at most {limit}");
                return Err(Flaw { what, expected, got: count.to_string() });
            }
        }
        Ok(())
    }

    fn new(file: File, path: &Path, header: Header) -> Self {
        let blocks_offset = header.blocks_offset();
        let zone_len = header.geometry.zone_size * u64::from(header.geometry.logical_block);
        Self { file, path: path.to_owned(), header, blocks_offset, zone_len }
    }

    pub(super) fn uuid(&self) -> Uuid {
        self.header.uuid
    }

    fn place(&self, zone: ZoneId, offset: u64) -> u64 {
        self.blocks_offset + u64::from(zone.0) * self.zone_len + offset
    }

    pub(super) fn read(
        &self,
        zone: ZoneId,
        offset: u64,
        len: usize,
        into: &mut IoBuf,
    ) -> Result<(), DeviceError> {
        let start = into.len();
        into.resize(start + len);
        self.file
            .read_exact_at(&mut into[start..], self.place(zone, offset))
            .map_err(|error| host("read", &self.path, error))
    }

    pub(super) fn write(&self, zone: ZoneId, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.file
            .write_all_at(bytes, self.place(zone, offset))
            .map_err(|error| host("write", &self.path, error))
    }

    /// Punches a zone out of the file. A file system that cannot keeps the bytes: nothing reads
    /// them.
    pub(super) fn erase(&self, zone: ZoneId) -> Result<(), DeviceError> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let len =
            self.header.geometry.zone_size(zone) * u64::from(self.header.geometry.logical_block);
        match rustix::fs::fallocate(&self.file, flags, self.place(zone, 0), len) {
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(host("punch a hole into", &self.path, error.into())),
        }
    }

    pub(super) fn record(&self, zone: ZoneId, status: ZoneStatus) -> Result<(), DeviceError> {
        let entry = self.header.encode_entry(zone, status);
        self.file
            .write_all_at(&entry, HEADER + ENTRY * u64::from(zone.0))
            .map_err(|error| host("write", &self.path, error))
    }
}

fn lock(file: &File, path: &Path, access: Access) -> Result<(), DeviceError> {
    let operation = match access {
        Access::ReadWrite => FlockOperation::NonBlockingLockExclusive,
        Access::ReadOnly => FlockOperation::NonBlockingLockShared,
    };
    match rustix::fs::flock(file, operation) {
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err(DeviceError::InUse { path: path.display().to_string() }),
        Err(error) => Err(host("lock", path, error.into())),
    }
}

fn host(operation: &str, path: &Path, error: io::Error) -> DeviceError {
    DeviceError::host(format!("cannot {operation} the image {}", path.display()), error)
}
