//! [`Chunk`]: a run of consecutive items of a sequence, with the index of its first item. The items
//! are held by an `Arc`: several sequences can share them, each with a first index of its own.

use std::sync::Arc;

/// The fewest items of a chunk, but for that of a sequence of fewer.
pub(super) const LEN_MIN: usize = 16;
/// The most items of a chunk.
pub(super) const LEN_MAX: usize = 64;

/// Items side by side.
pub(super) struct Chunk<T> {
    /// The index of its first item.
    pub(super) start: usize,
    pub(super) items: Arc<[T]>,
}

impl<T> Clone for Chunk<T> {
    fn clone(&self) -> Self {
        Self { start: self.start, items: Arc::clone(&self.items) }
    }
}

impl<T> Chunk<T> {
    /// The index after its last item.
    pub(super) fn end(&self) -> usize {
        self.start + self.items.len()
    }
}
