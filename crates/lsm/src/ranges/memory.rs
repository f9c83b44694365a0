//! [`MemoryRanges`]: the range tombstones of a memtable, as a reader of any sequence number sees
//! them.
//!
//! - Tombstones come in batches, each newer than those before. Nothing is removed. No reader has a
//!   sequence number within a batch.
//! - A batch is stored with the [`Skyline`] of all tombstones up to its last. A reader finds the
//!   skyline of its sequence number, even after later batches.
//! - Batches lie in buckets, each twice as large as the one before, so that nothing moves once it
//!   is stored.
//! - All held memory is counted: tombstones and their keys, the buckets, and the nodes of skylines.
//!   A single tombstone as a batch costs the nodes on the way to the two ends of its range, some 2
//!   KiB with ten thousand tombstones. One of a large batch costs [`TOMBSTONE_BYTES`] and its keys.
//!
//! Threads: one writer at a time adds. Any number of readers search meanwhile, without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_env::SeqNo;

use super::skyline::{NODE_BYTES, shared_bytes};
use super::{RangeTombstone, Skyline};
use crate::batch::Batch;

/// The size of the first bucket.
const BUCKET_FIRST: usize = 16;
/// Number of buckets, enough for more tombstones than fit in memory.
const BUCKETS: usize = 32;
/// Least bytes of a tombstone, without the bytes of its two keys.
const TOMBSTONE_BYTES: usize =
    size_of::<RangeTombstone>() + NODE_BYTES + 2 * (2 * size_of::<usize>() + 8);

/// The tombstones of a batch, and the skyline after the last of them.
#[derive(Debug)]
struct Moment {
    tombstones: Box<[RangeTombstone]>,
    skyline: Skyline,
}

impl Moment {
    /// Whether a reader of a sequence sees the batch.
    fn is_seen(&self, sequence: SeqNo) -> bool {
        self.tombstones.last().is_some_and(|last| last.sequence <= sequence)
    }
}

type Bucket = OnceLock<Box<[OnceLock<Moment>]>>;

/// The range tombstones of a memtable.
#[derive(Debug, Default)]
pub(crate) struct MemoryRanges {
    buckets: [Bucket; BUCKETS],
    /// Number of batches.
    batches: AtomicUsize,
    /// Number of tombstones.
    count: AtomicUsize,
}

impl MemoryRanges {
    /// Least bytes of the range deletes of a batch, without their keys.
    pub(crate) fn least_of(batch: &Batch) -> usize {
        batch.ranges() * TOMBSTONE_BYTES
    }

    /// Adds the tombstones of a batch, at least one, which are newer than all others and in order.
    /// Returns their memory. One caller at a time.
    pub(crate) fn insert(&self, tombstones: Vec<RangeTombstone>) -> usize {
        let batches = self.batches.load(Ordering::Relaxed);
        let newest = batches.checked_sub(1).map(|last| self.moment(last));
        let mut skyline = newest.map_or_else(Skyline::default, |moment| moment.skyline.clone());
        debug_assert!(newest.is_none_or(|newest| newest.is_seen(tombstones[0].sequence)));
        debug_assert!(
            tombstones.is_sorted_by(|older, newer| older.sequence < newer.sequence),
            "tombstones from the oldest to the newest"
        );
        tombstones.iter().for_each(|tombstone| skyline.paint(tombstone));
        let keys = tombstones.iter().map(|RangeTombstone { span, .. }| {
            shared_bytes(span.start.len()) + shared_bytes(span.end.len())
        });
        let mut bytes = keys.sum::<usize>()
            + tombstones.len() * size_of::<RangeTombstone>()
            + skyline.own_nodes() * NODE_BYTES;
        let (bucket, slot) = place(batches);
        let slots = self.buckets[bucket].get_or_init(|| {
            bytes += (BUCKET_FIRST << bucket) * size_of::<OnceLock<Moment>>();
            (0..BUCKET_FIRST << bucket).map(|_| OnceLock::new()).collect()
        });
        let count = self.len() + tombstones.len();
        let filled = slots[slot].set(Moment { tombstones: tombstones.into(), skyline });
        assert!(filled.is_ok(), "range tombstones are added by one writer at a time");
        self.count.store(count, Ordering::Relaxed);
        self.batches.store(batches + 1, Ordering::Release);
        bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.load(Ordering::Acquire) == 0
    }

    /// Number of tombstones.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The tombstones that a reader of a sequence sees.
    pub(crate) fn at(&self, sequence: SeqNo) -> Skyline {
        self.seen(sequence).map_or_else(Skyline::default, |moment| moment.skyline.clone())
    }

