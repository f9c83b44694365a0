//! [`TerraceStore`]: a key-value store that is open; and [`TerraceOptions`], for stores and file
//! systems.

use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::Arc;

use terrace::device::Access;
use terrace::fs::{self, MountOptions};
use terrace::{Bounds, ByteCount, Counter, Db, Durability, Fs, Options, Store};
use terrace_policy::Lean;

use crate::TerraceCode;
use crate::batch::TerraceBatch;
use crate::failure::{Failure, given, guard};
use crate::image;
use crate::key_space::{TerraceKeySpace, space_of};
use crate::slice::TerraceSlice;
use crate::value::{TerraceValue, clear, hand_over};

/// A key-value store that is open.
pub struct TerraceStore {
    pub(crate) db: Db,
    default: TerraceKeySpace,
}

/// The event that a write survives once it has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TerraceDurability {
    /// The one of the options; there, `WRITTEN` in a directory and `GATHERED` on a drive.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerraceOptions {
    /// Not 0: nothing is written, not even to finish a recovery.
    pub read_only: u32,
    /// Not 0: flushes of an image do not reach the host's disk. Faster, and if the host loses its
    /// power, the image may hold anything.
    pub unsynced: u32,
    /// A `TerraceDurability`: that of writes that do not say. Of stores only.
    pub durability: u32,
    /// Below so many free zones, in percent, at most a tenth of the bytes of zones in use is to be
    /// garbage. With more, reclaim moves more bytes, and fewer are dead while it is not full.
    /// At most 100; 0 for 20. With 1, reclaim waits until new data needs space. Of file systems
    /// only.
    pub reclaim_below: u32,
    /// Bytes of memory of a store; 0 for what fits its size, 320 MiB at most. Of stores only.
    pub memory: u64,
    /// The size of memtables in bytes; 0 for what fits the size of the store. Of stores only.
    pub memtable_size: u64,
    /// Bytes of memory for blocks that were written to files, where the device is a drive.
    pub file_cache: u64,
    /// Not 0: other processes can look at the store while it is open for writing, through a socket
    /// at its path (`docs/live.md`). If the socket cannot be made, the store opens without it. Of
    /// stores only.
    pub live: u32,
    /// Not 0: the store has counters (`terrace_add`). Their operator is the store's merge operator,
    /// and its name is remembered by the store. Of stores only.
    pub counters: u32,
}

impl TerraceOptions {
    pub(crate) fn of(options: Option<&Self>) -> Result<Self, Failure> {
        let options = options.copied().unwrap_or_default();
        if options.reclaim_below > 100 {
            let found = options.reclaim_below;
            let message = format_args!("reclaim_below: expected 0 to 100, found {found}");
            return Err(Failure::invalid(message));
        }
        Ok(options)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only != 0
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

/// The keys from `start` to `end`, which is not one of them; an end that is not given is open.
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
    options: Option<&TerraceOptions>,
    store: Option<&mut MaybeUninit<*mut TerraceStore>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(store, "store")?;
        let path = Path::new(path.text("path")?);
        let given = TerraceOptions::of(options)?;
        let fitted = |capacity: ByteCount| -> Result<Options, Failure> {
            let mut options = Options::fitting(capacity).read_only(given.is_read_only());
            options.durability = durability(given.durability)?;
            options.file_cache = ByteCount(given.file_cache);
            if given.live != 0 {
                options.live = Some(path.to_owned());
            }
            if given.counters != 0 {
                options = options.merge_operator(Counter);
            }
            if given.memory > 0 {
                options.memory = ByteCount(given.memory);
            }
            if given.memtable_size > 0 {
                options.memtable_size = Some(ByteCount(given.memtable_size));
            }
            Ok(options)
        };
        let db = if path.is_dir() {
            Db::open_directory(path, fitted(ByteCount(u64::MAX))?)?
        } else {
            let fs = given.mount(path)?;
            if fs.list().iter().any(|file| !file.names.is_empty()) {
                let path = path.display();
                return Err(Failure::invalid(format_args!(
                    "{path}: expected a key-value store, found a file system with files of names; \
                     open it by terrace_fs_open"
                )));
            }
            let options = fitted(fs.device_capacity())?;
            Db::open_fs(fs, options)?
        };
        let default = TerraceKeySpace(db.key_space("default")?);
        hand_over(out, TerraceStore { db, default });
        Ok(())
    })
}

/// Makes everything durable, closes the store and frees the handle, be it with an error. Cursors
/// and key spaces that are left return `TERRACE_CODE_CLOSED`, and are still to be freed. Null is
/// ignored.
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

/// Removes the value under a key; nothing happens if there is none.
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

/// Removes all keys from `start` to `end`, which is not one of them, by one write. An end that is
/// `terrace_none()` is open.
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

/// Says whether anything is under the keys from `start` to `end`, which is not one of them:
/// `*exists` is 1 or 0. An end that is `terrace_none()` is open. Mostly known without reading data.
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

/// Tells about how many bytes tables hold for the keys from `start` to `end`, which is not one of
/// them, as they are stored. An end that is `terrace_none()` is open. Entries that are only in
/// memory and log do not count.
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

/// Applies the writes of a batch together or not at all. The batch stays as it is.
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

/// Makes everything that was written so far durable.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_sync(store: Option<&TerraceStore>) -> TerraceCode {
    guard(|| Ok(given(store, "store")?.db.sync()?))
}

/// Writes everything that is only in memory and log into tables, and waits for it.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_flush(store: Option<&TerraceStore>) -> TerraceCode {
    guard(|| Ok(given(store, "store")?.db.flush()?))
}
