//! [`JobRanges`]: range tombstones in a flush or a subcompaction: which entries they hide, and
//! which of them go into its tables.
//!
//! - The snapshots divide the sequence numbers into stripes: each stripe but the newest ends with
//!   the sequence of a snapshot. The entries and tombstones of one stripe are seen by the same
//!   snapshots. So a tombstone hides the older entries of its own stripe. Of the tombstones of a
//!   stripe over one key, the newest is kept.
//! - A tombstone of the oldest stripe is dropped from keys without older entries below. If the job
//!   does not know the entries below, like a flush, it is kept.
//! - At the key where a table ends, a tombstone is cut, and each of the two tables gets its part.
//!
//! The job must ask in key order and not go back. One thread. No I/O.

use std::sync::Arc;

use terrace_env::{MemoryGauge, MemoryLease, SeqNo};
use terrace_policy::{Key, Span};

use super::{Fragment, Fragments, RangeTombstone, unite};
use crate::old_versions::HeldBy;

/// The range tombstones of a job.
#[derive(Debug, Default)]
pub(crate) struct JobRanges {
    snapshots: Vec<SeqNo>,
    /// Ranges below the inputs that may hold older entries, disjoint and in key order; `None`: any.
    below: Option<Vec<Span>>,
    /// All tombstones of the inputs, and the job's position in them.
    covers: Vec<Fragment>,
    at: usize,
    /// Fragments that go into tables; `None`: those of `covers`. The job's position in them.
    kept: Option<Vec<Fragment>>,
    next: usize,
    /// Number of fragments of `kept` that count for the open table, and their bytes.
    counted: usize,
    counted_bytes: usize,
    /// Lease that counts its memory, if there is one.
    _memory: Option<MemoryLease>,
}

impl JobRanges {
    /// Range tombstones for a job. `below`: ranges of older entries below the inputs, in any order;
    /// `None`: any.
    pub(crate) fn new(
        tombstones: &[RangeTombstone],
        snapshots: &[SeqNo],
        below: impl FnOnce() -> Option<Vec<Span>>,
    ) -> Self {
        if tombstones.is_empty() {
            return Self::default();
        }
        let covers = Fragments::of(tombstones, snapshots).into_vec();
        let below = below().map(unite);
        let kept = below.as_ref().map(|below| what_is_needed(&covers, snapshots, below));
        let snapshots = snapshots.to_vec();
        Self { snapshots, below, covers, kept, ..Self::default() }
    }

    /// The same, with its memory counted by a gauge.
    pub(crate) fn counted_by(self, gauge: &MemoryGauge) -> Self {
        // The memtable or the open tables count these keys.
        let kept = self.kept.iter().flatten();
        let bytes = self.covers.iter().chain(kept).map(Fragment::memory).sum();
        Self { _memory: Some(gauge.lease(bytes)), ..self }
    }

    fn kept(&self) -> &[Fragment] {
        self.kept.as_deref().unwrap_or(&self.covers)
    }

    /// Whether all have gone into tables.
    pub(crate) fn is_done(&self) -> bool {
        self.next == self.kept().len()
    }

