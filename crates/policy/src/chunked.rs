//! A sequence in chunks, which shares those that a change does not touch with the sequence it was
//! made from.
//!
//! The last run of a large tree has tens of thousands of tables, and every commit changes a few
//! that lie side by side. A new version of it costs as much as the chunks that they are in; all
//! else is shared, with readers and deciders of older versions too.
//!
//! Chunks hold between `LEN_MIN` and `LEN_MAX` items, but for a sequence of fewer.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Index, Range};
use std::slice;
use std::sync::Arc;

const LEN_MIN: usize = 16;
const LEN_MAX: usize = 64;

struct Chunk<T> {
    /// The index of its first item.
    start: usize,
    items: Arc<[T]>,
}

impl<T> Clone for Chunk<T> {
    fn clone(&self) -> Self {
        Self { start: self.start, items: Arc::clone(&self.items) }
    }
}

impl<T> Chunk<T> {
    fn end(&self) -> usize {
        self.start + self.items.len()
    }
}

/// A sequence that is cheap to clone, and to change in few places.
pub struct Chunked<T> {
    chunks: Arc<[Chunk<T>]>,
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
        ChunkedSlice { chunks: &self.chunks, from: 0, to: self.len() }
    }

    /// The items at these indices.
    ///
    /// # Panics
    /// When the range ends behind the last item, or before it starts.
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

    /// The index of the first item for which `before` is false, in a sequence in which it is for
    /// all behind.
    #[must_use]
    pub fn partition_point(&self, before: impl FnMut(&T) -> bool) -> usize {
        self.as_slice().partition_point(before)
    }

    /// That item itself.
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

/// Makes a sequence from its beginning to its end.
struct Builder<T> {
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
    fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        self.open.extend(items);
    }

    /// Adds items of another sequence, by whole chunks where that leaves none too small.
    fn share(&mut self, chunks: &[Chunk<T>], range: Range<usize>) {
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

    fn finish(mut self) -> Chunked<T> {
        if (1..LEN_MIN).contains(&self.open.len())
            && let Some(last) = self.chunks.pop()
        {
            self.open.splice(0..0, last.items.iter().cloned());
        }
        self.close();
        Chunked { chunks: self.chunks.into() }
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
    /// When the range ends behind the last item, or before it starts.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len(), "{range:?} of {}", self.len());
        Self { chunks: self.chunks, from: self.from + range.start, to: self.from + range.end }
    }

    /// The index of the first item for which `before` is false, in a slice in which it is for all
    /// behind.
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
        let clip = |chunk| self.clip(chunk).0.iter();
        match self.covering() {
            [] => Iter { front: [].iter(), middle: [].iter(), back: [].iter() },
            [only] => Iter { front: clip(only), middle: [].iter(), back: [].iter() },
            [first, middle @ .., last] => {
                Iter { front: clip(first), middle: middle.iter(), back: clip(last) }
            }
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

/// Goes through a sequence from either end.
pub struct Iter<'a, T> {
    front: slice::Iter<'a, T>,
    middle: slice::Iter<'a, Chunk<T>>,
    back: slice::Iter<'a, T>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::random::{Random, Rng};

    fn check(sequence: &Chunked<u32>, list: &[u32], seed: u64) {
        assert!(sequence.iter().eq(list), "seed {seed}: {sequence:?}, expected {list:?}");
        assert!(sequence.iter().rev().eq(list.iter().rev()), "seed {seed}");
        let lens = sequence.chunks.iter().map(|chunk| chunk.items.len());
        assert!(lens.clone().all(|len| len <= LEN_MAX), "seed {seed}");
        assert!(sequence.chunks.len() <= 1 || lens.min() >= Some(LEN_MIN), "seed {seed}");
    }

    /// Up to four patches of a list of that length.
    fn patches(len: usize, random: &mut Random) -> Vec<(Range<usize>, Vec<u32>)> {
        let count = random.random_range(0..5);
        let mut cuts: Vec<usize> = (0..2 * count).map(|_| random.random_range(0..=len)).collect();
        cuts.sort_unstable();
        let patch = |cuts: &[usize]| {
            let len = random.random_range(0..40);
            let with = (0..len).map(|_| random.random_range(0..500)).collect();
            (cuts[0]..if random.random_bool(0.5) { cuts[1] } else { cuts[0] }, with)
        };
        cuts.chunks_exact(2).map(patch).collect()
    }

    #[test]
    fn patches_do_what_they_do_to_a_list() {
        for seed in 0..2_000 {
            let mut random = Random::seeded(seed);
            let len = random.random_range(0..600);
            let mut list: Vec<u32> = (0..len).map(|_| random.random_range(0..500)).collect();
            let mut sequence: Chunked<u32> = list.iter().copied().collect();
            check(&sequence, &list, seed);
            for _ in 0..4 {
                let patches = patches(list.len(), &mut random);
                for (range, with) in patches.iter().rev() {
                    list.splice(range.clone(), with.iter().copied());
                }
                sequence = sequence.patched(patches);
                check(&sequence, &list, seed);
            }
        }
    }

    #[test]
    fn slices_are_those_of_a_list() {
        for seed in 0..2_000 {
            let mut random = Random::seeded(seed);
            let len = random.random_range(0..400);
            let mut list: Vec<u32> = (0..len).map(|_| random.random_range(0..500)).collect();
            list.sort_unstable();
            let sequence: Chunked<u32> = list.iter().copied().collect();
            let to = random.random_range(0..=len);
            let (from, of) = (random.random_range(0..=to), random.random_range(0..=500));
            let (slice, expected) = (sequence.slice(from..to), &list[from..to]);
            assert!(slice.iter().eq(expected), "seed {seed}");
            assert_eq!(slice.iter().len(), expected.len(), "seed {seed}");
            let point = expected.partition_point(|item| *item < of);
            assert_eq!(slice.partition_point(|item| *item < of), point, "seed {seed}");
            assert_eq!(slice.get(point), expected.get(point), "seed {seed}");
            let ends = (slice.first(), slice.last());
            assert_eq!(ends, (expected.first(), expected.last()), "seed {seed}");
            let behind = list.get(list.partition_point(|item| *item < of));
            assert_eq!(sequence.first_behind(|item| *item < of), behind, "seed {seed}");
        }
    }

    #[test]
    fn a_change_copies_the_chunks_it_touches_and_no_other() {
        let before: Chunked<u32> = (0..10_000).collect();
        let after = before.patched([(5_000..5_003, vec![1, 2]), (5_010..5_010, vec![3])]);
        let same = |chunk: &Chunk<u32>| {
            before.chunks.iter().any(|other| Arc::ptr_eq(&other.items, &chunk.items))
        };
        assert!(after.chunks.iter().filter(|chunk| !same(chunk)).count() <= 2);
    }
}
