//! [`TerraceStore`]: a key-value store that is open; and [`TerraceOptions`], for stores and file
//! systems.

use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::Arc;

use terrace::device::Access;
use terrace::fs::{self, MountOptions};
use terrace::{Bounds, ByteCount, Counter, Db, Durability, Fs, Options, Store, System};
use terrace_policy::Lean;

use crate::TerraceCode;
use crate::batch::TerraceBatch;
use crate::compaction_filters::TerraceCompactionFilters;
use crate::failure::{Failure, given, guard, unused};
use crate::image;
use crate::key_space::{HasCounters, TerraceKeySpace, space_of};
use crate::merge_operator::TerraceMergeOperator;
use crate::slice::TerraceSlice;
use crate::value::{TerraceValue, clear, hand_over};

/// A key-value store that is open.
pub struct TerraceStore {
    pub(crate) db: Db,
    pub(crate) default: TerraceKeySpace,
}

/// The event that a write survives once it has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TerraceDurability {
    /// The durability of the options; in the options, `WRITTEN` in a directory and `GATHERED` on a
    /// drive.
    Default = 0,
    /// A clean end only: the write goes to no log.
    Unlogged = 1,
    /// A clean end; the end of the process may take the writes of the last tenth of a second.
    Gathered = 2,
    /// The end of the process, by a crash or `kill`.
    Written = 3,
    /// A power cut.
    Synced = 4,
}

/// Options of a store or a file system. Set all fields to 0 first: 0 means the default everywhere.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct TerraceOptions<'a> {
    /// Not 0: nothing is written, not even to finish a recovery.
    pub read_only: u32,
    /// Not 0: flushes of an image do not reach the host's disk. Faster, and if the host loses its
    /// power, the image may hold anything.
    pub unsynced: u32,
    /// A `TerraceDurability`, for writes with the default one. Only for stores.
    pub durability: u32,
    /// Percentage of free zones below which reclaim keeps garbage at or below a tenth of the bytes
    /// of zones in use. Larger: reclaim moves more bytes, and fewer bytes are dead before the drive
    /// is full. At most 100; 0 for 20. With 1, reclaim waits until new data needs space. Only for
    /// file systems.
    pub reclaim_below: u32,
    /// Bytes of memory of a store; 0 for an amount that fits its size, at most 320 MiB. Only for
    /// stores.
    pub memory: u64,
    /// Size of memtables in bytes; 0 for one that fits the size of the store. Only for stores.
    pub memtable_size: u64,
    /// Bytes of memory for blocks that were written to files, if the device is a drive.
    pub file_cache: u64,
    /// Not 0: other processes can inspect the store while it is open for writing, through a socket
    /// at its path (`docs/live.md`). If the socket cannot be made, the store opens without it. Only
    /// for stores.
    pub live: u32,
    /// Not 0: the store has counters (`terrace_add`). Their operator is the store's merge operator,
    /// and the store remembers its name. Only for stores.
    pub counters: u32,
    /// Bytes of keys and values that compactions go through in a second at most, while no writer
    /// waits for them and space is not short; 0 for no limit. Of stores only.
    pub compaction_rate: u64,
    /// The merge operator of the store, or null. Not to be given with `counters`. Of stores only.
    pub merge_operator: Option<&'a TerraceMergeOperator>,
    /// The filters of values for this opening, or null. Of stores only.
    pub compaction_filters: Option<&'a TerraceCompactionFilters>,
    /// The system of this opening, as in `terrace systems`, with parameters of its own or without:
    /// `sliced`, `bluefs:factor=4`. `terrace_none()` for the default. Of stores only.
    pub system: TerraceSlice<'a>,
    /// Not 0: tables of a store in a directory are read by calls, and not by mapped memory. Reads
    /// cost more, and a failing disk is an error instead of the signal SIGBUS. Of stores only.
    pub copy_tables: u32,
    /// Not used; 0.
    pub reserved: [u32; 17],
}