    /// The newest tombstone over a key that a reader of a sequence sees.
    pub(crate) fn cover(&self, full_key: &[u8], at: SeqNo) -> Option<SeqNo> {
        if self.is_empty() { None } else { self.seen(at)?.skyline.cover(full_key) }
    }

    /// All tombstones, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RangeTombstone> {
        let batches = self.batches.load(Ordering::Acquire);
        (0..batches).flat_map(|index| &self.moment(index).tombstones)
    }

    /// Tombstones that are newer than a sequence, newest batch first.
    pub(crate) fn newer_than(&self, sequence: SeqNo) -> impl Iterator<Item = &RangeTombstone> {
        let batches = (0..self.batches.load(Ordering::Acquire)).rev();
        let newer = batches.map(|index| self.moment(index));
        let newer = newer.take_while(move |moment| !moment.is_seen(sequence));
        let newer = newer.flat_map(|moment| &moment.tombstones);
        newer.filter(move |tombstone| tombstone.sequence > sequence)
    }

    fn seen(&self, sequence: SeqNo) -> Option<&Moment> {
        let (mut seen, mut end) = (0, self.batches.load(Ordering::Acquire));
        // Mostly the newest.
        if end > 0 && self.moment(end - 1).is_seen(sequence) {
            return Some(self.moment(end - 1));
        }
        while seen < end {
            let middle = seen + (end - seen) / 2;
            if self.moment(middle).is_seen(sequence) {
                seen = middle + 1;
            } else {
                end = middle;
            }
        }
        Some(self.moment(seen.checked_sub(1)?))
    }

    fn moment(&self, index: usize) -> &Moment {
        let (bucket, slot) = place(index);
        let slots = self.buckets[bucket].get().expect("a bucket that was filled");
        slots[slot].get().expect("a slot that was filled before it was counted")
    }
}

/// The bucket of an index, and the slot in it.
fn place(index: usize) -> (usize, usize) {
    let bucket = (index / BUCKET_FIRST + 1).ilog2() as usize;
    (bucket, index - ((1 << bucket) - 1) * BUCKET_FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_policy::Span;

    #[test]
    fn every_index_has_a_place_of_its_own() {
        let mut expected = (0..4).flat_map(|b| (0..BUCKET_FIRST << b).map(move |slot| (b, slot)));
        assert!((0..BUCKET_FIRST * 15).all(|index| expected.next() == Some(place(index))));
    }

    #[test]
    fn a_reader_sees_what_was_there_at_its_sequence() {
        let ranges = MemoryRanges::default();
        assert_eq!(ranges.cover(b"k", SeqNo::MAX), None);
        for number in 1..=100u8 {
            let span = Span::new([0], [number]);
            let sequence = SeqNo(u64::from(number) * 10);
            ranges.insert(vec![RangeTombstone { span, sequence }]);
        }
        for key in 0..110u8 {
            for at in 0..1100 {
                let newest = (at / 10).min(100);
                let cover = (u64::from(key) < newest).then_some(SeqNo(newest * 10));
                assert_eq!(ranges.cover(&[key], SeqNo(at)), cover, "{key} at {at}");
            }
        }
        assert_eq!((ranges.len(), ranges.iter().count()), (100, 100));
    }

    #[test]
    fn tombstones_of_a_batch_take_memory_in_proportion_to_the_batch() {
        let of = |first: u64, count: u64| -> Vec<RangeTombstone> {
            let span = |number: u64| Span::new(number.to_be_bytes(), (number + 1).to_be_bytes());
            let of = |n| RangeTombstone { span: span(n), sequence: SeqNo(n + 1) };
            (first..first + count).map(of).collect()
        };
        let (ranges, count) = (MemoryRanges::default(), 20_000);
        let bytes = ranges.insert(of(0, count));
        let least = count as usize * (TOMBSTONE_BYTES + 16);
        assert!((least..least + least / 8).contains(&bytes), "{bytes} of at least {least}");
        // As single batches, each copies the nodes on its way through the others.
        let alone: usize = (count..count + 100).map(|n| ranges.insert(of(n, 1))).sum();
        assert!((50_000..400_000).contains(&alone), "{alone}");
        assert_eq!((ranges.len(), ranges.iter().count()), (20_100, 20_100));
        assert_eq!(ranges.cover(&7u64.to_be_bytes(), SeqNo(count)), Some(SeqNo(8)));
        assert_eq!(ranges.cover(&7u64.to_be_bytes(), SeqNo(count - 1)), None);
    }
}