    /// Bytes of the fragments that go into tables, and of the largest of them.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let bytes = |fragment: &Fragment| fragment.bytes() as u64;
        let kept = self.kept();
        (kept.iter().map(bytes).sum(), kept.iter().map(bytes).max().unwrap_or(0))
    }

    /// Whether no reader sees an entry any more. Keys come in order.
    pub(crate) fn hides(&mut self, full_key: &[u8], sequence: SeqNo) -> bool {
        // The oldest newer tombstone is in the entry's stripe, or none is.
        let cover = self.oldest_cover(full_key, sequence);
        cover.is_some_and(|cover| self.stripe(cover) == self.stripe(sequence))
    }

    /// The oldest tombstone over an entry that is newer than it. Keys come in order.
    pub(crate) fn oldest_cover(&mut self, full_key: &[u8], sequence: SeqNo) -> Option<SeqNo> {
        let fragment = self.fragment_at(full_key)?;
        let newer = fragment.sequences.partition_point(|cover| *cover > sequence);
        newer.checked_sub(1).map(|oldest| fragment.sequences[oldest])
    }

    /// The tombstones of a fragment that only snapshots keep: these snapshots, and the approximate
    /// bytes of the tombstone. A newer one over the same keys has replaced it, or no entry lies
    /// below it.
    pub(crate) fn held_by<'a>(
        &'a self,
        fragment: &'a Fragment,
    ) -> impl Iterator<Item = (HeldBy, u64)> + 'a {
        let Fragment { span, sequences } = fragment;
        let hides_nothing = self.below.as_ref().is_some_and(|below| {
            let first = below.partition_point(|other| other.end <= span.start);
            below.get(first).is_none_or(|other| other.start >= span.end)
        });
        let bytes = (fragment.bytes() / sequences.len()) as u64;
        let newest = sequences.first().filter(|_| hides_nothing);
        let newest = newest.and_then(|newest| HeldBy::before(&self.snapshots, *newest));
        let others = sequences.windows(2);
        let others = others.filter_map(|pair| HeldBy::between(&self.snapshots, pair[1], pair[0]));
        newest.into_iter().chain(others).map(move |held_by| (held_by, bytes))
    }

    /// The newest tombstone over a key that all readers see, and the first key after it: no reader
    /// sees older entries up to there. Keys come in order.
    pub(crate) fn hides_from_all(&mut self, full_key: &[u8]) -> Option<(SeqNo, Key)> {
        let fragment = self.fragment_at(full_key)?;
        let oldest = *fragment.sequences.last()?;
        let end = Arc::clone(&fragment.span.end);
        (self.stripe(oldest) == 0).then_some((oldest, end))
    }

    fn fragment_at(&mut self, full_key: &[u8]) -> Option<&Fragment> {
        while self.covers.get(self.at).is_some_and(|f| &f.span.end[..] <= full_key) {
            self.at += 1;
        }
        debug_assert!(
            self.at == 0 || &self.covers[self.at - 1].span.end[..] <= full_key,
            "keys in order"
        );
        self.covers.get(self.at).filter(|fragment| fragment.span.contains(full_key))
    }

    fn stripe(&self, sequence: SeqNo) -> usize {
        self.snapshots.partition_point(|snapshot| *snapshot < sequence)
    }

    /// Whether the open table would take any that begin before a key.
    pub(crate) fn begin_before(&self, full_key: &[u8]) -> bool {
        self.kept().get(self.next).is_some_and(|fragment| &fragment.span.start[..] < full_key)
    }

    /// Bytes of those that begin before the job's position, and that the open table will take.
    pub(crate) fn pending_bytes(&self) -> u64 {
        self.counted_bytes as u64
    }

    /// The start of the next one that does not count for the open table yet.
    pub(crate) fn next_start(&self) -> Option<&Key> {
        self.kept().get(self.counted.max(self.next)).map(|fragment| &fragment.span.start)
    }

    /// Counts it for the open table.
    pub(crate) fn count_next(&mut self) {
        self.counted = self.counted.max(self.next);
        self.counted_bytes += self.kept()[self.counted].bytes();
        self.counted += 1;
    }

    /// Takes the fragments of a table that ends before a key, or is the last one.
    pub(crate) fn take_until(&mut self, end: Option<&[u8]>) -> Vec<Fragment> {
        let mut taken = Vec::new();
        self.counted_bytes = 0;
        // After a cut, only keys after it are looked up: so `covers` can share a cut fragment.
        let kept = self.kept.as_mut().unwrap_or(&mut self.covers);
        while let Some(fragment) = kept.get_mut(self.next) {
            match end {
                Some(end) if *end <= fragment.span.start[..] => break,
                Some(end) if *end < fragment.span.end[..] => {
                    let cut: Key = end.into();
                    let before = Span::new(fragment.span.start.clone(), cut.clone());
                    taken.push(fragment.within(&before));
                    fragment.span.start = cut;
                    self.counted_bytes = fragment.bytes();
                    self.counted = self.next + 1;
                    return taken;
                }
                _ => {
                    taken.push(fragment.clone());
                    self.next += 1;
                }
            }
        }
        self.counted = self.next;
        taken
    }
}