impl TerraceOptions<'_> {
    pub(crate) fn of(options: Option<&Self>) -> Result<Self, Failure> {
        let options = options.copied().unwrap_or_default();
        unused(&options.reserved, "options")?;
        if options.reclaim_below > 100 {
            let found = options.reclaim_below;
            let message = format_args!("reclaim_below: expected 0 to 100, found {found}");
            return Err(Failure::invalid(message));
        }
        if options.counters != 0 && options.merge_operator.is_some() {
            let message = "merge_operator: expected one operator, found counters as well";
            return Err(Failure::invalid(message));
        }
        Ok(options)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only != 0
    }

    /// The options of a store at a path, which has this capacity.
    pub(crate) fn store_options(
        &self,
        path: &Path,
        capacity: ByteCount,
    ) -> Result<Options, Failure> {
        let mut options = Options::fitting(capacity).read_only(self.is_read_only());
        options.durability = durability(self.durability)?;
        options.file_cache = ByteCount(self.file_cache);
        if self.live != 0 {
            options.live = Some(path.to_owned());
        }
        if self.counters != 0 {
            options = options.merge_operator(Counter);
        }
        if let Some(operator) = self.merge_operator {
            options = options.shared_merge_operator(Arc::clone(&operator.0));
        }
        if let Some(filters) = self.compaction_filters {
            options.compaction_filters = filters.0.clone();
        }
        if self.system.optional("system")?.is_some() {
            let system = System::asked(self.system.text("system")?).map_err(|error| {
                Failure::new(TerraceCode::Option, format_args!("system: {error}"))
            })?;
            options = options.system(system);
        }
        options.compaction_rate = ByteCount(self.compaction_rate);
        options.map_tables = self.copy_tables == 0;
        if self.memory > 0 {
            options.memory = ByteCount(self.memory);
        }
        if self.memtable_size > 0 {
            options.memtable_size = Some(ByteCount(self.memtable_size));
        }
        Ok(options)
    }

    /// Mounts the file system of an image or a block device.
    pub(crate) fn mount(&self, path: &Path) -> Result<Arc<Fs>, Failure> {
        let (of_image, access) = match self.is_read_only() {
            true => (Access::ReadOnly, fs::Access::ReadOnly),
            false => (Access::ReadWrite, fs::Access::ReadWrite),
        };
        let drive = image::open(path, of_image, self.unsynced != 0)?;
        let reclaim = match self.reclaim_below {
            0 => Lean::default(),
            percent => Lean { free_min: percent as u8, ..Lean::default() },
        };
        let reclaim = Arc::new(reclaim);
        Ok(Fs::mount(drive, &MountOptions { access, reclaim, ..MountOptions::default() })?)
    }
}

/// The durability of this number; `None` for the default one.
pub(crate) fn durability(number: u32) -> Result<Option<Durability>, Failure> {
    const KNOWN: [Option<Durability>; 5] = [
        None,
        Some(Durability::Unlogged),
        Some(Durability::Gathered),
        Some(Durability::Written),
        Some(Durability::Synced),
    ];
    let known = KNOWN.get(number as usize).copied();
    known.ok_or_else(|| {
        Failure::invalid(format_args!("durability: expected 0 to 4, found {number}"))
    })
}

/// The keys from `start` up to, and without, `end`; without an end, the range is open.
pub(crate) fn bounds(start: TerraceSlice<'_>, end: TerraceSlice<'_>) -> Result<Bounds, Failure> {
    let bounds = Bounds::starting_at(start.bytes("start")?);
    Ok(match end.optional("end")? {
        Some(end) => bounds.until(end),
        None => bounds,
    })
}

/// Opens the store on the drive of an image, on a block device, or in a directory. A formatted
/// drive without one, or an empty directory, becomes an empty store. `options` may be null. To be
/// closed by `terrace_store_close`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_open(
    path: TerraceSlice<'_>,
    options: Option<&TerraceOptions<'_>>,
    store: Option<&mut MaybeUninit<*mut TerraceStore>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(store, "store")?;
        let path = Path::new(path.text("path")?);
        let given = TerraceOptions::of(options)?;
        let db = if path.is_dir() {
            Db::open_directory(path, given.store_options(path, ByteCount(u64::MAX))?)?
        } else {
            let fs = given.mount(path)?;
            if fs.list().iter().any(|file| !file.names.is_empty()) {
                let path = path.display();
                return Err(Failure::invalid(format_args!(
                    "{path}: expected a key-value store, found a file system with files of names; \
                     open it by terrace_fs_open"
                )));
            }
            let options = given.store_options(path, fs.device_capacity())?;
            Db::open_fs(fs, options)?
        };
        let has_counters = HasCounters(given.counters != 0);
        let default = TerraceKeySpace::new(db.key_space("default")?, has_counters);
        hand_over(out, TerraceStore { db, default });
        Ok(())
    })
}

/// Makes everything durable, closes the store and frees the handle, also after an error. Remaining
/// cursors and key spaces return `TERRACE_CODE_CLOSED`, and are still to be freed. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_close(store: Option<Box<TerraceStore>>) -> TerraceCode {
    guard(|| match store {
        Some(store) => Ok(store.db.close()?),
        None => Ok(()),
    })
}

