//! [`Ranges`]: a set of `u64` numbers, kept as disjoint ranges.
//!
//! Ranges that touch are joined, so a set that grows at one end is one range. With `n` ranges in
//! the set, to insert, remove, split or query takes O((k + 1) log n) time, where k is the number of
//! ranges that the call replaces or returns.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// The end of each range by its start; no two touch, and none is empty.
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// The set of all numbers below `end`.
    pub(crate) fn below(end: u64) -> Self {
        let mut all = Self::default();
        all.insert(0..end);
        all
    }

    /// Puts a range into the set.
    pub(crate) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        while let Some((at, other)) = self.ends.range(..=end).next_back()
            && *other >= start
        {
            let (at, other) = (*at, *other);
            start = start.min(at);
            end = end.max(other);
            self.ends.remove(&at);
        }
        self.ends.insert(start, end);
    }

    /// Takes a range out of the set.
    pub(crate) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some((at, other)) = self.ends.range(..range.end).next_back()
            && *other > range.start
        {
            let (at, other) = (*at, *other);
            self.ends.remove(&at);
            if at < range.start {
                self.ends.insert(at, range.start);
            }
            if other > range.end {
                self.ends.insert(range.end, other);
            }
        }
    }

    /// Splits a range into the parts that are in the set, and those between them: ascending, each
    /// with whether it is in the set.
    pub(crate) fn split(&self, range: Range<u64>) -> Vec<(Range<u64>, bool)> {
        let mut parts = Vec::new();
        let mut at = range.start;
        let first = self.ends.range(..=at).next_back();
        let first = first.filter(|(_, end)| **end > at).map_or(at, |(start, _)| *start);
        for (start, end) in self.ends.range(first..range.end) {
            let (start, end) = ((*start).max(at), (*end).min(range.end));
            if start > at {
                parts.push((at..start, false));
            }
            parts.push((start..end, true));
            at = end;
        }
        if at < range.end {
            parts.push((at..range.end, false));
        }
        parts
    }

    /// The parts of a range that are in the set.
    pub(crate) fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
        self.split(range).into_iter().filter(|(_, inside)| *inside).map(|(part, _)| part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::random::{Random, Rng};

    #[test]
    fn a_set_of_ranges_is_a_set_of_numbers() {
        const END: u64 = 60;
        let mut random = Random::seeded(3);
        let (mut ranges, mut model) = (Ranges::below(END), [true; END as usize]);
        for round in 0..4000 {
            let start = random.random_range(0..=END);
            let range = start..random.random_range(start..=END.min(start + 12));
            let inside = random.random_bool(0.5);
            if inside {
                ranges.insert(range.clone());
            } else {
                ranges.remove(range.clone());
            }
            model[range.start as usize..range.end as usize].fill(inside);
            let from = random.random_range(0..=END);
            let asked = from..random.random_range(from..=END);
            let parts = ranges.split(asked.clone());
            let flat: Vec<(u64, bool)> =
                parts.iter().flat_map(|(part, is)| part.clone().map(move |at| (at, *is))).collect();
            let expected: Vec<_> = asked.map(|at| (at, model[at as usize])).collect();
            assert_eq!(flat, expected, "round {round}");
            assert!(parts.windows(2).all(|pair| pair[0].1 != pair[1].1), "{parts:?}");
            let joined = ranges.ends.iter().zip(ranges.ends.keys().skip(1));
            assert!(joined.clone().all(|((start, end), next)| start < end && end < next));
        }
    }
}
