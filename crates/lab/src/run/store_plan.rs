//! [`StorePlan`]: how the store of a run is opened, and how that follows from an experiment's
//! description.
//!
//! Sizes are those of the run: memtables, tables and memory shrink with the scale, and a block of
//! tables as `scaling` says. A table size that a row fits to its store is fitted to the full drive
//! first. Demands of a description that a run cannot meet are refused.

use serde::{Deserialize, Serialize};
use terrace::{ByteCount, CachePolicy, Compression, Durability, Options, System};
use terrace_policy::StoreShape;
use terrace_zone::Geometry;
use terrace_zone::timing::{Drive, Size};

use super::device::DevicePlan;
use super::log_writes::{check_syncs, log_chunk};
use super::places::Places;
use super::plan::{IO_SIZE_MIN, hash_of, zone_bytes};
use super::scaling::Scaling;
use super::{LogWrites, MetadataWrites, PlanError};
use crate::experiment::{Experiment, Location, StoreDescription, Variant};

/// How the store of a run is opened; sizes are those of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorePlan {
    /// The system with its scaled parameters, as text.
    pub system: String,
    /// [`Options::memtable_size`].
    pub memtable_size: u64,
    /// [`Options::memtables_max`].
    pub memtables_max: usize,
    /// [`Options::block_size`].
    pub block_size: u64,
    /// [`Options::filter_bits`].
    pub filter_bits: u8,
    /// [`Options::memory`].
    pub memory: u64,
    /// [`Options::io_size`].
    pub io_size: u64,
    /// Bytes after which jobs flush the drive; 0: they never do.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flush_every: u64,
    /// [`Options::workers`].
    pub workers: usize,
    /// [`Options::compression`], of all levels.
    #[serde(default, skip_serializing_if = "is_none")]
    pub compression: Compression,
    /// The percentage of its bytes to which a value can be compressed; `None`: hardly at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressible_to: Option<u8>,
    /// Whether every write waits for the medium.
    pub synced: bool,
    /// If this is `n`, every n-th write of a client waits for the medium, where not each does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_every: Option<u64>,
    /// Whether no write goes to a log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlogged: bool,
    /// Where the log is.
    pub log: Location,
    /// Where the metadata are; `None`: where the log is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Location>,
    /// The drive whose times the log device has, and a hash of its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_device: Option<(String, String)>,
    /// The drive whose times the offload device has, and a hash of its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offload: Option<(String, String)>,
    /// Bytes of the offload device; 0: the size of the store's part of the drive.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offload_size: u64,
    /// How the log is written.
    pub log_writes: LogWrites,
    /// Bytes of a write of the log, where it is waited for and several entries gather; 0: each is
    /// written by itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub log_chunk: u64,
    /// How metadata are written.
    #[serde(default, skip_serializing_if = "MetadataWrites::is_usual")]
    pub metadata_writes: MetadataWrites,
    /// How many bytes of the log may be unsynced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_buffer: Option<u64>,
    /// [`Options::file_cache`].
    pub file_cache: u64,
    /// Order in which blocks leave the cache.
    pub cache_policy: CachePolicy,
}

impl StorePlan {
    /// The durability of a write, but for those of which every n-th is synced.
    pub(super) fn durability(&self) -> Durability {
        match (self.unlogged, self.synced) {
            (true, _) => Durability::Unlogged,
            (false, true) => Durability::Synced,
            (false, false) => Durability::Gathered,
        }
    }
}

/// Shapes of the drive, and the zones that the store has.
pub(super) struct Shapes<'a> {
    pub(super) full: &'a Geometry,
    pub(super) small: &'a Geometry,
    pub(super) zones: u32,
    /// The device, unscaled and scaled.
    pub(super) full_device: DevicePlan,
    pub(super) device: &'a DevicePlan,
}

/// How the store of a system is opened: settings of the variant come before those that the
/// experiment has for the system, and these before those for all systems.
pub(super) fn described(
    experiment: &Experiment,
    variant: Option<&Variant>,
    system: &str,
) -> Result<StoreDescription, PlanError> {
    let row = system.parse::<System>()?.name();
    let over = variant.map(|variant| variant.store.clone()).unwrap_or_default();
    let of_row = experiment.store_of.get(row).cloned().unwrap_or_default();
    Ok(over.or(&of_row).or(&experiment.store))
}

