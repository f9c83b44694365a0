//! [`Batch`]: writes that are applied together or not at all, in the order in which they were
//! added.
//!
//! - A method that adds a write returns no error. Writing the batch, which consumes it, returns the
//!   errors: a key or a value that is too long, more than
//!   [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX) in the log, a key space of another opening or one
//!   that was dropped. Then no write of the batch is applied.
//! - A batch is held in memory until it is written.
//!
//! One thread builds a batch; it may be written from another one.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_lsm::{Bounds, KeySpaceId};

use crate::identity::Identity;
use crate::{Error, KeySpace};

/// Writes that are applied together or not at all, in order: of two writes of one key, the later
/// wins. Its own methods are for the default key space; [`key_space`](Self::key_space) has them for
/// any other. A batch fails when it is written if a key or value is too long, or if a key space
/// belongs to another store.
///
/// ```
/// # use std::sync::Arc;
/// # use terrace::{Batch, Db, MemoryStore, Options};
/// # fn main() -> Result<(), terrace::Error> {
/// # let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
/// let (waiting, done) = (db.create_key_space("waiting")?, db.create_key_space("done")?);
/// waiting.put(b"job 7", b"")?;
/// let mut batch = Batch::new();
/// batch.key_space(&waiting).delete(b"job 7");
/// batch.key_space(&done).put(b"job 7", b"the result");
/// db.write(batch)?;
/// assert!(waiting.get(b"job 7")?.is_none() && done.get(b"job 7")?.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(crate) writes: terrace_lsm::Batch,
    of: Option<Of>,
}

/// Store of a batch with writes of key spaces that were given by their handles.
#[derive(Clone, Debug)]
struct Of {
    identity: Identity,
    /// Name of the first of them.
    space: Arc<str>,
    /// Name of one of another store, if there is any.
    other: Option<Arc<str>>,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes `value` under `key` of the default key space.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.writes.put(KeySpaceId::DEFAULT, key, value);
        self
    }

    /// Removes `key` of the default key space.
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.writes.delete(KeySpaceId::DEFAULT, key);
        self
    }

    /// Removes the entries in the range of the default key space, as a single write: earlier puts
    /// of the batch in the range are removed as well, later ones stay.
    pub fn delete_range(&mut self, bounds: impl Into<Bounds>) -> &mut Self {
        self.writes.delete_range(KeySpaceId::DEFAULT, &bounds.into());
        self
    }

    /// The batch for writes to a key space.
    pub fn key_space(&mut self, space: &KeySpace) -> BatchKeySpace<'_> {
        self.note(space);
        BatchKeySpace { writes: &mut self.writes, id: space.id() }
    }

    /// Number of writes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Whether there are no writes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Bytes of the batch in the log, at most [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX).
    #[must_use]
    pub fn byte_size(&self) -> ByteCount {
        self.writes.byte_size()
    }

    /// Forgets all writes and keeps the memory.
    pub fn clear(&mut self) {
        self.writes.clear();
        self.of = None;
    }

    /// Notes the store of a key space.
    fn note(&mut self, space: &KeySpace) {
        let identity = space.inner.identity;
        match &mut self.of {
            Some(of) if of.identity == identity => {}
            Some(of) => of.other = Some(Arc::clone(&space.name)),
            None => {
                let space = Arc::clone(&space.name);
                self.of = Some(Of { identity, space, other: None });
            }
        }
    }

    /// The writes, if the batch may be written to this store.
    pub(crate) fn of(self, identity: Identity) -> Result<terrace_lsm::Batch, Error> {
        match self.of {
            Some(of) if of.identity != identity => Err(Error::other_store(&of.space)),
            Some(Of { other: Some(other), .. }) => Err(Error::other_store(&other)),
            _ => Ok(self.writes),
        }
    }
}

/// A [`Batch`] for writes to one key space, from [`Batch::key_space`].
#[derive(Debug)]
pub struct BatchKeySpace<'a> {
    pub(crate) writes: &'a mut terrace_lsm::Batch,
    pub(crate) id: KeySpaceId,
}

impl BatchKeySpace<'_> {
    /// See [`Batch::put`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.writes.put(self.id, key, value);
        self
    }

    /// See [`Batch::delete`].
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.writes.delete(self.id, key);
        self
    }

    /// See [`Batch::delete_range`].
    pub fn delete_range(&mut self, bounds: impl Into<Bounds>) -> &mut Self {
        self.writes.delete_range(self.id, &bounds.into());
        self
    }
}
