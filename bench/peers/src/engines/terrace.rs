//! Terrace, in a directory or in the image of an emulated drive.
//!
//! - `memory` is the budget of the whole store: 512 MiB, of which three memtables of 64 MiB and the
//!   log leave 236 MiB for blocks, indexes and filters. The others have 256 MiB for blocks
//!   alone, or for blocks, indexes and filters.
//! - A merge has two subcompactions at most, each in a thread. Flushes are in another thread.
//! - A block's checksum is verified when it is read from the medium.
//! - Settling also merges level 0 down, as the store does when writers rest.
//! - The image is a sparse file of 64 GiB in zones of 64 MiB. It is not synced to the host's disk.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use terrace::device::{Access, Device, Emulator, Geometry, Random};
use terrace::{Batch, Bounds, ByteCount, Compression, Db, Durability, FormatOptions, Options};

use super::{Engine, Log, Seen, locked};
use crate::generator::Key;

const ZONES: u32 = 1024;

fn options(log: Log) -> Options {
    let durability = match log {
        Log::Written => Durability::Written,
        Log::Gathered => Durability::Gathered,
    };
    Options::default()
        .durability(durability)
        .memtable_size(ByteCount::mib(64))
        .memory(ByteCount::mib(512))
        .compression(Compression::None)
        .filter_bits(10)
        .block_size(ByteCount::kib(4))
        .workers(2)
}

pub(super) fn open_directory(dir: &Path, log: Log) -> anyhow::Result<Box<dyn Engine>> {
    Ok(Box::new(Terrace(Db::open_directory(dir, options(log))?)))
}

pub(super) fn open_drive(dir: &Path, log: Log) -> anyhow::Result<Box<dyn Engine>> {
    let image = dir.join("drive.img");
    let is_new = !image.exists();
    let drive = if is_new {
        let geometry = Geometry::uniform(ByteCount::mib(64), ZONES);
        Emulator::create_image(&image, geometry, Random::seeded(1).uuid())
    } else {
        Emulator::open_image(&image, Access::ReadWrite)
    };
    let drive = drive.with_context(|| image.display().to_string())?.unsynced();
    let drive: Arc<dyn Device> = Arc::new(drive);
    let db = if is_new {
        Db::create_device(drive, &FormatOptions::default(), options(log))?
    } else {
        Db::open_device(drive, options(log))?
    };
    Ok(Box::new(Terrace(db)))
}

struct Terrace(Db);

impl Engine for Terrace {
    fn put(&self, key: &[u8], value: &[u8]) -> anyhow::Result<()> {
        Ok(self.0.put(key, value)?)
    }

    fn delete(&self, key: &[u8]) -> anyhow::Result<()> {
        Ok(self.0.delete(key)?)
    }

    fn write(&self, entries: &[(Key, Vec<u8>)]) -> anyhow::Result<()> {
        let mut batch = Batch::new();
        for (key, value) in entries {
            batch.put(key, value);
        }
        Ok(self.0.write(batch)?)
    }

    fn get(&self, key: &[u8], seen: Seen<'_>) -> anyhow::Result<()> {
        let value = self.0.get(key)?;
        seen(value.as_deref());
        Ok(())
    }

    fn multi_get(&self, keys: &[Key], seen: Seen<'_>) -> anyhow::Result<()> {
        for value in self.0.multi_get(keys)? {
            seen(value.as_deref());
        }
        Ok(())
    }

    fn scan(
        &self,
        from: &[u8],
        limit: u64,
        seen: &mut dyn FnMut(&[u8], &[u8]),
    ) -> anyhow::Result<u64> {
        let mut scan = self.0.scan(Bounds::from(from..))?;
        let mut count = 0;
        while count < limit && scan.advance()? {
            seen(scan.key(), scan.value_slice());
            count += 1;
        }
        Ok(count)
    }

    fn wait_idle(&self) -> anyhow::Result<()> {
        Ok(self.0.wait_idle()?)
    }

    fn version(&self) -> String {
        locked::version("terrace")
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.0.close()?)
    }
}
