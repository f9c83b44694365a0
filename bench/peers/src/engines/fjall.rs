//! fjall 3. It has a journal for the whole database, flushed to the operating system with each
//! write unless `manual_journal_persist` is set. Its memtables are sealed at 64 MiB; how many may
//! wait is its own matter. Its cache is for blocks, indexes and filters. Built without LZ4.
//!
//! It tells flushes and compactions that run, and none that are about to; so settling also waits
//! until its threads sleep.

use std::path::Path;
use std::time::Duration;

use fjall::config::{BloomConstructionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{Database, Keyspace, KeyspaceCreateOptions};

use super::{Engine, Log, Seen, locked};
use crate::generator::Key;
use crate::measure;

pub(super) fn open(dir: &Path, log: Log) -> anyhow::Result<Box<dyn Engine>> {
    let gathered = log == Log::Gathered;
    let database = Database::builder(dir)
        .cache_size(256 << 20)
        .worker_threads(2)
        .manual_journal_persist(gathered)
        .open()?;
    let filter = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
    let keyspace = database.keyspace("default", || {
        KeyspaceCreateOptions::default()
            .max_memtable_size(64 << 20)
            .filter_policy(FilterPolicy::all(filter))
            .manual_journal_persist(gathered)
    })?;
    Ok(Box::new(Fjall { database, keyspace }))
}

struct Fjall {
    database: Database,
    keyspace: Keyspace,
}

impl Engine for Fjall {
    fn put(&self, key: &[u8], value: &[u8]) -> anyhow::Result<()> {
        Ok(self.keyspace.insert(key, value)?)
    }

    fn delete(&self, key: &[u8]) -> anyhow::Result<()> {
        Ok(self.keyspace.remove(key)?)
    }

    fn write(&self, entries: &[(Key, Vec<u8>)]) -> anyhow::Result<()> {
        let mut batch = self.database.batch();
        for (key, value) in entries {
            batch.insert(&self.keyspace, &key[..], &value[..]);
        }
        Ok(batch.commit()?)
    }

    fn get(&self, key: &[u8], seen: Seen<'_>) -> anyhow::Result<()> {
        let value = self.keyspace.get(key)?;
        seen(value.as_deref());
        Ok(())
    }

    fn scan(
        &self,
        from: &[u8],
        limit: u64,
        seen: &mut dyn FnMut(&[u8], &[u8]),
    ) -> anyhow::Result<u64> {
        let mut count = 0;
        for guard in self.keyspace.range(from..).take(limit as usize) {
            let (key, value) = guard.into_inner()?;
            seen(&key, &value);
            count += 1;
        }
        Ok(count)
    }

    fn wait_idle(&self) -> anyhow::Result<()> {
        let is_busy =
            || self.database.outstanding_flushes() + self.database.active_compactions() > 0;
        measure::watching(|| {
            loop {
                while is_busy() {
                    std::thread::sleep(Duration::from_millis(20));
                }
                measure::wait_quiet()?;
                if !is_busy() {
                    return Ok(());
                }
            }
        })
    }

    fn version(&self) -> String {
        locked::version("fjall")
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
