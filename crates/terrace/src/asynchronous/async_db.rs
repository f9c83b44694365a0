//! [`AsyncDb`]: calls of a store as futures.
//!
//! It is a handle like a [`Db`]: it keeps the store open, and takes its options for reads and its
//! durability from the `Db` that it was made from. Any thread may use it; no call waits.

use std::future::Future;
use std::panic::{self, AssertUnwindSafe};

use bytes::Bytes;
use terrace_lsm::{Bounds, Durability, Engine, Swap};

use super::operation::Operation;
use super::{AsyncKeySpace, AsyncScan};
use crate::{Batch, Db, Error, Scan, Transaction};

/// Calls of a [`Db`] as futures, for any runtime. Cheap to clone.
///
/// Actors of the store do the operations: two for reads, one for writes, four for other calls, such
/// as flushes, conditional writes and transactions. Gets that wait are read
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
/// Calls that are not here, such as checkpoints, are made by [`call`](Self::call). The futures keep
/// the store open.
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

    /// See [`Db::compare_and_swap`].
    pub fn compare_and_swap(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Operation<Swap> {
        self.default.compare_and_swap(key, expected, new)
    }

    /// See [`Db::put_if`].
    pub fn put_if(&self, key: &[u8], expected: Option<&[u8]>, value: &[u8]) -> Operation<bool> {
        self.default.put_if(key, expected, value)
    }

    /// See [`Db::delete_if`].
    pub fn delete_if(&self, key: &[u8], expected: &[u8]) -> Operation<bool> {
        self.default.delete_if(key, expected)
    }

    /// See [`Db::flush`].
    pub fn flush(&self) -> Operation<()> {
        self.default.call(Engine::flush)
    }

    /// See [`Db::transact`]. The attempt runs in an actor of the store, with calls that wait.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{AsyncDb, Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// # let db = AsyncDb::new(Db::open(Arc::new(MemoryStore::new()), Options::default())?);
    /// # futures_executor::block_on(async {
    /// db.put(b"waiting/7", b"a job").await?;
    /// let taken = db.transact(|transaction| {
    ///     let Some(job) = transaction.get(b"waiting/7")? else { return Ok(false) };
    ///     transaction.delete(b"waiting/7")?;
    ///     transaction.put(b"running/7", &job)?;
    ///     Ok(true)
    /// });
    /// assert!(taken.await? && db.contains(b"running/7").await?);
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn transact<T: Send + 'static>(
        &self,
        attempt: impl FnMut(&Transaction) -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send + 'static {
        self.call(move |db| db.transact(attempt))
    }

    /// Commits a [`Transaction`], which was begun by [`Db::transaction`], with its own durability.
    pub fn commit(
        &self,
        transaction: Transaction,
    ) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        self.call(move |_| transaction.commit())
    }

    /// Makes any calls of the store in one of its actors, of which four do such work. They may
    /// wait. Work whose future is dropped before the actor begins it is not done.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{AsyncDb, Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// # let db = AsyncDb::new(Db::open(Arc::new(MemoryStore::new()), Options::default())?);
    /// # futures_executor::block_on(async {
    /// let accounts = db.call(|db| db.create_key_space("accounts")).await?;
    /// # assert_eq!(accounts.name(), "accounts");
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    ///
    /// # Panics
    /// The future panics if `work` does, with the same payload.
    pub fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db) -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send + 'static {
        let db = self.db.clone();
        let called =
            self.default.call(move |_| Ok(panic::catch_unwind(AssertUnwindSafe(|| work(&db)))));
        async move {
            match called.await? {
                Ok(answer) => answer,
                Err(payload) => panic::resume_unwind(payload),
            }
        }
    }
}
