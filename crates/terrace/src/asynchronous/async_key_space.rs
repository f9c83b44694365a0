//! [`AsyncKeySpace`]: reads and writes of one key space as futures.
//!
//! It is a handle like a [`KeySpace`], keeps the store open, and takes its options for reads and
//! its durability from the key space that it was made from. Any thread may use it.

use bytes::Bytes;
use terrace_lsm::{Batch, Bounds, Durability, Engine, Error as EngineError, Swap};

use super::AsyncScan;
use super::operation::Operation;
use super::waiting::{Get, Job, Sought, Write};
use crate::key_space::Handling;
use crate::live::Call;
use crate::{Error, KeySpace, Scan};

/// Reads and writes of a [`KeySpace`] as futures. Cheap to clone.
///
/// ```
/// # use std::sync::Arc;
/// # use terrace::{AsyncKeySpace, Db, MemoryStore, Options};
/// # fn main() -> Result<(), terrace::Error> {
/// # let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
/// let accounts = AsyncKeySpace::new(db.create_key_space("accounts")?);
/// futures_executor::block_on(async {
///     accounts.put(b"ada", b"90").await?;
///     assert_eq!(accounts.get(b"ada").await?.as_deref(), Some(&b"90"[..]));
///     Ok(())
/// })
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AsyncKeySpace(KeySpace);

impl AsyncKeySpace {
    /// Reads and writes with the options and the durability of `space`.
    #[must_use]
    pub fn new(space: KeySpace) -> Self {
        Self(space)
    }

    /// The key space.
    #[must_use]
    pub fn key_space(&self) -> &KeySpace {
        &self.0
    }

    /// See [`Db::get`](crate::Db::get).
    pub fn get(&self, key: &[u8]) -> Operation<Option<Bytes>> {
        Operation::new(&self.0, Some(Call::Get), |promise| self.seek(key, Sought::Value(promise)))
    }

    /// See [`Db::contains`](crate::Db::contains).
    pub fn contains(&self, key: &[u8]) -> Operation<bool> {
        Operation::new(&self.0, None, |promise| self.seek(key, Sought::Presence(promise)))
    }

    fn seek(&self, key: &[u8], sought: Sought) -> Job {
        let (space, reads) = (self.0.id, self.0.handling.reads);
        Job::Get(Get { space, key: key.into(), reads, sought })
    }

    /// See [`Db::multi_get`](crate::Db::multi_get).
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Operation<Vec<Option<Bytes>>> {
        let (space, reads) = (self.0.id, self.0.handling.reads);
        let keys: Vec<Box<[u8]>> = keys.iter().map(|key| key.as_ref().into()).collect();
        Operation::new(&self.0, None, |promise| {
            Job::Long(Box::new(move |engine| {
                let keys: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
                let answer = engine.multi_get(space, &keys, reads);
                Box::new(move || promise.keep(answer))
            }))
        })
    }

    /// See [`Db::scan`](crate::Db::scan). It shows the entries at this call.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<AsyncScan, Error> {
        Ok(self.walk(self.0.scan(bounds)?))
    }

    /// See [`AsyncDb::walk`](crate::AsyncDb::walk).
    #[must_use]
    pub fn walk(&self, scan: Scan) -> AsyncScan {
        AsyncScan::new(&self.0, scan)
    }

    /// See [`Db::put`](crate::Db::put).
    pub fn put(&self, key: &[u8], value: &[u8]) -> Operation<()> {
        let mut batch = self.0.inner.engine.batch_for(key.len() + value.len());
        batch.put(self.0.id, key, value);
        self.write(batch, self.0.handling.durability)
    }

    /// See [`Db::delete`](crate::Db::delete).
    pub fn delete(&self, key: &[u8]) -> Operation<()> {
        let mut batch = Batch::new();
        batch.delete(self.0.id, key);
        self.write(batch, self.0.handling.durability)
    }

    /// See [`Db::delete_range`](crate::Db::delete_range).
    pub fn delete_range(&self, bounds: impl Into<Bounds>) -> Operation<()> {
        let mut batch = Batch::new();
        batch.delete_range(self.0.id, &bounds.into());
        self.write(batch, self.0.handling.durability)
    }

    /// See [`Db::compare_and_swap`](crate::Db::compare_and_swap).
    pub fn compare_and_swap(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Operation<Swap> {
        self.swap(key, expected, new, |swap| swap)
    }

    /// See [`Db::put_if`](crate::Db::put_if).
    pub fn put_if(&self, key: &[u8], expected: Option<&[u8]>, value: &[u8]) -> Operation<bool> {
        self.swap(key, expected, Some(value), |swap| swap.is_swapped())
    }

    /// See [`Db::delete_if`](crate::Db::delete_if).
    pub fn delete_if(&self, key: &[u8], expected: &[u8]) -> Operation<bool> {
        self.swap(key, Some(expected), None, |swap| swap.is_swapped())
    }

    fn swap<T: Send + 'static>(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        answer: fn(Swap) -> T,
    ) -> Operation<T> {
        let (space, Handling { reads, durability, .. }) = (self.0.id, self.0.handling);
        let (key, expected) = (Box::<[u8]>::from(key), expected.map(Box::<[u8]>::from));
        let new = new.map(Box::<[u8]>::from);
        self.call(move |engine| {
            let (place, expected, new) = ((space, &*key), expected.as_deref(), new.as_deref());
            engine.compare_and_swap(place, expected, new, reads, durability).map(answer)
        })
    }

    /// A call of the engine that is neither a read nor a write of a batch.
    pub(super) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, EngineError> + Send + 'static,
    ) -> Operation<T> {
        Operation::new(&self.0, None, |promise| {
            Job::Call(Box::new(move |engine| {
                let answer = work(engine);
                Box::new(move || promise.keep(answer))
            }))
        })
    }

    pub(super) fn write(&self, batch: Batch, durability: Durability) -> Operation<()> {
        Operation::new(&self.0, Some(Call::Write), |promise| {
            Job::Write(Write { batch, durability, syncs: false, promise })
        })
    }

    pub(super) fn sync(&self) -> Operation<()> {
        let (batch, durability) = (Batch::new(), Durability::Synced);
        Operation::new(&self.0, None, |promise| {
            Job::Write(Write { batch, durability, syncs: true, promise })
        })
    }

    pub(super) fn refused<T>(&self, error: Error) -> Operation<T> {
        Operation::refused(&self.0, error)
    }
}
