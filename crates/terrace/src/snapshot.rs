//! What was there at one moment.

use bytes::Bytes;
use terrace_lsm::{Bounds, Cursor, KeySpaceId, Scan};

use crate::{Error, KeySpace};

/// What was there at one moment, for as long as it lives. It keeps overwritten and deleted entries
/// that it sees from being dropped, and nothing else.
#[derive(Clone, Debug)]
pub struct Snapshot(pub(crate) terrace_lsm::Snapshot);

impl Snapshot {
    /// The value that was under `key` of the default key space.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.0.get(KeySpaceId::DEFAULT, key)?)
    }

    /// The value that was under `key` of a key space.
    pub fn get_in(&self, space: &KeySpace, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.0.get(space.id(), key)?)
    }

    /// What was in the range of the default key space, in order.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        Ok(self.0.scan(KeySpaceId::DEFAULT, &bounds.into())?)
    }

    /// What was in the range of a key space, in order.
    pub fn scan_in(&self, space: &KeySpace, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        Ok(self.0.scan(space.id(), &bounds.into())?)
    }

    /// Walks what was in the range of the default key space, in both directions.
    pub fn cursor(&self, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        Ok(self.0.cursor(KeySpaceId::DEFAULT, &bounds.into())?)
    }

    /// Walks what was in the range of a key space, in both directions.
    pub fn cursor_in(&self, space: &KeySpace, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        Ok(self.0.cursor(space.id(), &bounds.into())?)
    }
}
