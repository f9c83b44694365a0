//! [`Fragments`]: range tombstones cut into key ranges that are in order and do not overlap. Tables
//! hold range tombstones in this form.
//!
//! - Each fragment lists sequence numbers of tombstones over it, newest first. Of the tombstones
//!   that the same readers see (no snapshot lies between them), [`Fragments::of`] lists the newest.
//! - Fragments may be adjacent, and there may be gaps between them.
//!
//! Example: tombstones 5 over a-m and 9 over g-z, with a snapshot at 7, become the fragments a-g
//! (5), g-m (9, 5) and m-z (9).
//!
//! Values that do not change: any number of threads.

use std::collections::BTreeSet;

use terrace_env::SeqNo;
use terrace_policy::{Key, Span};

use super::skyline::shared_bytes;
use super::{CoverRange, RangeSummary, RangeTombstone};

/// A range of keys with the same tombstones over all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) span: Span,
    /// Newest first; at least one.
    pub(crate) sequences: Vec<SeqNo>,
}

impl Fragment {
    /// The newest tombstone that a reader of a sequence sees.
    pub(crate) fn cover(&self, at: SeqNo) -> Option<SeqNo> {
        let newer = self.sequences.partition_point(|sequence| *sequence > at);
        self.sequences.get(newer).copied()
    }

    /// Approximate bytes in a table.
    pub(crate) fn bytes(&self) -> usize {
        self.span.start.len() + self.span.end.len() + 9 + self.sequences.len() * 8
    }

    /// Memory without its keys.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + (self.sequences.capacity() * 8 + 8).next_multiple_of(16).max(32)
    }

    /// The part of it within a range.
    pub(crate) fn within(&self, span: &Span) -> Self {
        let start = (&self.span.start).max(&span.start).clone();
        let end = (&self.span.end).min(&span.end).clone();
        Self { span: Span { start, end }, sequences: self.sequences.clone() }
    }
}

/// A bound of a tombstone. At one key, ends come before beginnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    End,
    Begin,
}

/// Fragments in order, without overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fragments(Vec<Fragment>);

impl Fragments {
    /// Fragments from a list in order.
    pub(crate) fn new(fragments: Vec<Fragment>) -> Self {
        debug_assert!(fragments.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
        debug_assert!(fragments.iter().all(|f| !f.span.is_empty() && !f.sequences.is_empty()));
        debug_assert!(
            fragments.iter().all(|f| f.sequences.is_sorted_by(|newer, older| newer > older)),
            "tombstones from the newest to the oldest"
        );
        Self(fragments)
    }

    /// Cuts tombstones in any order into fragments. Of the tombstones over a key that the same
    /// readers see (between two of the `snapshots`, ascending), only the newest is kept.
    pub(crate) fn of(tombstones: &[RangeTombstone], snapshots: &[SeqNo]) -> Self {
        // Beginnings and ends of the tombstones, in the order of keys.
        let mut bounds: Vec<(&Key, Edge, SeqNo)> = Vec::with_capacity(2 * tombstones.len());
        for RangeTombstone { span, sequence } in tombstones {
            bounds.push((&span.start, Edge::Begin, *sequence));
            bounds.push((&span.end, Edge::End, *sequence));
        }
        bounds.sort_unstable();
        let mut fragments: Vec<Fragment> = Vec::new();
        // Tombstones over the keys before the bound.
        let mut open: BTreeSet<SeqNo> = BTreeSet::new();
        let mut from: Option<&Key> = None;
        for of_key in bounds.chunk_by(|(one, ..), (other, ..)| one == other) {
            let bound = of_key[0].0;
            if let Some(start) = from.filter(|_| !open.is_empty()) {
                let sequences = newest_seen(&open, snapshots);
                let span = Span { start: start.clone(), end: bound.clone() };
                match fragments.last_mut() {
                    Some(last) if last.span.end == span.start && last.sequences == sequences => {
                        last.span.end = span.end;
                    }
                    _ => fragments.push(Fragment { span, sequences }),
                }
            }
            // A sequence may begin at the key where it ends: ends come first.
            for (_, edge, sequence) in of_key {
                match edge {
                    Edge::End => open.remove(sequence),
                    Edge::Begin => open.insert(*sequence),
                };
            }
            from = Some(bound);
        }
        debug_assert!(open.is_empty(), "{open:?}: a tombstone ends after it begins");
        Self::new(fragments)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Fragment> {
        self.0.iter()
    }

    pub(crate) fn into_vec(self) -> Vec<Fragment> {
        self.0
    }

    /// Memory of the fragments, including their own keys.
    pub(crate) fn memory(&self) -> usize {
        let keys = |span: &Span| shared_bytes(span.start.len()) + shared_bytes(span.end.len());
        self.0.iter().map(|fragment| fragment.memory() + keys(&fragment.span)).sum()
    }

    /// Summary of the fragments; `None` when there are none.
    pub(crate) fn summary(&self) -> Option<RangeSummary> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        let span = Span { start: first.span.start.clone(), end: last.span.end.clone() };
        let count = self.0.iter().map(|fragment| fragment.sequences.len() as u64).sum();
        Some(RangeSummary { count, span })
    }

    /// The newest tombstone over a key that a reader of a sequence sees.
    pub(crate) fn cover(&self, full_key: &[u8], at: SeqNo) -> Option<SeqNo> {
        let fragment = self.0.get(self.behind(full_key))?;
        if fragment.span.contains(full_key) { fragment.cover(at) } else { None }
    }

    /// Cover of a key for a reader of a sequence, with the range of keys around it that has the
    /// same cover.
    pub(crate) fn at(&self, full_key: &[u8], at: SeqNo) -> CoverRange {
        let index = self.behind(full_key);
        if let Some(fragment) = self.0.get(index)
            && fragment.span.contains(full_key)
        {
            let Span { start, end } = fragment.span.clone();
            return CoverRange { cover: fragment.cover(at), from: Some(start), until: Some(end) };
        }
        let before = index.checked_sub(1).map(|before| self.0[before].span.end.clone());
        let behind = self.0.get(index).map(|behind| behind.span.start.clone());
        CoverRange { cover: None, from: before, until: behind }
    }

    /// Fragments within a range, cut to it.
    pub(crate) fn within<'a>(&'a self, span: &'a Span) -> impl Iterator<Item = Fragment> + 'a {
        let first = self.behind(&span.start);
        let overlapping = self.0[first..].iter().take_while(|f| f.span.start < span.end);
        overlapping.map(|fragment| fragment.within(span))
    }

    /// Index of the first fragment that does not end before a key.
    fn behind(&self, full_key: &[u8]) -> usize {
        self.0.partition_point(|fragment| &fragment.span.end[..] <= full_key)
    }
}

/// Merges ranges as far as possible, and sorts them.
pub(crate) fn unite(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|a, b| a.start.cmp(&b.start));
    let mut united: Vec<Span> = Vec::new();
    for span in spans {
        match united.last_mut() {
            Some(last) if span.start <= last.end => last.end = span.end.max(last.end.clone()),
            _ => united.push(span),
        }
    }
    united
}

