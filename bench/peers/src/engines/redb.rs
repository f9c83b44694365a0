//! redb: a copy-on-write B-tree without a log. Each write, or batch, is a transaction of its own.
//!
//! A transaction that is not durable is lost with the process, and its pages are free again only
//! after a durable one. So every 10,000th write is durable. This guarantees less than a written
//! log, and is compared with gathered ones. The cache is for all pages, 256 MiB, and 192 MiB for
//! those that the others have in memtables. There is no compression, no filter, no thread in the
//! background; checksums are verified only after a crash.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::{Database, Durability, ReadableDatabase as _, TableDefinition, WriteTransaction};

use super::{Engine, Seen, locked};
use crate::generator::Key;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("default");
/// Every write of this number is durable.
const DURABLE: u64 = 10_000;

pub(super) fn open(dir: &Path) -> anyhow::Result<Box<dyn Engine>> {
    let database =
        Database::builder().set_cache_size((256 + 192) << 20).create(dir.join("data.redb"))?;
    let begin = database.begin_write()?;
    begin.open_table(TABLE)?;
    begin.commit()?;
    Ok(Box::new(Redb { database, writes: AtomicU64::new(0) }))
}

struct Redb {
    database: Database,
    writes: AtomicU64,
}

impl Redb {
    /// A transaction of a number of writes.
    fn begin(&self, writes: u64) -> anyhow::Result<WriteTransaction> {
        let before = self.writes.fetch_add(writes, Ordering::Relaxed);
        let is_durable = before / DURABLE != (before + writes) / DURABLE;
        let mut transaction = self.database.begin_write()?;
        if !is_durable {
            transaction.set_durability(Durability::None)?;
        }
        Ok(transaction)
    }
}

impl Engine for Redb {
    fn put(&self, key: &[u8], value: &[u8]) -> anyhow::Result<()> {
        let transaction = self.begin(1)?;
        transaction.open_table(TABLE)?.insert(key, value)?;
        Ok(transaction.commit()?)
    }

    fn delete(&self, key: &[u8]) -> anyhow::Result<()> {
        let transaction = self.begin(1)?;
        transaction.open_table(TABLE)?.remove(key)?;
        Ok(transaction.commit()?)
    }

    fn write(&self, entries: &[(Key, Vec<u8>)]) -> anyhow::Result<()> {
        let transaction = self.begin(entries.len() as u64)?;
        let mut table = transaction.open_table(TABLE)?;
        for (key, value) in entries {
            table.insert(&key[..], &value[..])?;
        }
        drop(table);
        Ok(transaction.commit()?)
    }

    fn get(&self, key: &[u8], seen: Seen<'_>) -> anyhow::Result<()> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let value = table.get(key)?;
        seen(value.as_ref().map(|value| value.value()));
        Ok(())
    }

    fn multi_get(&self, keys: &[Key], seen: Seen<'_>) -> anyhow::Result<()> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        for key in keys {
            let value = table.get(&key[..])?;
            seen(value.as_ref().map(|value| value.value()));
        }
        Ok(())
    }

    fn scan(
        &self,
        from: &[u8],
        limit: u64,
        seen: &mut dyn FnMut(&[u8], &[u8]),
    ) -> anyhow::Result<u64> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let mut count = 0;
        for entry in table.range(from..)?.take(limit as usize) {
            let (key, value) = entry?;
            seen(key.value(), value.value());
            count += 1;
        }
        Ok(count)
    }

    /// Makes all writes durable: there is no other work to wait for.
    fn wait_idle(&self) -> anyhow::Result<()> {
        Ok(self.database.begin_write()?.commit()?)
    }

    fn version(&self) -> String {
        locked::version("redb")
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
