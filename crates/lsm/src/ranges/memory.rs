//! [`MemoryRanges`]: the range tombstones of a memtable, as a reader of any sequence number sees
//! them.
//!
//! - Each tombstone must be newer than those before. Nothing is removed.
//! - Each tombstone is stored with the [`Skyline`] of all tombstones up to it. A reader finds the
//!   skyline of its sequence number, whatever is added meanwhile.
//! - Tombstones lie in buckets, each twice as large as the one before, so that nothing moves once
//!   it is stored. The memory that a tombstone takes is an estimate.
//!
//! Threads: one writer at a time adds. Any number of readers look meanwhile, without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_env::SeqNo;

use super::{RangeTombstone, Skyline};

/// The size of the first bucket.
const BUCKET_FIRST: usize = 16;
/// More than a batch's 32-bit count of entries needs.
const BUCKETS: usize = 32;
/// Bytes that a tombstone takes besides its keys: copied nodes on the way to the two ends of its
/// range, some fifteen deep where there are ten thousand.
pub(crate) const TOMBSTONE_BYTES: usize = 2048;

/// A tombstone, and what is seen from its sequence on.
#[derive(Debug)]
struct Moment {
    tombstone: RangeTombstone,
    skyline: Skyline,
}

type Bucket = OnceLock<Box<[OnceLock<Moment>]>>;

/// The range tombstones of a memtable.
#[derive(Debug, Default)]
pub(crate) struct MemoryRanges {
    buckets: [Bucket; BUCKETS],
    count: AtomicUsize,
}

impl MemoryRanges {
    /// Adds a tombstone that is newer than all others; returns about the memory it takes. One
    /// caller at a time.
    pub(crate) fn insert(&self, tombstone: RangeTombstone) -> usize {
        let count = self.count.load(Ordering::Relaxed);
        let newest = count.checked_sub(1).map(|last| self.moment(last));
        let before = newest.map_or_else(Skyline::default, |moment| moment.skyline.clone());
        debug_assert!(newest.is_none_or(|last| last.tombstone.sequence < tombstone.sequence));
        let bytes = TOMBSTONE_BYTES + tombstone.bytes();
        let skyline = before.painted(&tombstone);
        let (bucket, slot) = place(count);
        let slots = self.buckets[bucket]
            .get_or_init(|| (0..BUCKET_FIRST << bucket).map(|_| OnceLock::new()).collect());
        let filled = slots[slot].set(Moment { tombstone, skyline });
        assert!(filled.is_ok(), "range tombstones are added by one writer at a time");
        self.count.store(count + 1, Ordering::Release);
        bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// The tombstones that a reader of a sequence sees.
    pub(crate) fn at(&self, sequence: SeqNo) -> Skyline {
        self.seen(sequence).map_or_else(Skyline::default, |moment| moment.skyline.clone())
    }

    /// The newest tombstone over a key that a reader of a sequence sees.
    pub(crate) fn cover(&self, full_key: &[u8], at: SeqNo) -> Option<SeqNo> {
        if self.is_empty() { None } else { self.seen(at)?.skyline.cover(full_key) }
    }

    /// All of them, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RangeTombstone> {
        (0..self.len()).map(|index| &self.moment(index).tombstone)
    }

    fn seen(&self, sequence: SeqNo) -> Option<&Moment> {
        let (mut seen, mut end) = (0, self.len());
        // Mostly the newest.
        if end > 0 && self.moment(end - 1).tombstone.sequence <= sequence {
            return Some(self.moment(end - 1));
        }
        while seen < end {
            let middle = seen + (end - seen) / 2;
            if self.moment(middle).tombstone.sequence <= sequence {
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

/// The bucket that an index lies in, and where.
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
            ranges.insert(RangeTombstone { span, sequence: SeqNo(u64::from(number) * 10) });
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
}
