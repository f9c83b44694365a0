//! [`Medium`]: where the store of a benchmark lies: an emulated drive in memory, an image of a
//! drive in a file, a drive that is there already, or a directory.
//!
//! A drive gets four times the bytes of entries that it is made for, and room for logs and
//! metadata. The caller may add an offload device; a directory ignores that. The file of an image
//! is deleted once the drive is open: its space is free when the drive is dropped. A directory is
//! deleted when its `Home` is dropped, so close the store before. If the process is killed, the
//! directory stays.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use terrace::fs::Role;
use terrace::{Db, Devices, FormatOptions, Options};
use terrace_env::ByteCount;
use terrace_env::random::Random;
use terrace_zone::{Device, Emulator, Geometry};

use super::error::BenchError;

/// How much larger a drive is than the entries: no mix more than doubles them, and data that is
/// written and not yet merged needs room as well.
const DRIVE_FACTOR: u64 = 4;
/// Zones on top of that: superblock, journal, logs, reserves.
const ZONES_BESIDE: u64 = 64;

/// Where the store is.
#[derive(Clone, Debug)]
pub enum Medium {
    /// An emulated drive in the memory of the process.
    Memory {
        /// The size of its zones.
        zone_size: ByteCount,
    },
    /// An emulated drive in a sparse file in this directory. The file loses its name at once.
    Image {
        /// The size of its zones.
        zone_size: ByteCount,
        /// The directory.
        dir: PathBuf,
        /// Whether flushes and forced writes reach the host's disk.
        synced: bool,
    },
    /// A drive that is there: all that it holds is lost, and the last store stays on it.
    Drive(Existing),
    /// Plain files, in a directory of their own in this directory.
    Directory {
        /// The directory.
        dir: PathBuf,
    },
}

/// A drive that is there already.
#[derive(Clone)]
pub struct Existing(pub Arc<dyn Device>);

impl fmt::Debug for Existing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Existing").field(self.0.geometry()).finish()
    }
}

/// A store, and its drive or directory.
pub(super) struct Home {
    pub(super) db: Db,
    _dir: Option<TempDir>,
}

impl Medium {
    /// Makes an empty store for `bytes` of entries, and for the logs of the options. A store
    /// in a directory has no use for an offload device.
    pub(super) fn make(
        &self,
        bytes: u64,
        offload: Option<&Arc<dyn Device>>,
        options: &Options,
    ) -> Result<Home, BenchError> {
        let seed = 1;
        match self {
            Self::Memory { zone_size } => {
                let drive = Emulator::in_memory(geometry(*zone_size, bytes, options)?, seed)?;
                Ok(Home { db: format(Arc::new(drive), offload, options)?, _dir: None })
            }
            Self::Image { zone_size, dir, synced } => {
                let place = temporary(dir)?;
                let geometry = geometry(*zone_size, bytes, options)?;
                let uuid = Random::seeded(seed).uuid();
                let drive = Emulator::create_image(place.path().join("drive.img"), geometry, uuid)?;
                let drive = if *synced { drive } else { drive.unsynced() };
                Ok(Home { db: format(Arc::new(drive), offload, options)?, _dir: None })
            }
            Self::Drive(Existing(drive)) => {
                Ok(Home { db: format(Arc::clone(drive), offload, options)?, _dir: None })
            }
            Self::Directory { dir } => {
                let place = temporary(dir)?;
                let db = Db::open_directory(place.path(), options.clone().live(place.path()))?;
                Ok(Home { db, _dir: Some(place) })
            }
        }
    }
}

fn temporary(dir: &PathBuf) -> Result<TempDir, BenchError> {
    let made = tempfile::Builder::new().prefix("terrace-bench-").tempdir_in(dir);
    made.map_err(|source| BenchError::Host { path: dir.clone(), source })
}

fn geometry(zone: ByteCount, bytes: u64, options: &Options) -> Result<Geometry, BenchError> {
    // Each memtable has a log, and its flush sets aside as much again.
    let memtable_size = options.memtable_size.unwrap_or(Options::MEMTABLE_SIZE);
    let memtables = (options.memtables_max as u64 + 2) * memtable_size.0 * 2;
    let size = bytes.saturating_mul(DRIVE_FACTOR).saturating_add(memtables);
    let zones = size.div_ceil(zone.0.max(1)).saturating_add(ZONES_BESIDE);
    let geometry = Geometry::uniform(zone, u32::try_from(zones).unwrap_or(u32::MAX));
    geometry.validate()?;
    Ok(geometry)
}

fn format(
    drive: Arc<dyn Device>,
    offload: Option<&Arc<dyn Device>>,
    options: &Options,
) -> Result<Db, BenchError> {
    let (devices, role) = match offload {
        Some(offload) => (Devices::pair(drive, Arc::clone(offload)), Role::Offload),
        None => (drive.into(), Role::default()),
    };
    let format = FormatOptions { role, ..FormatOptions::default() };
    Ok(Db::create_device(devices, &format, options.clone())?)
}
