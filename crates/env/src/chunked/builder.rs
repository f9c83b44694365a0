//! [`Builder`]: makes a [`Chunked`] sequence from front to back, out of new items and of chunks
//! that are shared with another sequence.
//!
//! New items are collected. When a chunk of another sequence is added, the collected items become
//! chunks of their own, and the added chunk is shared. Its items are copied instead in three cases:
//!
//! - items are collected, but fewer than [`LEN_MIN`], too few for a chunk;
//! - only a part of the chunk is wanted;
//! - the chunk has fewer than [`LEN_MIN`] items.
//!
//! If fewer than [`LEN_MIN`] collected items are left at the end, the items of the last chunk, if
//! there is one, are put before them, and all of these become one or two chunks. So in a sequence
//! of several chunks, each has [`LEN_MIN`] to [`LEN_MAX`] items.

use std::ops::Range;
use std::sync::Arc;

use super::chunk::{Chunk, LEN_MAX, LEN_MIN};
use super::sequence::Chunked;

/// Makes a sequence from its beginning to its end.
pub(super) struct Builder<T> {
    chunks: Vec<Chunk<T>>,
    /// Items that are in no chunk yet.
    open: Vec<T>,
}

impl<T> Default for Builder<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), open: Vec::new() }
    }
}

impl<T: Clone> Builder<T> {
    /// Adds items.
    pub(super) fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        self.open.extend(items);
    }

    /// Adds items of another sequence, by whole chunks where that leaves none too small.
    pub(super) fn share(&mut self, chunks: &[Chunk<T>], range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let first = chunks.partition_point(|chunk| chunk.end() <= range.start);
        for chunk in chunks[first..].iter().take_while(|chunk| chunk.start < range.end) {
            let whole = range.start <= chunk.start && chunk.end() <= range.end;
            let fits = self.open.is_empty() || self.open.len() >= LEN_MIN;
            if whole && fits && chunk.items.len() >= LEN_MIN {
                self.close();
                self.push(Arc::clone(&chunk.items));
            } else {
                let from = range.start.max(chunk.start) - chunk.start;
                let to = range.end.min(chunk.end()) - chunk.start;
                self.open.extend_from_slice(&chunk.items[from..to]);
            }
        }
    }

    /// Makes chunks of the open items.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        let mut items = open.into_iter();
        for pieces in (1..=items.len().div_ceil(LEN_MAX)).rev() {
            let len = items.len().div_ceil(pieces);
            self.push(items.by_ref().take(len).collect());
        }
    }

    fn push(&mut self, items: Arc<[T]>) {
        let start = self.chunks.last().map_or(0, Chunk::end);
        self.chunks.push(Chunk { start, items });
    }

    /// The sequence of all that was added.
    pub(super) fn finish(mut self) -> Chunked<T> {
        if (1..LEN_MIN).contains(&self.open.len())
            && let Some(last) = self.chunks.pop()
        {
            self.open.splice(0..0, last.items.iter().cloned());
        }
        self.close();
        Chunked { chunks: self.chunks.into() }
    }
}
