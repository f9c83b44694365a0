//! Writes that are applied together.

use terrace_env::ByteCount;
use terrace_lsm::{Bounds, KeySpaceId};

use crate::KeySpace;

/// Writes that are applied together or not at all, over any key spaces, in order: of two writes of
/// one key, the later counts. A key or value that is too long fails the batch when it is written.
#[derive(Clone, Debug, Default)]
pub struct Batch(pub(crate) terrace_lsm::Batch);

impl Batch {
    /// A batch that writes nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes `value` under `key` of the default key space.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.0.put(KeySpaceId::DEFAULT, key, value);
        self
    }

    /// Removes what is under `key` of the default key space.
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.0.delete(KeySpaceId::DEFAULT, key);
        self
    }

    /// Writes `value` under `key` of a key space.
    pub fn put_in(&mut self, space: &KeySpace, key: &[u8], value: &[u8]) -> &mut Self {
        self.0.put(space.id(), key, value);
        self
    }

    /// Removes what is under `key` of a key space.
    pub fn delete_in(&mut self, space: &KeySpace, key: &[u8]) -> &mut Self {
        self.0.delete(space.id(), key);
        self
    }

    /// Removes what is in the range of the default key space, as a single write: what the batch has
    /// put there before is removed as well, what it puts there later stays.
    pub fn delete_range(&mut self, bounds: impl Into<Bounds>) -> &mut Self {
        self.0.delete_range(KeySpaceId::DEFAULT, &bounds.into());
        self
    }

    /// Removes what is in the range of a key space, as a single write.
    pub fn delete_range_in(&mut self, space: &KeySpace, bounds: impl Into<Bounds>) -> &mut Self {
        self.0.delete_range(space.id(), &bounds.into());
        self
    }

    /// The number of writes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes that the log will hold for it, at most
    /// [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX).
    #[must_use]
    pub fn byte_size(&self) -> ByteCount {
        self.0.byte_size()
    }

    /// Forgets all writes and keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