/// The default key space of a store. It belongs to the store's handle, and is not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_default(store: Option<&TerraceStore>) -> Option<&TerraceKeySpace> {
    store.map(|store| &store.default)
}

/// Writes a value under a key. `durability` is a `TerraceDurability`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_put(
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: TerraceSlice<'_>,
    durability: u32,
) -> TerraceCode {
    guard(|| {
        let space = space_of(space, durability)?;
        Ok(space.put(key.bytes("key")?, value.bytes("value")?)?)
    })
}

/// Removes a key; no effect if it has no value.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_delete(
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    durability: u32,
) -> TerraceCode {
    guard(|| {
        let space = space_of(space, durability)?;
        Ok(space.delete(key.bytes("key")?)?)
    })
}

/// Removes all keys from `start` up to, and without, `end`, by one write. With `terrace_none()` as
/// `end`, the range is open.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_delete_range(
    space: Option<&TerraceKeySpace>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
    durability: u32,
) -> TerraceCode {
    guard(|| {
        let space = space_of(space, durability)?;
        Ok(space.delete_range(bounds(start, end)?)?)
    })
}

/// Reads the value under a key. `TERRACE_CODE_NOT_FOUND`, with `*value` null, if there is none. To
/// be freed by `terrace_value_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_get(
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: Option<&mut MaybeUninit<*mut TerraceValue>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(value, "value")?;
        let found = space_of(space, 0)?.get(key.bytes("key")?)?;
        let absent = || Failure::new(TerraceCode::NotFound, "expected a value, found none");
        hand_over(out, TerraceValue(found.ok_or_else(absent)?));
        Ok(())
    })
}

/// Stores in `*exists` whether there is a key from `start` up to, and without, `end`: 1 or 0. With
/// `terrace_none()` as `end`, the range is open. Mostly known without reading data.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_range_exists(
    space: Option<&TerraceKeySpace>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
    exists: Option<&mut MaybeUninit<u32>>,
) -> TerraceCode {
    guard(|| {
        let exists = given(exists, "exists")?;
        exists.write(0);
        exists.write((!space_of(space, 0)?.is_empty(bounds(start, end)?)?).into());
        Ok(())
    })
}

/// The approximate bytes of tables, as stored, for the keys from `start` up to, and without, `end`.
/// With `terrace_none()` as `end`, the range is open. Entries that are only in memory and log do
/// not count.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_range_size(
    space: Option<&TerraceKeySpace>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
    bytes: Option<&mut MaybeUninit<u64>>,
) -> TerraceCode {
    guard(|| {
        let bytes = given(bytes, "bytes")?;
        bytes.write(0);
        bytes.write(space_of(space, 0)?.size_of(bounds(start, end)?)?.0);
        Ok(())
    })
}

/// Applies the writes of a batch together or not at all. The batch does not change.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_write(
    store: Option<&TerraceStore>,
    batch: Option<&TerraceBatch>,
    durability: u32,
) -> TerraceCode {
    guard(|| {
        let (store, batch) = (given(store, "store")?, given(batch, "batch")?);
        let durability = self::durability(durability)?.unwrap_or_else(|| store.db.durability());
        Ok(store.db.write_with(batch.0.clone(), durability)?)
    })
}

/// The metrics of a store as a JSON object in UTF-8, with the names of `terrace stats --json`. To
/// be freed by `terrace_value_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_stats(
    store: Option<&TerraceStore>,
    stats: Option<&mut MaybeUninit<*mut TerraceValue>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(stats, "stats")?;
        let stats = serde_json::to_vec(&given(store, "store")?.db.stats());
        let stats = stats.map_err(|error| Failure::new(TerraceCode::Bug, error))?;
        hand_over(out, TerraceValue(stats.into()));
        Ok(())
    })
}

/// Makes all earlier writes durable.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_sync(store: Option<&TerraceStore>) -> TerraceCode {
    guard(|| Ok(given(store, "store")?.db.sync()?))
}

/// Writes all entries that are only in memory and log into tables, and waits for it.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_flush(store: Option<&TerraceStore>) -> TerraceCode {
    guard(|| Ok(given(store, "store")?.db.flush()?))
}

/// Merges the tables with keys from `start` to `end`, which is not one of them, until no key is in
/// several runs, and waits for it. An end that is `terrace_none()` is open.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_compact(
    space: Option<&TerraceKeySpace>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| Ok(space_of(space, 0)?.compact(bounds(start, end)?)?))
}
