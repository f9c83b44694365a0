//! A key space: an ordered map of its own within a store.

use std::sync::Arc;

use bytes::Bytes;
use terrace_lsm::{Batch, Bounds, KeySpaceId};

use crate::db::Inner;
use crate::{Cursor, Error, Salvage, Scan};

/// A key space: an ordered map of its own within a store. Cheap to clone. It is of one opening of
/// one store; others refuse it with
/// [`ErrorKind::OtherStore`](crate::ErrorKind::OtherStore).
#[derive(Clone, Debug)]
pub struct KeySpace {
    pub(crate) inner: Arc<Inner>,
    pub(crate) id: KeySpaceId,
    pub(crate) name: Arc<str>,
}

impl KeySpace {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its id, which is never used for another key space of the store.
    #[must_use]
    pub fn id(&self) -> KeySpaceId {
        self.id
    }

    /// Writes `value` under `key`.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let mut batch = Batch::new();
        batch.put(self.id, key, value);
        self.write(batch)
    }

    /// Removes what is under `key`; nothing happens if nothing is.
    pub fn delete(&self, key: &[u8]) -> Result<(), Error> {
        let mut batch = Batch::new();
        batch.delete(self.id, key);
        self.write(batch)
    }

    /// Removes everything in the range, by one write; see [`Db::delete_range`](crate::Db).
    pub fn delete_range(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        let mut batch = Batch::new();
        batch.delete_range(self.id, &bounds.into());
        self.write(batch)
    }

    /// The value under `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.inner.engine.get(self.id, key).map_err(|error| self.explain(error))
    }

    /// As [`Db::salvage`](crate::Db::salvage).
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

    /// Merges what is in the range until it is in one run, and waits for it.
    pub fn compact(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        Ok(self.inner.engine.compact(self.id, &bounds.into())?)
    }

    fn write(&self, batch: Batch) -> Result<(), Error> {
        let durability = self.inner.durability;
        self.inner.engine.write(batch, durability).map_err(|error| self.explain(error))
    }

    /// The error of the engine, which knows key spaces by number.
    pub(crate) fn explain(&self, error: terrace_lsm::Error) -> Error {
        match error {
            terrace_lsm::Error::UnknownKeySpace(id) if id == self.id => {
                Error::dropped_key_space(&self.name)
            }
            other => other.into(),
        }
    }
}
