//! [`KeySpace`]: a separate ordered map within a store.
//!
//! - A handle belongs to one opening of one store. Snapshots and ingests of another opening refuse
//!   it, and a batch that writes by it cannot be written to another opening. It keeps the store
//!   open like a [`Db`](crate::Db).
//! - Once the key space is dropped, reads and writes by the handle are errors. Open scans and
//!   cursors go on.
//!
//! Clones are the same key space, and any thread may use them.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::ByteCount;
use terrace_lsm::{Batch, Bounds, Durability, KeySpaceId, KeySpaceOptions, ReadOptions};

use crate::db::Inner;
use crate::live::Call;
use crate::{Cursor, Error, Salvage, Scan};

/// A key space: a separate ordered map within a store. Cheap to clone. It belongs to one opening of
/// one store; others refuse it with [`ErrorKind::OtherStore`](crate::ErrorKind::OtherStore).
///
/// Batches, snapshots and ingests have a method `key_space` for a key space. Reads find nothing
/// under a key that is longer than [`KEY_BYTES_MAX`](crate::KEY_BYTES_MAX), because no such key can
/// be written.
#[derive(Clone, Debug)]
pub struct KeySpace {
    pub(crate) inner: Arc<Inner>,
    pub(crate) id: KeySpaceId,
    pub(crate) name: Arc<str>,
    pub(crate) handling: Handling,
}

/// Options of a handle for reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handling {
    pub(crate) reads: ReadOptions,
    pub(crate) durability: Durability,
}

impl KeySpace {
    /// Name of the key space.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its id, which is never used for another key space of the store.
    #[must_use]
    pub fn id(&self) -> KeySpaceId {
        self.id
    }

    /// The options that it has of its own, as the store remembers them; `None`: not stated, so that
    /// the store's option counts, or the default.
    #[must_use]
    pub fn options(&self) -> KeySpaceOptions {
        self.inner.engine.key_space_options(self.id)
    }

    /// Changes the options of the key space: those that are stated. New tables, and writes that
    /// begin afterwards, go by them, also after the store was opened again. Tables that are there
    /// keep their form until they are merged, and entries their expiry. The change is durable when
    /// this returns.
    pub fn set_options(&self, options: KeySpaceOptions) -> Result<(), Error> {
        let set = self.inner.engine.set_key_space_options(self.id, options);
        set.map_err(|error| self.explain(error))
    }

    /// The same key space, read with these options by the handle that is returned; see
    /// [`Db::with_read_options`](crate::Db::with_read_options).
    #[must_use]
    pub fn with_read_options(&self, options: ReadOptions) -> Self {
        let handling = Handling { reads: options, ..self.handling };
        Self { handling, ..self.clone() }
    }

    /// The same key space: the returned handle writes with this durability; see
    /// [`Db::with_durability`](crate::Db::with_durability).
    #[must_use]
    pub fn with_durability(&self, durability: Durability) -> Self {
        let handling = Handling { durability, ..self.handling };
        Self { handling, ..self.clone() }
    }

    /// Writes `value` under `key`.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let mut batch = self.inner.engine.batch_for(key.len() + value.len());
        batch.put(self.id, key, value);
        self.write(batch)
    }

    /// Removes `key`; no effect if it has no value.
    pub fn delete(&self, key: &[u8]) -> Result<(), Error> {
        let mut batch = Batch::new();
        batch.delete(self.id, key);
        self.write(batch)
    }

    /// Removes all keys of the range, by one write; see [`Db::delete_range`](crate::Db).
    pub fn delete_range(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        let mut batch = Batch::new();
        batch.delete_range(self.id, &bounds.into());
        self.write(batch)
    }

    /// The value under `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        let get = || self.inner.engine.get_with(self.id, key, self.handling.reads);
        self.inner.measured(Call::Get, get).map_err(|error| self.explain(error))
    }

    /// Whether there is a value under `key`.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        let found = self.inner.engine.contains(self.id, key, self.handling.reads);
        found.map_err(|error| self.explain(error))
    }

    /// The values under several keys at one moment; see [`Db::multi_get`](crate::Db::multi_get).
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Bytes>>, Error> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let found = self.inner.engine.multi_get(self.id, &keys, self.handling.reads);
        found.map_err(|error| self.explain(error))
    }

    /// See [`Db::is_empty`](crate::Db::is_empty).
    pub fn is_empty(&self, bounds: impl Into<Bounds>) -> Result<bool, Error> {
        let found = self.inner.engine.is_empty(self.id, &bounds.into());
        found.map_err(|error| self.explain(error))
    }

    /// See [`Db::size_of`](crate::Db::size_of).
    pub fn size_of(&self, bounds: impl Into<Bounds>) -> Result<ByteCount, Error> {
        let size = self.inner.engine.size_of(self.id, &bounds.into());
        size.map_err(|error| self.explain(error))
    }

    /// See [`Db::salvage`](crate::Db::salvage).
    pub fn salvage(&self, bounds: impl Into<Bounds>) -> Result<Salvage, Error> {
        let salvage = self.inner.engine.salvage(self.id, &bounds.into());
        salvage.map(Salvage).map_err(|error| self.explain(error))
    }

    /// The keys and values in the range, in order, as they are now.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        let scan = self.inner.engine.scan(self.id, &bounds.into());
        scan.map(Scan).map_err(|error| self.explain(error))
    }

    /// Walks the keys in the range in both directions, as they are now.
    pub fn cursor(&self, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        let cursor = self.inner.engine.cursor(self.id, &bounds.into());
        cursor.map(Cursor).map_err(|error| self.explain(error))
    }

    /// Merges the range until no key is in several runs, and waits for it.
    pub fn compact(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        let compacted = self.inner.engine.compact(self.id, &bounds.into());
        compacted.map_err(|error| self.explain(error))
    }

    pub(crate) fn write(&self, batch: Batch) -> Result<(), Error> {
        let write = || self.inner.engine.write(batch, self.handling.durability);
        self.inner.measured(Call::Write, write).map_err(|error| self.explain(error))
    }

    /// The error for a caller; the engine knows key spaces only by number.
    pub(crate) fn explain(&self, error: terrace_lsm::Error) -> Error {
        match error {
            terrace_lsm::Error::UnknownKeySpace(id) if id == self.id => {
                Error::dropped_key_space(&self.name)
            }
            other => other.into(),
        }
    }
}
