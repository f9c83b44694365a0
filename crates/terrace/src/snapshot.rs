//! Snapshots: what was there at one moment.

use bytes::Bytes;
use terrace_lsm::{Bounds, KeySpaceId};

use crate::identity::Identity;
use crate::{Cursor, Error, KeySpace, Scan};

/// What was there at one moment, for as long as it lives. It keeps overwritten and deleted entries
/// that it sees from being dropped, and nothing else.
///
/// Its own methods mean the default key space; [`key_space`](Self::key_space) has them for any
/// other.
///
/// ```
/// # use std::sync::Arc;
/// # use terrace::{Db, MemoryStore, Options};
/// # fn main() -> Result<(), terrace::Error> {
/// # let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
/// let accounts = db.create_key_space("accounts")?;
/// accounts.put(b"ada", b"120")?;
/// let before = db.snapshot();
/// accounts.put(b"ada", b"90")?;
/// assert_eq!(before.key_space(&accounts)?.get(b"ada")?.as_deref(), Some(&b"120"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) inner: terrace_lsm::Snapshot,
    pub(crate) of: Identity,
}

impl Snapshot {
    /// What was in a key space.
    pub fn key_space<'a>(&'a self, space: &'a KeySpace) -> Result<SnapshotKeySpace<'a>, Error> {
        self.of.check(space)?;
        Ok(SnapshotKeySpace { snapshot: &self.inner, space })
    }

    /// The value that was under `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.inner.get(KeySpaceId::DEFAULT, key)?)
    }

    /// What was in the range, in order.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        Ok(Scan(self.inner.scan(KeySpaceId::DEFAULT, &bounds.into())?))
    }

    /// Walks what was in the range, in both directions.
    pub fn cursor(&self, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        Ok(Cursor(self.inner.cursor(KeySpaceId::DEFAULT, &bounds.into())?))
    }
}

/// What was in one key space at one moment, from [`Snapshot::key_space`].
#[derive(Clone, Copy, Debug)]
pub struct SnapshotKeySpace<'a> {
    snapshot: &'a terrace_lsm::Snapshot,
    space: &'a KeySpace,
}

impl SnapshotKeySpace<'_> {
    /// As [`Snapshot::get`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.snapshot.get(self.space.id(), key).map_err(|error| self.space.explain(error))
    }

    /// As [`Snapshot::scan`].
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        let scan = self.snapshot.scan(self.space.id(), &bounds.into());
        scan.map(Scan).map_err(|error| self.space.explain(error))
    }

    /// As [`Snapshot::cursor`].
    pub fn cursor(&self, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        let cursor = self.snapshot.cursor(self.space.id(), &bounds.into());
        cursor.map(Cursor).map_err(|error| self.space.explain(error))
    }
}