pub(super) fn store_plan(
    store: &StoreDescription,
    scaling: &Scaling,
    shapes: &Shapes<'_>,
    system: &str,
) -> Result<StorePlan, PlanError> {
    let (places, log_device) = Places::of(store, shapes.device, shapes.full)?;
    check_syncs(store)?;
    let usual = Options::default();
    let tables = usual.tables().shape();
    let size = |size: Option<Size>, usual: ByteCount| size.map_or(usual.0, |size| size.0);
    let memtable_size = size(store.memtable_size, Options::MEMTABLE_SIZE);
    let memory = size(store.memory, usual.memory);
    let mut system: System = system.parse()?;
    let zone = zone_bytes(shapes.full, shapes.full.zone_capacity);
    let shape = StoreShape {
        capacity: ByteCount(u64::from(shapes.zones) * zone),
        zone_capacity: shapes.full_device.zone_capacity(zone).map(ByteCount),
        // No size that is fitted depends on them.
        guard: ByteCount(0),
        kept: ByteCount(0),
        memtable_size: ByteCount(memtable_size),
    };
    // Chosen for the full drive: a size that a row fits to its store may have absolute bounds. The
    // rest is in proportion to memtables.
    let table_size = scaling.size("a table", system.table_size(&shape).0)?;
    system.table_size = Some(ByteCount(table_size));
    system.level1_size = system.level1_size.map(|size| ByteCount(scaling.bytes(size.0).max(1)));
    system.seek_cost = scaling.seek_cost(system.seek_cost()).or(system.seek_cost);
    let block_size = scaling.block_size(size(store.block_size, tables.block_size));
    let io_size = size(store.io_size, system.io_size(ByteCount(memory)));
    Ok(StorePlan {
        system: fit_tables(system, shapes, block_size).to_string(),
        memtable_size: scaling.size("a memtable", memtable_size)?,
        memtables_max: store.memtables_max.unwrap_or(usual.memtables_max),
        block_size,
        filter_bits: store.filter_bits.unwrap_or(tables.filter_bits),
        memory: scaling.size("memory", memory)?,
        io_size: scaling.bytes(io_size).max(IO_SIZE_MIN),
        flush_every: store.flush_every.map_or(0, |size| scaling.bytes(size.0).max(1)),
        workers: store.workers.unwrap_or(usual.workers),
        compression: store.compression.unwrap_or_default(),
        compressible_to: compressible_to(store)?,
        synced: store.synced.unwrap_or(false),
        synced_every: store.synced_every,
        unlogged: store.logged == Some(false),
        log: places.log,
        metadata: (places.metadata != places.log).then_some(places.metadata),
        log_device,
        offload: offload(store, places)?,
        offload_size: store.offload_size.map_or(0, |size| scaling.bytes(size.0).max(1)),
        log_writes: store.log_writes.unwrap_or_default(),
        log_chunk: log_chunk(store, scaling)?,
        metadata_writes: store.metadata_writes.unwrap_or_default(),
        log_buffer: store.log_buffer.map(|size| scaling.bytes(size.0).max(1)),
        file_cache: scaling.bytes(size(store.file_cache, usual.file_cache)),
        cache_policy: store.cache_policy.unwrap_or_default(),
    })
}

/// The drive of the offload device, with its hash.
fn offload(
    store: &StoreDescription,
    places: Places,
) -> Result<Option<(String, String)>, PlanError> {
    let Some(name) = &store.offload else { return Ok(None) };
    if places.beside() {
        return Err(PlanError::Impossible {
            what: "log and metadata of a store with an offload device".into(),
            expected: "both on the drive: a store has at most two devices".into(),
            found: format!("{} and {}", places.log, places.metadata),
        });
    }
    Ok(Some((name.clone(), hash_of(&Drive::find(name)?))))
}

fn compressible_to(store: &StoreDescription) -> Result<Option<u8>, PlanError> {
    match store.compressible_to {
        Some(percent) if !(1..=100).contains(&percent) => Err(PlanError::Impossible {
            what: "compressible_to".into(),
            expected: "1 to 100 percent".into(),
            found: percent.to_string(),
        }),
        percent => Ok(percent),
    }
}

fn is_zero(size: &u64) -> bool {
    *size == 0
}

pub(super) fn is_none(compression: &Compression) -> bool {
    *compression == Compression::None
}

/// A table that fills its zones but for its possible excess must go on doing so: the excess does
/// not shrink with the scale.
fn fit_tables(system: System, shapes: &Shapes<'_>, block_size: u64) -> System {
    let usual = zone_bytes(shapes.small, shapes.small.zone_capacity);
    let zone = shapes.device.zone_capacity(usual);
    let Some((table, zone)) = system.table_size.zip(zone) else { return system };
    let (zones, slack) = (table.0.div_ceil(zone), (2 * block_size + 8192).min(zone / 2));
    let full = zones * zone;
    let fills = full - table.0 < zone / 16;
    let table = if fills { table.0.min(full - slack) } else { table.0 };
    System { table_size: Some(ByteCount(table)), ..system }
}
