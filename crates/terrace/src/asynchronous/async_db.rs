//! [`AsyncDb`]: reads and writes of a store as futures.
//!
//! It is a handle like a [`Db`]: it keeps the store open, and takes its options for reads and its
//! durability from the `Db` that it was made from. Any thread may use it; no call waits.

use bytes::Bytes;
use terrace_lsm::{Bounds, Durability};

use super::operation::Operation;
use super::{AsyncKeySpace, AsyncScan};
use crate::{Batch, Db, Error, Scan};

/// Reads and writes of a [`Db`] as futures, for any runtime. Cheap to clone.
///
/// Actors of the store do the operations: two for reads, one for writes. Gets that wait are read
/// together, as by [`multi_get`](Db::multi_get), and writes that wait share the wait for the
/// medium. A batch is applied as a whole, and its future ends when it has its own durability, as a
/// call of [`Db::write`] does.
///
/// - Futures that are awaited one after the other take effect in that order. Of others, any may be
///   first.
/// - An operation whose future is dropped is not done, unless it has begun. So what waits is as
///   much as the futures that exist.
/// - A close of the store gives waiting futures an error of the kind
///   [`Closed`](crate::ErrorKind::Closed).
///
/// Calls that are not here, such as flushes, transactions and [`Db::close`], wait: a runtime calls
/// them where it may wait, by [`db`](Self::db). The futures keep the store open.
///
/// ```
/// # use std::sync::Arc;
/// # use terrace::{AsyncDb, Db, MemoryStore, Options};
/// # fn main() -> Result<(), terrace::Error> {
/// let db = AsyncDb::new(Db::open(Arc::new(MemoryStore::new()), Options::default())?);
/// futures_executor::block_on(async {
///     db.put(b"apple", b"red").await?;
///     assert_eq!(db.get(b"apple").await?.as_deref(), Some(&b"red"[..]));
///     let mut scan = db.scan(..)?;
///     while let Some((key, value)) = scan.next().await? {
///         println!("{key:?} is {value:?}");
///     }
///     Ok(())
/// })
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AsyncDb {
    db: Db,
    default: AsyncKeySpace,
}

impl AsyncDb {
    /// Reads and writes with the options and the durability of `db`.
    #[must_use]
    pub fn new(db: Db) -> Self {
        let default = AsyncKeySpace::new(db.default.clone());
        Self { db, default }
    }

    /// The store.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// See [`Db::get`].
    pub fn get(&self, key: &[u8]) -> Operation<Option<Bytes>> {
        self.default.get(key)
    }

    /// See [`Db::contains`].
    pub fn contains(&self, key: &[u8]) -> Operation<bool> {
        self.default.contains(key)
    }

    /// See [`Db::multi_get`]: all keys at one moment.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Operation<Vec<Option<Bytes>>> {
        self.default.multi_get(keys)
    }

    /// See [`Db::scan`]. It shows the entries at this call, and reads them page by page as they
    /// are asked for.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<AsyncScan, Error> {
        self.default.scan(bounds)
    }

    /// The remaining entries of a scan, read page by page: of a snapshot, for example.
    #[must_use]
    pub fn walk(&self, scan: Scan) -> AsyncScan {
        self.default.walk(scan)
    }

    /// See [`Db::put`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Operation<()> {
        self.default.put(key, value)
    }

    /// See [`Db::delete`].
    pub fn delete(&self, key: &[u8]) -> Operation<()> {
        self.default.delete(key)
    }

    /// See [`Db::delete_range`].
    pub fn delete_range(&self, bounds: impl Into<Bounds>) -> Operation<()> {
        self.default.delete_range(bounds)
    }

    /// See [`Db::write`].
    pub fn write(&self, batch: Batch) -> Operation<()> {
        self.write_with(batch, self.db.durability())
    }

    /// See [`Db::write_with`].
    pub fn write_with(&self, batch: Batch, durability: Durability) -> Operation<()> {
        match batch.of(self.db.inner.identity) {
            Ok(batch) => self.default.write(batch, durability),
            Err(error) => self.default.refused(error),
        }
    }

    /// See [`Db::sync`]: makes the writes durable whose futures have ended.
    pub fn sync(&self) -> Operation<()> {
        self.default.sync()
    }
}
