//! [`Chunked`]: an immutable sequence. A clone shares all chunks. [`Chunked::patched`] returns a
//! changed copy, which shares most chunks if the change is small: see the [folder's head](super).
//!
//! The places of a change must come in ascending order and must not overlap. Debug builds panic
//! otherwise. In a change, indices after the last item count as the end.

use std::fmt;
use std::ops::{Index, Range};
use std::sync::Arc;

use super::builder::Builder;
use super::chunk::Chunk;
use super::iter::Iter;
use super::slice::ChunkedSlice;

/// A sequence that is cheap to clone, and to change in few places.
pub struct Chunked<T> {
    pub(super) chunks: Arc<[Chunk<T>]>,
}

impl<T> Chunked<T> {
    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, Chunk::end)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// All items.
    #[must_use]
    pub fn as_slice(&self) -> ChunkedSlice<'_, T> {
        ChunkedSlice::new(&self.chunks, 0..self.len())
    }

    /// The items at these indices.
    ///
    /// # Panics
    /// When the range ends after the last item, or before it starts.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> ChunkedSlice<'_, T> {
        self.as_slice().slice(range)
    }

    /// The item at an index.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&T> {
        let behind = self.chunks.partition_point(|chunk| chunk.start <= at);
        let chunk = &self.chunks[behind.checked_sub(1)?];
        chunk.items.get(at - chunk.start)
    }

    /// The first item.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.chunks.first()?.items.first()
    }

    /// The last item.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.chunks.last()?.items.last()
    }

    /// The index of the first item for which `before` is false. It must be false for all later
    /// items, too.
    #[must_use]
    pub fn partition_point(&self, before: impl FnMut(&T) -> bool) -> usize {
        self.as_slice().partition_point(before)
    }

    /// First item that `before` refuses, where `before` holds for a prefix of the items.
    #[must_use]
    pub fn first_behind(&self, mut before: impl FnMut(&T) -> bool) -> Option<&T> {
        let at = self.chunks.partition_point(|chunk| chunk.items.last().is_some_and(&mut before));
        let items = &self.chunks.get(at)?.items;
        items.get(items.partition_point(before))
    }

    /// The items in their order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, T> {
        self.as_slice().iter()
    }
}

impl<T: Clone> Chunked<T> {
    /// The sequence with other items in place of some. Ranges are in order and apart; an empty one
    /// says where to insert.
    #[must_use]
    pub fn patched(&self, patches: impl IntoIterator<Item = (Range<usize>, Vec<T>)>) -> Self {
        let mut builder = Builder::default();
        let mut at = 0;
        for (range, with) in patches {
            debug_assert!(at <= range.start && range.start <= range.end, "patches out of order");
            builder.share(&self.chunks, at..range.start);
            builder.extend(with);
            at = range.end;
        }
        builder.share(&self.chunks, at..self.len());
        builder.finish()
    }

    /// Puts other items in place of these.
    pub fn splice(&mut self, range: Range<usize>, with: Vec<T>) {
        *self = self.patched([(range, with)]);
    }
}

impl<T> Clone for Chunked<T> {
    fn clone(&self) -> Self {
        Self { chunks: Arc::clone(&self.chunks) }
    }
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self { chunks: Arc::new([]) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Chunked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T: PartialEq> PartialEq for Chunked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl<T: Eq> Eq for Chunked<T> {}

impl<T: Clone> FromIterator<T> for Chunked<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut builder = Builder::default();
        builder.extend(items);
        builder.finish()
    }
}

impl<T> Index<usize> for Chunked<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        let found = self.get(at);
        found.unwrap_or_else(|| panic!("an index below {}, found {at}", self.len()))
    }
}

impl<'a, T> IntoIterator for &'a Chunked<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