/// The newest open tombstone that each group of readers sees, newest first.
fn newest_seen(open: &BTreeSet<SeqNo>, snapshots: &[SeqNo]) -> Vec<SeqNo> {
    let mut kept = Vec::with_capacity(1);
    let mut next = open.last().copied();
    while let Some(newest) = next {
        kept.push(newest);
        let stripe = snapshots.partition_point(|snapshot| *snapshot < newest);
        // The newest snapshot that does not see this one sees the next one to keep.
        let older = stripe.checked_sub(1).map(|older| snapshots[older]);
        next = older.and_then(|older| open.range(..=older).next_back().copied());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::random::{Random, Rng};
    use terrace_env::test_seeds;

    const KEYS: u8 = 24;

    fn by_chance(random: &mut Random) -> Vec<RangeTombstone> {
        let count = random.random_range(0..12);
        let mut sequences: Vec<u64> = (1..40).collect();
        (0..count)
            .map(|_| {
                let start = random.random_range(0..KEYS);
                let end = random.random_range(start + 1..=KEYS);
                let drawn = random.random_range(0..sequences.len());
                let sequence = SeqNo(sequences.swap_remove(drawn));
                RangeTombstone { span: Span::new([start], [end]), sequence }
            })
            .collect()
    }

    fn snapshots_by_chance(random: &mut Random) -> Vec<SeqNo> {
        (0..45).filter(|_| random.random_bool(0.08)).map(SeqNo).collect()
    }

    /// The newest tombstone over a key at a sequence, in the simple way.
    fn cover_of(tombstones: &[RangeTombstone], key: u8, at: SeqNo) -> Option<SeqNo> {
        let over = tombstones.iter().filter(|t| t.span.contains(&[key]) && t.sequence <= at);
        over.map(|tombstone| tombstone.sequence).max()
    }

    #[test]
    fn every_snapshot_and_the_present_see_the_same_as_before() {
        for seed in test_seeds(3000) {
            let mut random = Random::seeded(seed);
            let (tombstones, snapshots) =
                (by_chance(&mut random), snapshots_by_chance(&mut random));
            let fragments = Fragments::of(&tombstones, &snapshots);
            for key in 0..=KEYS {
                for &at in snapshots.iter().chain([&SeqNo::MAX]) {
                    let expected = cover_of(&tombstones, key, at);
                    assert_eq!(fragments.cover(&[key], at), expected, "seed {seed}: {key} at {at}");
                    let range = fragments.at(&[key], at);
                    assert_eq!(range.cover, expected);
                    let around = (0..=KEYS).filter(|around| range.contains(&[*around]));
                    let same = |around| fragments.cover(&[around], at) == expected;
                    assert!(range.contains(&[key]) && around.into_iter().all(same));
                }
                // At most one is kept for each group of readers.
                let over: Vec<_> = fragments.iter().filter(|f| f.span.contains(&[key])).collect();
                let groups = |s: &SeqNo| snapshots.partition_point(|snapshot| snapshot < s);
                for fragment in over {
                    let mut seen: Vec<_> = fragment.sequences.iter().map(groups).collect();
                    seen.dedup();
                    assert_eq!(seen.len(), fragment.sequences.len(), "seed {seed}");
                }
            }
            let whole: Vec<RangeTombstone> = fragments
                .iter()
                .flat_map(|f| f.sequences.iter().map(|s| (f.span.clone(), *s)))
                .map(|(span, sequence)| RangeTombstone { span, sequence })
                .collect();
            assert_eq!(Fragments::of(&whole, &snapshots), fragments, "seed {seed}: not stable");
        }
    }

    #[test]
    fn a_part_of_them_is_cut_to_its_range() {
        for seed in test_seeds(300) {
            let mut random = Random::seeded(seed);
            let fragments = Fragments::of(&by_chance(&mut random), &[]);
            let start = random.random_range(0..KEYS);
            let span = Span::new([start], [random.random_range(start + 1..=KEYS)]);
            let part = Fragments::new(fragments.within(&span).collect());
            for key in 0..=KEYS {
                let whole = fragments.cover(&[key], SeqNo::MAX);
                let expected = whole.filter(|_| span.contains(&[key]));
                assert_eq!(part.cover(&[key], SeqNo::MAX), expected, "seed {seed}");
            }
        }
    }
}
