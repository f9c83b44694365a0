//! [`ChunkedSlice`]: a borrowed view of consecutive items of a [`Chunked`](super::Chunked)
//! sequence. Its indices count from the first item of the slice.

use std::fmt;
use std::ops::{Index, Range};

use super::chunk::Chunk;
use super::iter::Iter;

/// Some items of a sequence, side by side.
pub struct ChunkedSlice<'a, T> {
    chunks: &'a [Chunk<T>],
    from: usize,
    to: usize,
}

impl<T> Clone for ChunkedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ChunkedSlice<'_, T> {}

impl<T> Default for ChunkedSlice<'_, T> {
    fn default() -> Self {
        Self { chunks: &[], from: 0, to: 0 }
    }
}

impl<T: fmt::Debug> fmt::Debug for ChunkedSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T> ChunkedSlice<'a, T> {
    /// The items at these indices of the sequence that the chunks are of.
    pub(super) fn new(chunks: &'a [Chunk<T>], at: Range<usize>) -> Self {
        Self { chunks, from: at.start, to: at.end }
    }

    /// How many items there are.
    #[must_use]
    pub fn len(self) -> usize {
        self.to - self.from
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.from == self.to
    }

    /// The item at an index.
    #[must_use]
    pub fn get(self, at: usize) -> Option<&'a T> {
        let at = self.from.checked_add(at).filter(|at| *at < self.to)?;
        let chunk = &self.chunks[self.chunks.partition_point(|chunk| chunk.end() <= at)];
        chunk.items.get(at - chunk.start)
    }

    /// The first item.
    #[must_use]
    pub fn first(self) -> Option<&'a T> {
        self.get(0)
    }

    /// The last item.
    #[must_use]
    pub fn last(self) -> Option<&'a T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The items at these indices.
    ///
    /// # Panics
    /// When the range ends after the last item, or before it starts.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len(), "{range:?} of {}", self.len());
        Self { chunks: self.chunks, from: self.from + range.start, to: self.from + range.end }
    }

    /// The index of the first item for which `before` is false. It must be false for all later
    /// items, too.
    #[must_use]
    pub fn partition_point(self, mut before: impl FnMut(&T) -> bool) -> usize {
        let chunks = self.covering();
        let passed = chunks.partition_point(|chunk| {
            chunk.end() <= self.to && chunk.items.last().is_some_and(&mut before)
        });
        let Some(chunk) = chunks.get(passed) else { return self.len() };
        let (items, skipped) = self.clip(chunk);
        chunk.start + skipped + items.partition_point(before) - self.from
    }

    /// The items in their order.
    #[must_use]
    pub fn iter(self) -> Iter<'a, T> {
        let clip = |chunk| self.clip(chunk).0;
        match self.covering() {
            [] => Iter::new(&[], &[], &[]),
            [only] => Iter::new(clip(only), &[], &[]),
            [first, middle @ .., last] => Iter::new(clip(first), middle, clip(last)),
        }
    }

    /// The chunks that hold any of it.
    fn covering(self) -> &'a [Chunk<T>] {
        if self.is_empty() {
            return &[];
        }
        let first = self.chunks.partition_point(|chunk| chunk.end() <= self.from);
        let rest = &self.chunks[first..];
        &rest[..rest.partition_point(|chunk| chunk.start < self.to)]
    }

    /// The items of a chunk that are of the slice, and how many before them are not.
    fn clip(self, chunk: &'a Chunk<T>) -> (&'a [T], usize) {
        let from = self.from.max(chunk.start) - chunk.start;
        let to = self.to.min(chunk.end()) - chunk.start;
        (&chunk.items[from..to], from)
    }
}

impl<T> Index<usize> for ChunkedSlice<'_, T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        let found = self.get(at);
        found.unwrap_or_else(|| panic!("an index below {}, found {at}", self.len()))
    }
}

impl<'a, T> IntoIterator for ChunkedSlice<'a, T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
