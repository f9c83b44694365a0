//! LevelDB, through the C interface of its shared library.
//!
//! - It has one thread in the background, one memtable that may wait, and tables of 2 MiB, its
//!   default. Its cache holds only blocks that it does not read from mapped memory; it maps up to
//!   1,000 tables.
//! - As it comes, reads verify no checksums. Here they do, at each read of a block, unless the
//!   engine is the unchecked one.
//! - Its C interface copies a value that is read, and reads several by a loop.
//! - It does not tell whether work is due, so settling waits until its thread sleeps.

use std::ffi::{c_int, c_uchar};
use std::path::Path;

use super::c_api::{CLibrary, CStore, Handle};
use super::{Engine, Seen};
use crate::generator::Key;
use crate::measure;

fn load(library: &Path) -> anyhow::Result<CLibrary> {
    CLibrary::load(library, "leveldb", "LevelDB", "libleveldb-dev")
}

pub(super) fn probe(library: &Path) -> anyhow::Result<()> {
    load(library).map(|_| ())
}

pub(super) fn open(dir: &Path, verify: bool, library: &Path) -> anyhow::Result<Box<dyn Engine>> {
    let library = load(library)?;
    let options = library.create("options")?;
    let reading = library.create("readoptions")?;
    // SAFETY: the types are those of the header, and the handles are of this library.
    let version = unsafe {
        let flag = |name: &str, of: Handle, value: bool| -> anyhow::Result<()> {
            let set: unsafe extern "C" fn(Handle, c_uchar) = library.call(name)?;
            set(of, value.into());
            Ok(())
        };
        let bytes = |name: &str, value: usize| -> anyhow::Result<()> {
            let set: unsafe extern "C" fn(Handle, usize) = library.call(name)?;
            set(options, value);
            Ok(())
        };
        let handle = |name: &str, value: Handle| -> anyhow::Result<()> {
            let set: unsafe extern "C" fn(Handle, Handle) = library.call(name)?;
            set(options, value);
            Ok(())
        };
        let compression: unsafe extern "C" fn(Handle, c_int) =
            library.call("options_set_compression")?;
        let cache: unsafe extern "C" fn(usize) -> Handle = library.call("cache_create_lru")?;
        let filter: unsafe extern "C" fn(c_int) -> Handle =
            library.call("filterpolicy_create_bloom")?;
        flag("options_set_create_if_missing", options, true)?;
        bytes("options_set_write_buffer_size", 64 << 20)?;
        bytes("options_set_block_size", 4096)?;
        handle("options_set_cache", cache(256 << 20))?;
        handle("options_set_filter_policy", filter(10))?;
        compression(options, 0);
        flag("readoptions_set_verify_checksums", reading, verify)?;
        let part = |name| -> anyhow::Result<c_int> {
            Ok(library.call::<unsafe extern "C" fn() -> c_int>(name)?())
        };
        format!("{}.{}", part("major_version")?, part("minor_version")?)
    };
    Ok(Box::new(LevelDb { store: CStore::open(&library, dir, options, reading)?, version }))
}

struct LevelDb {
    store: CStore,
    version: String,
}

impl Engine for LevelDb {
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
        self.store.get(key, seen)
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
        measure::watching(measure::wait_quiet)
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
