//! RocksDB, through the C interface of its shared library.
//!
//! - Options that are not named are RocksDB's own: levelled compaction, 256 MiB in level 1, two
//!   background jobs. Three memtables at most, one of which is written.
//! - A value is read pinned, without a copy. Several are read by `rocksdb_batched_multi_get_cf`,
//!   or by a loop where the library is older than that call.
//! - Gathered is `manual_wal_flush`: the log is written when its buffer is full, or at the end.
//! - It tells the jobs that run and those that are due.

use std::ffi::{CStr, c_char, c_int, c_uchar};
use std::path::Path;
use std::time::Duration;

use super::c_api::{CLibrary, CStore, Failure, Handle};
use super::{Engine, Log, Seen};
use crate::generator::Key;
use crate::measure;

fn load(library: &Path) -> anyhow::Result<CLibrary> {
    CLibrary::load(library, "rocksdb", "RocksDB", "librocksdb-dev")
}

pub(super) fn probe(library: &Path) -> anyhow::Result<()> {
    load(library).map(|_| ())
}

pub(super) fn open(dir: &Path, log: Log, library: &Path) -> anyhow::Result<Box<dyn Engine>> {
    let library = load(library)?;
    let options = options(&library, log)?;
    let reading = library.create("readoptions")?;
    let store = CStore::open(&library, dir, options, reading)?;
    // SAFETY: the types are those of the header. Reads verify checksums unless told otherwise.
    unsafe {
        Ok(Box::new(RocksDb {
            get_pinned: library.call("get_pinned")?,
            pinned_value: library.call("pinnableslice_value")?,
            pinned_destroy: library.call("pinnableslice_destroy")?,
            several: Several::of(&library, &store),
            version: version(dir),
            store,
        }))
    }
}

fn options(library: &CLibrary, log: Log) -> anyhow::Result<Handle> {
    let options = library.create("options")?;
    let blocks = library.create("block_based_options")?;
    // SAFETY: the types are those of the header, and the handles are of this library.
    unsafe {
        let bytes = |name: &str, of: Handle, value: usize| -> anyhow::Result<()> {
            let set: unsafe extern "C" fn(Handle, usize) = library.call(name)?;
            set(of, value);
            Ok(())
        };
        let number = |name: &str, value: c_int| -> anyhow::Result<()> {
            let set: unsafe extern "C" fn(Handle, c_int) = library.call(name)?;
            set(options, value);
            Ok(())
        };
        let flag = |name: &str, value: bool| -> anyhow::Result<()> {
            let set: unsafe extern "C" fn(Handle, c_uchar) = library.call(name)?;
            set(options, value.into());
            Ok(())
        };
        let handle = |name: &str, of: Handle, value: Handle| -> anyhow::Result<()> {
            let set: unsafe extern "C" fn(Handle, Handle) = library.call(name)?;
            set(of, value);
            Ok(())
        };
        let cache: unsafe extern "C" fn(usize) -> Handle = library.call("cache_create_lru")?;
        let filter: unsafe extern "C" fn(f64) -> Handle =
            library.call("filterpolicy_create_bloom_full")?;
        bytes("block_based_options_set_block_size", blocks, 4096)?;
        handle("block_based_options_set_block_cache", blocks, cache(256 << 20))?;
        handle("block_based_options_set_filter_policy", blocks, filter(10.0))?;
        handle("options_set_block_based_table_factory", options, blocks)?;
        flag("options_set_create_if_missing", true)?;
        bytes("options_set_write_buffer_size", options, 64 << 20)?;
        number("options_set_max_write_buffer_number", 3)?;
        number("options_set_compression", 0)?;
        number("options_set_max_background_jobs", 2)?;
        flag("options_set_manual_wal_flush", log == Log::Gathered)?;
    }
    Ok(options)
}

