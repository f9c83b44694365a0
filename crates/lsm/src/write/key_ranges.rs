//! [`KeyRanges`]: ranges of full keys, in order and without overlap. Ranges of one key space that
//! overlap or touch become one.
//!
//! A plain value, without locks or I/O.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::key::SPACE_BYTES;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyRanges {
    /// The first full key of each, and the first after it.
    ranges: BTreeMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
}

impl KeyRanges {
    /// Memory of a range, without the bytes of its two keys.
    pub(crate) const RANGE_BYTES: usize = 96;

    /// Adds the keys from `start` up to, and without, `end`, all of one key space. An empty range
    /// is ignored.
    pub(crate) fn insert(&mut self, mut start: Vec<u8>, mut end: Vec<u8>) {
        if start >= end {
            return;
        }
        // The first key after a key space belongs to the next one.
        let same_space = |one: &[u8], other: &[u8]| one[..SPACE_BYTES] == other[..SPACE_BYTES];
        if let Some((before, until)) = self.last_up_to(&start)
            && *until >= start
            && same_space(before, &start)
        {
            let before = before.clone();
            end = end.max(self.remove(&before));
            start = before;
        }
        let within = |ranges: &BTreeMap<Vec<u8>, Vec<u8>>, start: &[u8], end: &[u8]| {
            let bounds = (Bound::Included(start), Bound::Included(end));
            let first = ranges.range::<[u8], _>(bounds).next();
            first.map(|(next, _)| next.clone()).filter(|next| same_space(next, start))
        };
        while let Some(next) = within(&self.ranges, &start, &end) {
            end = end.max(self.remove(&next));
        }
        self.bytes += start.len() + end.len() + Self::RANGE_BYTES;
        let replaced = self.ranges.insert(start, end);
        debug_assert_eq!(replaced, None, "ranges that overlap are joined");
    }

    fn remove(&mut self, start: &[u8]) -> Vec<u8> {
        let end = self.ranges.remove(start).expect("a range that was found");
        self.bytes -= start.len() + end.len() + Self::RANGE_BYTES;
        end
    }

    /// The last range that begins at or before the key.
    fn last_up_to(&self, key: &[u8]) -> Option<(&Vec<u8>, &Vec<u8>)> {
        let bounds = (Bound::Unbounded, Bound::Included(key));
        self.ranges.range::<[u8], _>(bounds).next_back()
    }

    /// Whether a key is in one of them.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.last_up_to(key).is_some_and(|(_, end)| key < &end[..])
    }

    /// Whether one of them has a key of the range from `start` up to, and without, `end`.
    pub(crate) fn overlaps(&self, start: &[u8], end: &[u8]) -> bool {
        let bounds = (Bound::Unbounded, Bound::Excluded(end));
        let last = self.ranges.range::<[u8], _>(bounds).next_back();
        last.is_some_and(|(_, until)| start < &until[..])
    }

    /// The first full key of each range, and the first after it, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.ranges.iter().map(|(start, end)| (&start[..], &end[..]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Approximate memory of the ranges.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::random::{Random, Rng};

    use super::*;

    fn key(number: u8) -> Vec<u8> {
        vec![0, 0, 0, 0, number]
    }

    #[test]
    fn ranges_hold_the_keys_that_were_put_in() {
        let mut random = Random::seeded(1);
        for _ in 0..300 {
            let (mut ranges, mut held) = (KeyRanges::default(), [false; 40]);
            for _ in 0..random.random_range(0..8) {
                let (start, end) = (random.random_range(0..40), random.random_range(0..40u8));
                ranges.insert(key(start), key(end));
                (start..end).for_each(|number| held[usize::from(number)] = true);
            }
            let of = |numbers: std::ops::Range<u8>| numbers.map(usize::from).any(|n| held[n]);
            for number in 0..40 {
                assert_eq!(ranges.contains(&key(number)), held[usize::from(number)], "{ranges:?}");
                for end in number + 1..40 {
                    assert_eq!(ranges.overlaps(&key(number), &key(end)), of(number..end));
                }
            }
            let apart = ranges.iter().zip(ranges.iter().skip(1));
            assert!(apart.into_iter().all(|((_, end), (start, _))| end < start), "{ranges:?}");
            let bytes =
                ranges.iter().map(|(start, end)| start.len() + end.len() + KeyRanges::RANGE_BYTES);
            assert_eq!(ranges.bytes(), bytes.sum::<usize>());
        }
    }

    #[test]
    fn ranges_of_two_key_spaces_stay_apart() {
        let mut ranges = KeyRanges::default();
        ranges.insert(vec![0, 0, 0, 1, 7], vec![0, 0, 0, 2]);
        ranges.insert(vec![0, 0, 0, 2], vec![0, 0, 0, 3]);
        ranges.insert(vec![0, 0, 0, 1], vec![0, 0, 0, 1, 7]);
        assert_eq!(ranges.iter().count(), 2, "{ranges:?}");
    }
}
