//! [`Overview`] and [`ZoneMap`]: the state of a store at a moment, as the program shows it. They
//! are plain values, made from an open [`Db`] or requested from the process that has the store
//! open.
//!
//! The parts of a value are read one after the other while others write, so a count may be ahead of
//! another one. A [`ZoneMap`] is made by a walk over the whole catalog, which may wait for the
//! device.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use terrace_env::store::{Store as _, StoreError};
use terrace_env::{ByteCount, DeviceId};
use terrace_fs::{DeviceUsage, FreeSpace, Fs, RunUsage, ZoneUsage};
use terrace_lsm::{Engine, KeySpaceEntry, KeySpaceOptions, Stats, TableOptions};
use terrace_zone::Geometry;

use crate::db::Inner;
use crate::{Db, Error, SpaceInUse};

/// The metrics and the facts of a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The metrics.
    pub stats: Stats,
    /// The valid share of the space in use (see [`SpaceInUse`]); `None` in a directory.
    pub space_efficiency: Option<f64>,
    /// Names of the key spaces, in the order of their creation.
    pub key_spaces: Vec<String>,
    /// The names of those that have options of their own, with these.
    #[serde(default)]
    pub key_space_options: Vec<(String, KeySpaceOptions)>,
    /// The system that it is open under.
    pub system: String,
    /// The options that shape its tables, as they were last stated.
    pub tables: TableOptions,
    /// Bytes of keys and values that can live in it and be overwritten without end.
    pub live_max: ByteCount,
    /// The size of its memtables.
    pub memtable_size: ByteCount,
    /// Bytes that puts may not use on shingled tracks.
    pub kept_on_tracks: ByteCount,
    /// Its devices; none in a directory.
    pub devices: Vec<DeviceUsage>,
    /// The shape of the device of its tables; none in a directory.
    pub geometry: Option<Geometry>,
    /// The free runs of the tables' device, if it has no zones.
    pub free: Option<FreeSpace>,
}

/// Contents of the devices of a store. For a directory it is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZoneMap {
    /// The zones of the tables' device; none if it has no zones.
    pub zones: Vec<ZoneUsage>,
    /// The devices without zones.
    pub plain: Vec<RunMap>,
    /// All devices.
    pub devices: Vec<DeviceUsage>,
    /// Whether there are files with names and no store of keys: then levels are lifetimes.
    pub has_names: bool,
}

/// A device without zones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMap {
    /// Its number in the store.
    pub device: DeviceId,
    /// Its runs of blocks, from its start to its end.
    pub runs: Vec<RunUsage>,
    /// The free ones in numbers, if the device holds the tables.
    pub free: Option<FreeSpace>,
}

/// Parts of an open store for an overview. They do not keep it open.
#[derive(Clone)]
pub(crate) struct Viewed {
    pub(crate) engine: Arc<Engine>,
    pub(crate) fs: Option<Arc<Fs>>,
    system: String,
    live_max: ByteCount,
    memtable_size: ByteCount,
}

impl Viewed {
    pub(crate) fn of(inner: &Inner) -> Self {
        Self {
            engine: Arc::clone(&inner.engine),
            fs: inner.below.fs().cloned(),
            system: inner.system.to_string(),
            live_max: inner.live_max,
            memtable_size: inner.memtable_size,
        }
    }

    pub(crate) fn overview(&self) -> Result<Overview, StoreError> {
        let stats = self.engine.stats();
        let fs = self.fs.as_ref();
        let key_spaces = self.engine.key_spaces();
        let with_options = |space: &KeySpaceEntry| {
            let options = space.options;
            (!options.is_none()).then(|| (space.name.to_string(), options))
        };
        let in_use = fs.map(|fs| SpaceInUse::of(fs, &stats)).transpose()?;
        Ok(Overview {
            space_efficiency: in_use.map(|space| space.efficiency()),
            key_spaces: key_spaces.iter().map(|space| space.name.to_string()).collect(),
            key_space_options: key_spaces.iter().filter_map(with_options).collect(),
            system: self.system.clone(),
            tables: self.engine.table_options(),
            live_max: self.live_max,
            memtable_size: self.memtable_size,
            kept_on_tracks: fs.map_or(ByteCount(0), |fs| fs.kept_on_tracks()),
            devices: fs.map(|fs| fs.devices()).unwrap_or_default(),
            geometry: fs.map(|fs| fs.geometry().clone()),
            free: fs.and_then(|fs| fs.free_space()),
            stats,
        })
    }

    pub(crate) fn zone_map(&self) -> Result<ZoneMap, StoreError> {
        self.fs.as_ref().map_or_else(|| Ok(ZoneMap::default()), |fs| ZoneMap::of(fs))
    }
}

impl Overview {
    /// The overview of a store that is open in this process.
    pub fn of(db: &Db) -> Result<Self, Error> {
        Ok(Viewed::of(&db.inner).overview()?)
    }
}

impl ZoneMap {
    /// The map of a mounted file system.
    pub fn of(fs: &Fs) -> Result<Self, StoreError> {
        let devices = fs.devices();
        let has_keys = matches!(terrace_lsm::remembered_system(fs), Ok(Some(_)));
        let plain = devices.iter().filter(|device| !device.layout.is_zoned());
        let plain = plain.map(|it| RunMap {
            device: it.device,
            runs: fs.runs(it.device),
            free: fs.free_space().filter(|_| it.holds_tables),
        });
        Ok(Self {
            zones: fs.zones()?,
            plain: plain.collect(),
            has_names: !has_keys && fs.list().iter().any(|file| !file.names.is_empty()),
            devices,
        })
    }
}