/// The version, which the C interface does not tell, from the first lines of the store's log.
fn version(dir: &Path) -> String {
    let text = std::fs::read(dir.join("LOG")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find_map(|line| line.split_once("RocksDB version: "));
    line.map_or_else(String::new, |(_, version)| version.trim().to_owned())
}

type GetPinned = unsafe extern "C" fn(Handle, Handle, *const c_char, usize, Failure) -> Handle;
type MultiGet = unsafe extern "C" fn(
    Handle,
    Handle,
    Handle,
    usize,
    *const *const c_char,
    *const usize,
    *mut Handle,
    *mut *mut c_char,
    bool,
);

/// Reads of several keys in one call.
struct Several {
    /// The default column family.
    family: Handle,
    multi_get: MultiGet,
}

impl Several {
    /// `None` for a library that is too old: 7.8 hands out no default column family.
    fn of(library: &CLibrary, store: &CStore) -> Option<Self> {
        type Family = unsafe extern "C" fn(Handle) -> Handle;
        // SAFETY: the types are those of the header.
        unsafe {
            let family: Family = library.call("get_default_column_family_handle").ok()?;
            let multi_get = library.call("batched_multi_get_cf").ok()?;
            Some(Self { family: family(store.handle()), multi_get })
        }
    }
}

struct RocksDb {
    store: CStore,
    get_pinned: GetPinned,
    several: Option<Several>,
    pinned_value: unsafe extern "C" fn(Handle, *mut usize) -> *const c_char,
    pinned_destroy: unsafe extern "C" fn(Handle),
    version: String,
}

// SAFETY: the handle of the default column family is constant, and all threads may use it.
unsafe impl Send for RocksDb {}
// SAFETY: as above.
unsafe impl Sync for RocksDb {}

impl RocksDb {
    /// Shows a pinned value, or none if it is null, and releases it.
    ///
    /// # Safety
    /// The handle is null or that of a pinned value, which nothing else releases.
    unsafe fn show(&self, value: Handle, seen: Seen<'_>) {
        if value.is_null() {
            return seen(None);
        }
        let mut size = 0;
        // SAFETY: the bytes are pinned until the value is destroyed.
        unsafe {
            let start = (self.pinned_value)(value, &raw mut size);
            seen(Some(std::slice::from_raw_parts(start.cast(), size)));
            (self.pinned_destroy)(value);
        }
    }

    fn is_busy(&self) -> anyhow::Result<bool> {
        const JOBS: [&CStr; 4] = [
            c"rocksdb.num-running-flushes",
            c"rocksdb.num-running-compactions",
            c"rocksdb.mem-table-flush-pending",
            c"rocksdb.compaction-pending",
        ];
        for job in JOBS {
            if self.store.property(job)? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Engine for RocksDb {
    fn put(&self, key: &[u8], value: &[u8]) -> anyhow::Result<()> {
        self.store.put(key, value)
    }

    fn delete(&self, key: &[u8]) -> anyhow::Result<()> {
        self.store.delete(key)
    }

    fn write(&self, entries: &[(Key, Vec<u8>)]) -> anyhow::Result<()> {
        self.store.write(entries)
    }

    fn get(&self, key: &[u8], seen: Seen<'_>) -> anyhow::Result<()> {
        let (handle, reading) = (self.store.handle(), self.store.reading());
        // SAFETY: the handles are of this store; the value is shown and released once.
        unsafe {
            let value = self.store.check(|failure| {
                (self.get_pinned)(handle, reading, key.as_ptr().cast(), key.len(), failure)
            })?;
            self.show(value, seen);
        }
        Ok(())
    }

    fn multi_get(&self, keys: &[Key], seen: Seen<'_>) -> anyhow::Result<()> {
        let Some(Several { family, multi_get }) = &self.several else {
            return keys.iter().try_for_each(|key| self.get(key, seen));
        };
        let starts: Vec<*const c_char> = keys.iter().map(|key| key.as_ptr().cast()).collect();
        let sizes = vec![size_of::<Key>(); keys.len()];
        let mut values = vec![std::ptr::null_mut(); keys.len()];
        let mut failures = vec![std::ptr::null_mut(); keys.len()];
        let (handle, reading) = (self.store.handle(), self.store.reading());
        // SAFETY: each list has an element for each key.
        unsafe {
            let (starts, sizes, count) = (starts.as_ptr(), sizes.as_ptr(), keys.len());
            let (found, failed) = (values.as_mut_ptr(), failures.as_mut_ptr());
            multi_get(handle, reading, *family, count, starts, sizes, found, failed, false);
        }
        for (value, failure) in values.into_iter().zip(failures) {
            // SAFETY: the library has left null or a value, and null or an error, for each key.
            unsafe {
                self.store.failed(failure)?;
                self.show(value, seen);
            }
        }
        Ok(())
    }

    fn scan(
        &self,
        from: &[u8],
        limit: u64,
        seen: &mut dyn FnMut(&[u8], &[u8]),
    ) -> anyhow::Result<u64> {
        self.store.scan(from, limit, seen)
    }

    fn wait_idle(&self) -> anyhow::Result<()> {
        measure::watching(|| {
            loop {
                while self.is_busy()? {
                    std::thread::sleep(Duration::from_millis(20));
                }
                measure::wait_quiet()?;
                if !self.is_busy()? {
                    return Ok(());
                }
            }
        })
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
