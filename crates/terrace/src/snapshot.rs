//! [`Snapshot`]: a view of the store at one moment.
//!
//! - It sees the writes that were visible when it was made. While it lives, compactions keep the
//!   entries that it sees, so their space is not freed.
//! - A key space that is dropped meanwhile is gone for the snapshot as well. Once the store is
//!   closed, reads of the snapshot return errors.
//!
//! Any thread may use a snapshot and its clones.

use bytes::Bytes;
use terrace_lsm::{Bounds, KeySpaceId, ReadOptions};

use crate::identity::Identity;
use crate::{Cursor, Error, KeySpace, Scan};

/// A view of the store at one moment. It keeps overwritten and deleted entries that it sees from
/// being dropped, and holds no files.
///
/// Its own methods are for the default key space; [`key_space`](Self::key_space) has them for any
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
    pub(crate) reads: ReadOptions,
}

impl Snapshot {
    /// The snapshot's view of a key space.
    pub fn key_space<'a>(&'a self, space: &'a KeySpace) -> Result<SnapshotKeySpace<'a>, Error> {
        self.of.check(space)?;
        Ok(SnapshotKeySpace { snapshot: self, space })
    }

    /// The same moment: the returned snapshot reads with these options.
    #[must_use]
    pub fn with_read_options(&self, options: ReadOptions) -> Self {
        Self { reads: options, ..self.clone() }
    }

    /// The value that was under `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.inner.get_with(KeySpaceId::DEFAULT, key, self.reads)?)
    }

    /// Whether there was a value under `key`.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.inner.contains(KeySpaceId::DEFAULT, key, self.reads)?)
    }

    /// The values that were under several keys; see [`Db::multi_get`](crate::Db::multi_get).
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Bytes>>, Error> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        Ok(self.inner.multi_get(KeySpaceId::DEFAULT, &keys, self.reads)?)
    }

    /// Entries of the range at that moment, in order.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        Ok(Scan(self.inner.scan(KeySpaceId::DEFAULT, &bounds.into())?))
    }

    /// A cursor over the entries of the range at that moment, in both directions.
    pub fn cursor(&self, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        Ok(Cursor(self.inner.cursor(KeySpaceId::DEFAULT, &bounds.into())?))
    }
}

/// One key space at one moment, from [`Snapshot::key_space`].
#[derive(Clone, Copy, Debug)]
pub struct SnapshotKeySpace<'a> {
    snapshot: &'a Snapshot,
    space: &'a KeySpace,
}

impl SnapshotKeySpace<'_> {
    /// See [`Snapshot::get`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        let Snapshot { inner, reads, .. } = self.snapshot;
        let found = inner.get_with(self.space.id(), key, *reads);
        found.map_err(|error| self.space.explain(error))
    }

    /// See [`Snapshot::contains`].
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        let Snapshot { inner, reads, .. } = self.snapshot;
        let found = inner.contains(self.space.id(), key, *reads);
        found.map_err(|error| self.space.explain(error))
    }

    /// See [`Snapshot::multi_get`].
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Bytes>>, Error> {
        let Snapshot { inner, reads, .. } = self.snapshot;
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let found = inner.multi_get(self.space.id(), &keys, *reads);
        found.map_err(|error| self.space.explain(error))
    }

    /// See [`Snapshot::scan`].
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<Scan, Error> {
        let scan = self.snapshot.inner.scan(self.space.id(), &bounds.into());
        scan.map(Scan).map_err(|error| self.space.explain(error))
    }

    /// See [`Snapshot::cursor`].
    pub fn cursor(&self, bounds: impl Into<Bounds>) -> Result<Cursor, Error> {
        let cursor = self.snapshot.inner.cursor(self.space.id(), &bounds.into());
        cursor.map(Cursor).map_err(|error| self.space.explain(error))
    }
}
