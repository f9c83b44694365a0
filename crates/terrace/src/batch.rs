//! Writes that are applied together.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_lsm::{Bounds, KeySpaceId};

use crate::identity::{Identity, other_store};
use crate::{Error, KeySpace};

/// Writes that are applied together or not at all, over any key spaces, in order: of two writes of
/// one key, the later counts. A key or value that is too long fails the batch when it is written,
/// and so does a key space of another store than the one that it is written to.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    writes: terrace_lsm::Batch,
    of: Option<Of>,
}

/// Whose a batch is that has writes of key spaces which were given by their handles.
#[derive(Clone, Debug)]
struct Of {
    identity: Identity,
    /// The name of the first of them.
    space: Arc<str>,
    /// The name of one of another store, if there is any.
    other: Option<Arc<str>>,
}

impl Batch {
    /// A batch that writes nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes `value` under `key` of the default key space.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.writes.put(KeySpaceId::DEFAULT, key, value);
        self
    }

    /// Removes what is under `key` of the default key space.
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.writes.delete(KeySpaceId::DEFAULT, key);
        self
    }

    /// Writes `value` under `key` of a key space.
    pub fn put_in(&mut self, space: &KeySpace, key: &[u8], value: &[u8]) -> &mut Self {
        self.note(space);
        self.writes.put(space.id(), key, value);
        self
    }

    /// Removes what is under `key` of a key space.
    pub fn delete_in(&mut self, space: &KeySpace, key: &[u8]) -> &mut Self {
        self.note(space);
        self.writes.delete(space.id(), key);
        self
    }

    /// Removes what is in the range of the default key space, as a single write: what the batch has
    /// put there before is removed as well, what it puts there later stays.
    pub fn delete_range(&mut self, bounds: impl Into<Bounds>) -> &mut Self {
        self.writes.delete_range(KeySpaceId::DEFAULT, &bounds.into());
        self
    }

    /// Removes what is in the range of a key space, as a single write.
    pub fn delete_range_in(&mut self, space: &KeySpace, bounds: impl Into<Bounds>) -> &mut Self {
        self.note(space);
        self.writes.delete_range(space.id(), &bounds.into());
        self
    }

    /// The number of writes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Whether nothing is written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The bytes that the log will hold for it, at most
    /// [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX).
    #[must_use]
    pub fn byte_size(&self) -> ByteCount {
        self.writes.byte_size()
    }

    /// Forgets all writes and keeps the memory.
    pub fn clear(&mut self) {
        self.writes.clear();
        self.of = None;
    }

    /// Notes whose a key space is.
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
            Some(of) if of.identity != identity => Err(other_store(&of.space)),
            Some(Of { other: Some(other), .. }) => Err(other_store(&other)),
            _ => Ok(self.writes),
        }
    }
}