/// The fragments without the tombstones of the oldest stripe, where no entry lies below.
fn what_is_needed(covers: &[Fragment], snapshots: &[SeqNo], below: &[Span]) -> Vec<Fragment> {
    let mut needed = Vec::new();
    for fragment in covers {
        let newer = fragment.sequences.iter();
        let newer: Vec<SeqNo> =
            newer.copied().filter(|s| snapshots.first().is_some_and(|first| first < s)).collect();
        if newer.len() == fragment.sequences.len() {
            needed.push(fragment.clone());
            continue;
        }
        let mut bare = vec![fragment.span.clone()];
        let first = below.partition_point(|span| span.end <= fragment.span.start);
        for span in below[first..].iter().take_while(|span| span.start < fragment.span.end) {
            let rest = bare.pop().into_iter().flat_map(|rest| rest.without(span));
            bare.extend(rest.collect::<Vec<_>>());
            needed.push(fragment.within(span));
        }
        if !newer.is_empty() {
            let of = |span| Fragment { span, sequences: newer.clone() };
            needed.extend(bare.into_iter().map(of));
        }
    }
    needed.sort_by(|a, b| a.span.start.cmp(&b.span.start));
    debug_assert!(needed.is_sorted_by(|a, b| a.span.end <= b.span.start), "{needed:?}");
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::{Retention, Verdict};
    use crate::key::{Kind, Trailer};
    use terrace_env::random::{Random, Rng};
    use terrace_env::test_seeds;

    const KEYS: u8 = 16;

    /// Entries and tombstones of a test, newest or oldest first, by key and sequence.
    #[derive(Clone, Debug, Default)]
    struct Written {
        entries: Vec<(u8, Trailer)>,
        tombstones: Vec<RangeTombstone>,
    }

    impl Written {
        /// Random writes, with the sequences from `first` on.
        fn by_chance(random: &mut Random, first: u64) -> Self {
            let mut written = Self::default();
            for sequence in (first..first + random.random_range(0..25)).map(SeqNo) {
                let key = random.random_range(0..KEYS);
                if random.random_bool(0.3) {
                    let span = Span::new([key], [random.random_range(key + 1..=KEYS)]);
                    written.tombstones.push(RangeTombstone { span, sequence });
                } else {
                    let kind = if random.random_bool(0.3) { Kind::Delete } else { Kind::Put };
                    written.entries.push((key, Trailer::new(sequence, kind)));
                }
            }
            written.entries.sort_unstable();
            written
        }

        /// The sequence of the visible entry of a key, in the simple way; `None` if there is none.
        fn get(&self, below: &Self, key: u8, at: SeqNo) -> Option<SeqNo> {
            let visible = |sequence: SeqNo| sequence <= at;
            let entries = self.entries.iter().chain(&below.entries);
            let entries = entries.filter(|(of, t)| *of == key && visible(t.sequence()));
            let newest = entries.map(|(_, trailer)| *trailer).min()?;
            let over = self.tombstones.iter().chain(&below.tombstones);
            let cover = over.filter(|t| t.span.contains(&[key]) && visible(t.sequence));
            let cover = cover.map(|tombstone| tombstone.sequence).max();
            let put = newest.kind() == Some(Kind::Put);
            (put && cover < Some(newest.sequence())).then_some(newest.sequence())
        }

        /// From the first to the last key.
        fn span(&self) -> Option<Span> {
            let entries = self.entries.iter().map(|(key, _)| Span::new([*key], [*key + 1]));
            let ranges = self.tombstones.iter().map(|tombstone| tombstone.span.clone());
            entries.chain(ranges).reduce(|hull, span| hull.hull(&span))
        }
    }

    /// A job that writes `inputs` to tables that end at these keys.
    fn job(inputs: &Written, below: &Written, snapshots: &[SeqNo], ends: &[u8]) -> Written {
        let spans: Vec<Span> = below.span().into_iter().collect();
        let mut ranges = JobRanges::new(&inputs.tombstones, snapshots, || Some(spans.clone()));
        let mut retention = Retention::new(snapshots.to_vec());
        let mut left = Written::default();
        for (key, trailer) in &inputs.entries {
            if ranges.hides(&[*key], trailer.sequence()) {
                continue;
            }
            let older_below = |key: &[u8]| spans.iter().any(|span| span.contains(key));
            if retention.judge(&[*key], *trailer, None, older_below) != Verdict::Drop {
                left.entries.push((*key, *trailer));
            }
        }
        let mut start: Key = [0].into();
        for end in ends.iter().map(Some).chain([None]) {
            let end: Option<Key> = end.map(|end| [*end].into());
            for Fragment { span, sequences } in ranges.take_until(end.as_deref()) {
                assert!(start <= span.start && end.as_ref().is_none_or(|end| span.end <= *end));
                let of = |sequence| RangeTombstone { span: span.clone(), sequence };
                left.tombstones.extend(sequences.into_iter().map(of));
            }
            start = end.unwrap_or_else(|| [KEYS].into());
        }
        assert!(ranges.is_done());
        left
    }

    #[test]
    fn after_a_job_every_snapshot_and_the_present_see_what_they_saw() {
        let mut dropped = 0;
        for seed in test_seeds(4000) {
            let mut random = Random::seeded(seed);
            let below = Written::by_chance(&mut random, 1);
            let inputs = Written::by_chance(&mut random, 100);
            let snapshots: Vec<SeqNo> =
                (0..130).filter(|_| random.random_bool(0.03)).map(SeqNo).collect();
            let ends: Vec<u8> = (1..KEYS).filter(|_| random.random_bool(0.2)).collect();
            let left = job(&inputs, &below, &snapshots, &ends);
            dropped += inputs.tombstones.len().saturating_sub(left.tombstones.len());
            for key in 0..KEYS {
                for &at in snapshots.iter().chain([&SeqNo::MAX]) {
                    let expected = inputs.get(&below, key, at);
                    assert_eq!(left.get(&below, key, at), expected, "seed {seed}: {key} at {at}");
                }
            }
            // The job keeps nothing that no reader needs.
            let bare = job(&inputs, &Written::default(), &[], &ends);
            assert!(bare.tombstones.is_empty(), "seed {seed}: {bare:?}");
            let put = |(_, trailer): &(u8, Trailer)| trailer.kind() == Some(Kind::Put);
            assert!(bare.entries.iter().all(put), "seed {seed}: {bare:?}");
            for (key, trailer) in &bare.entries {
                let found = inputs.get(&Written::default(), *key, SeqNo::MAX);
                assert_eq!(found, Some(trailer.sequence()), "seed {seed}");
            }
        }
        assert!(dropped > 1000, "only {dropped} tombstones were dropped");
    }

    #[test]
    fn what_is_hidden_from_all_may_be_leapt_over() {
        for seed in test_seeds(1000) {
            let mut random = Random::seeded(seed);
            let inputs = Written::by_chance(&mut random, 1);
            let snapshots: Vec<SeqNo> =
                (0..30).filter(|_| random.random_bool(0.05)).map(SeqNo).collect();
            let mut ranges = JobRanges::new(&inputs.tombstones, &snapshots, || None);
            for key in 0..KEYS {
                let Some((cover, until)) = ranges.hides_from_all(&[key]) else { continue };
                for key in key..until[0] {
                    let mut again = JobRanges::new(&inputs.tombstones, &snapshots, || None);
                    let hidden = (0..cover.0).all(|older| again.hides(&[key], SeqNo(older)));
                    assert!(hidden, "seed {seed}: {key} below {cover}");
                }
            }
        }
    }

    #[test]
    fn pieces_of_one_tombstone_are_counted_into_every_table_that_takes_one() {
        let whole = RangeTombstone { span: Span::new([2], [9]), sequence: SeqNo(5) };
        let mut ranges = JobRanges::new(&[whole], &[], || None);
        assert_eq!((ranges.pending_bytes(), ranges.next_start()), (0, Some(&Key::from([2]))));
        assert!(!ranges.begin_before(&[2]) && ranges.begin_before(&[3]));
        ranges.count_next();
        assert!(ranges.pending_bytes() > 0 && ranges.next_start().is_none());
        assert_eq!(ranges.take_until(Some(&[4]))[0].span, Span::new([2], [4]));
        assert!(ranges.pending_bytes() > 0 && ranges.begin_before(&[5]) && !ranges.is_done());
        assert_eq!(ranges.take_until(None)[0].span, Span::new([4], [9]));
        assert!(ranges.pending_bytes() == 0 && ranges.is_done());
    }

    #[test]
    fn what_a_job_keeps_apart_from_its_covers_is_counted_too() {
        let gauge = MemoryGauge::new("test");
        let whole = [RangeTombstone { span: Span::new([2], [9]), sequence: SeqNo(5) }];
        let counted = |below: Option<Vec<Span>>| {
            let _ranges = JobRanges::new(&whole, &[], || below).counted_by(&gauge);
            gauge.used().0
        };
        let covers = counted(None);
        assert!(covers > 0);
        assert_eq!(counted(Some(vec![Span::new([0], [20])])), 2 * covers);
        assert_eq!((counted(Some(Vec::new())), gauge.used().0), (covers, 0), "nothing is kept");
    }
}
