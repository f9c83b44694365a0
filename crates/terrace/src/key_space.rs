//! A key space: an ordered map of its own within a store.

use std::sync::Arc;

use bytes::Bytes;
use terrace_lsm::{Batch, Bounds, Cursor, KeySpaceId, Salvage, Scan};

use crate::Error;
use crate::db::Inner;

/// A key space: an ordered map of its own within a store. Cheap to clone. It is of one opening of
/// one store; others refuse it with [`Error::OtherStore`].
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
        self.inner.write_own(batch, None)
    }

    /// Removes what is under `key`; nothing happens if nothing is.
    pub fn delete(&self, key: &[u8]) -> Result<(), Error> {
        let mut batch = Batch::new();
        batch.delete(self.id, key);
        self.inner.write_own(batch, None)
    }

    /// Removes everything in the range, by one write; see [`Db::delete_range`](crate::Db).
    pub fn delete_range(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        let mut batch = Batch::new();
        batch.delete_range(self.id, &bounds.into());
        self.inner.write_own(batch, None)
    }

    /// The value under `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.inner.engine.get(self.id, key)?)
    }

    /// As [`Db::salvage`](crate::Db::salvage).
    pub fn salvage(&self, bounds: impl Into<Bounds>) -> Result<Salvage, Error> {
        Ok(self.inner.engine.salvage(self.id, &bounds.into())?)
    }

    /// The keys and values in the range, in order, as they are now.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        Ok(self.inner.engine.scan(self.id, &bounds.into())?)
    }

    /// Walks the keys in the range in both directions, as they are now.
    pub fn cursor(&self, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        Ok(self.inner.engine.cursor(self.id, &bounds.into())?)
    }

    /// Merges what is in the range until it is in one run, and waits for it.
    pub fn compact(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        Ok(self.inner.engine.compact(self.id, &bounds.into())?)
    }
}
