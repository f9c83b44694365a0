//! [`Iter`]: a double-ended iterator over the items of a chunked sequence, or of a slice of it. It
//! borrows the sequence and yields references. Its length is exact, and known without a walk.

use std::fmt;
use std::iter::FusedIterator;
use std::slice;

use super::chunk::Chunk;

/// Goes through a sequence from either end.
pub struct Iter<'a, T> {
    front: slice::Iter<'a, T>,
    middle: slice::Iter<'a, Chunk<T>>,
    back: slice::Iter<'a, T>,
}

impl<'a, T> Iter<'a, T> {
    /// Goes through the items of `front`, of all chunks of `middle` and of `back`.
    pub(super) fn new(front: &'a [T], middle: &'a [Chunk<T>], back: &'a [T]) -> Self {
        Self { front: front.iter(), middle: middle.iter(), back: back.iter() }
    }
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        let Self { front, middle, back } = self;
        Self { front: front.clone(), middle: middle.clone(), back: back.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(item) = self.front.next() {
                return Some(item);
            }
            match self.middle.next() {
                Some(chunk) => self.front = chunk.items.iter(),
                None => return self.back.next(),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let chunks = self.middle.as_slice();
        let middle = match (chunks.first(), chunks.last()) {
            (Some(first), Some(last)) => last.end() - first.start,
            _ => 0,
        };
        let len = self.front.len() + middle + self.back.len();
        (len, Some(len))
    }
}

impl<T> DoubleEndedIterator for Iter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.back.next_back() {
                return Some(item);
            }
            match self.middle.next_back() {
                Some(chunk) => self.back = chunk.items.iter(),
                None => return self.front.next_back(),
            }
        }
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}
impl<T> FusedIterator for Iter<'_, T> {}
