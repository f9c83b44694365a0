//! What was there at one moment.

use bytes::Bytes;
use terrace_lsm::{Bounds, Cursor, KeySpaceId, Scan};

use crate::identity::Identity;
use crate::{Error, KeySpace};

/// What was there at one moment, for as long as it lives. It keeps overwritten and deleted entries
/// that it sees from being dropped, and nothing else.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) inner: terrace_lsm::Snapshot,
    pub(crate) of: Identity,
}

impl Snapshot {
    /// The value that was under `key` of the default key space.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.inner.get(KeySpaceId::DEFAULT, key)?)
    }

    /// The value that was under `key` of a key space.
    pub fn get_in(&self, space: &KeySpace, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.of.check(space)?;
        Ok(self.inner.get(space.id(), key)?)
    }

    /// What was in the range of the default key space, in order.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        Ok(self.inner.scan(KeySpaceId::DEFAULT, &bounds.into())?)
    }

    /// What was in the range of a key space, in order.
    pub fn scan_in(&self, space: &KeySpace, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        self.of.check(space)?;
        Ok(self.inner.scan(space.id(), &bounds.into())?)
    }

    /// Walks what was in the range of the default key space, in both directions.
    pub fn cursor(&self, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        Ok(self.inner.cursor(KeySpaceId::DEFAULT, &bounds.into())?)
    }

    /// Walks what was in the range of a key space, in both directions.
    pub fn cursor_in(&self, space: &KeySpace, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        self.of.check(space)?;
        Ok(self.inner.cursor(space.id(), &bounds.into())?)
    }
}
