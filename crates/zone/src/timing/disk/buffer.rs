//! [`WriteBuffer`]: the write cache of a modelled disk. It holds *dirty ranges*: parts of the
//! platters that the head has still to write. It keeps ranges, not bytes.
//!
//! - A write that begins where a range of the same cause ends is joined to it. So a sequential
//!   stream of one cause is one range.
//! - A write that overlaps ranges is merged with them, for any causes. The new range has
//!   the cause of the write.
//! - A range has the number of its oldest write, so that a flush can wait for the ranges with
//!   numbers below its own. While a flush waits, a write that only touches a range that is older
//!   than the flush begins a new one.
//!
//! The buffer can tell whether one range holds all bytes of a read. The caller decides which writes
//! there is room for, and gives the times.

use std::collections::{BTreeMap, BTreeSet};

use terrace_env::Cause;

/// A forced write that completes when the medium has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) ticket: u64,
    /// The end of its bytes.
    pub(super) end: u64,
}

/// A range to be written.
#[derive(Clone, Debug)]
pub(super) struct DirtyRange {
    pub(super) end: u64,
    /// The number of its first write.
    pub(super) number: u64,
    pub(super) cause: Cause,
    /// When its first bytes arrived.
    pub(super) born: u64,
    /// How often others were written before it although they are newer.
    pub(super) passed: u32,
    waiters: Vec<Waiter>,
}

/// Run of cached blocks that the head takes out of the cache to write it.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) end: u64,
    pub(super) cause: Cause,
    /// Forced writes that this completes.
    pub(super) waiters: Vec<Waiter>,
}

/// The write cache of a disk.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteBuffer {
    ranges: BTreeMap<u64, DirtyRange>,
    /// The starts of ranges by number.
    by_age: BTreeMap<u64, u64>,
    /// The starts of those that forced writes wait for.
    forced: BTreeSet<u64>,
    bytes: u64,
    next: u64,
}

impl WriteBuffer {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The number of the next write.
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// The oldest range.
    pub(super) fn oldest(&self) -> Option<&DirtyRange> {
        let (_, start) = self.by_age.first_key_value()?;
        self.ranges.get(start)
    }

    /// When the first of the ranges that forced writes wait for arrived.
    pub(super) fn forced_since(&self) -> Option<u64> {
        self.forced.iter().map(|start| self.ranges[start].born).min()
    }

    /// Takes a write in. Ranges older than `barrier` are not made longer.
    pub(super) fn insert(
        &mut self,
        (start, end): (u64, u64),
        cause: Cause,
        now: u64,
        barrier: u64,
        forced: Option<u64>,
    ) {
        let mut start = start;
        let mut range = DirtyRange {
            end,
            number: self.next,
            cause,
            born: now,
            passed: 0,
            waiters: forced.map(|ticket| Waiter { ticket, end }).into_iter().collect(),
        };
        self.next += 1;
        while let Some((at, other)) = self.ranges.range(..range.end).next_back() {
            let (at, touches) = (*at, other.end == start);
            let joins = touches && other.cause == cause && other.number >= barrier;
            if other.end <= start && !joins {
                break;
            }
            let other = self.remove(at);
            range.end = range.end.max(other.end);
            range.number = range.number.min(other.number);
            range.born = range.born.min(other.born);
            range.passed = range.passed.max(other.passed);
            range.waiters.splice(0..0, other.waiters);
            start = start.min(at);
        }
        self.put(start, range);
    }

    fn put(&mut self, start: u64, range: DirtyRange) {
        self.bytes += range.end - start;
        self.by_age.insert(range.number, start);
        if !range.waiters.is_empty() {
            self.forced.insert(start);
        }
        self.ranges.insert(start, range);
    }

    fn remove(&mut self, start: u64) -> DirtyRange {
        let range = self.ranges.remove(&start).expect("a range that is in the cache");
        self.bytes -= range.end - start;
        self.by_age.remove(&range.number);
        self.forced.remove(&start);
        range
    }

    /// Whether all of `start..end` is in one range.
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        let before = self.ranges.range(..=start).next_back();
        before.is_some_and(|(_, range)| end <= range.end)
    }

    /// The starts of the `count` oldest ranges with numbers below `limit`.
    pub(super) fn by_age(&self, limit: u64, count: usize) -> impl Iterator<Item = u64> + '_ {
        self.by_age.range(..limit).take(count).map(|(_, start)| *start)
    }

    /// The start of the next range in the head's direction.
    pub(super) fn from(&self, byte: u64) -> Option<u64> {
        self.ranges.range(byte..).next().map(|(start, _)| *start)
    }

    /// The starts of the ranges that forced writes wait for.
    pub(super) fn forced(&self) -> impl Iterator<Item = u64> + '_ {
        self.forced.iter().copied()
    }

    pub(super) fn range(&self, start: u64) -> &DirtyRange {
        &self.ranges[&start]
    }

    /// Takes out at most `most` bytes of the range at `start`. Older ones are passed over.
    pub(super) fn take(&mut self, start: u64, most: u64) -> Taken {
        let mut range = self.remove(start);
        let end = range.end.min(start + most);
        let (done, left) = range.waiters.into_iter().partition(|waiter| waiter.end <= end);
        let taken = Taken { end, cause: range.cause, waiters: done };
        let number = range.number;
        if end < range.end {
            range.waiters = left;
            self.put(end, range);
        }
        if let Some((_, oldest)) = self.by_age.range(..number).next() {
            self.ranges.get_mut(oldest).expect("the oldest range").passed += 1;
        }
        taken
    }

    /// Drops the ranges in `start..end` without waiters: the zone there was reset.
    pub(super) fn discard(&mut self, start: u64, end: u64) {
        let inside = self.ranges.range(start..end);
        let idle = inside.filter(|(_, range)| range.waiters.is_empty() && range.end <= end);
        for start in idle.map(|(start, _)| *start).collect::<Vec<_>>() {
            self.remove(start);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self { next: self.next, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAUSE: Cause = Cause::Client;

    #[test]
    fn a_stream_is_one_range_until_a_flush_waits_for_it() {
        let mut buffer = WriteBuffer::default();
        for at in 0..10 {
            buffer.insert((at * 10, at * 10 + 10), CAUSE, at, 0, None);
        }
        assert_eq!(buffer.by_age(u64::MAX, 9).collect::<Vec<_>>(), [0]);
        let barrier = buffer.next_number();
        buffer.insert((100, 110), CAUSE, 20, barrier, None);
        assert_eq!(buffer.by_age(barrier, 9).collect::<Vec<_>>(), [0]);
        assert_eq!(buffer.by_age(u64::MAX, 9).collect::<Vec<_>>(), [0, 100]);
        assert!(buffer.holds(0, 100) && !buffer.holds(90, 110));
        assert_eq!(buffer.bytes(), 110);
    }

    #[test]
    fn writes_that_overlap_become_one_and_count_once() {
        let mut buffer = WriteBuffer::default();
        buffer.insert((0, 10), CAUSE, 0, 0, Some(7));
        buffer.insert((20, 30), Cause::Log, 0, 0, None);
        buffer.insert((5, 25), CAUSE, 0, 0, None);
        assert_eq!((buffer.bytes(), buffer.by_age(u64::MAX, 9).count()), (30, 1));
        let first = buffer.take(0, 10);
        assert_eq!((first.end, first.waiters.len()), (10, 1));
        assert_eq!(buffer.take(10, 100).end, 30);
        assert!(buffer.is_empty());
        assert_eq!(buffer.bytes(), 0);
    }

    #[test]
    fn a_reset_drops_what_nobody_waits_for() {
        let mut buffer = WriteBuffer::default();
        buffer.insert((0, 10), CAUSE, 0, 0, None);
        buffer.insert((50, 60), CAUSE, 0, 0, Some(1));
        buffer.insert((90, 110), CAUSE, 0, 0, None);
        buffer.discard(0, 100);
        assert_eq!(buffer.by_age(u64::MAX, 9).collect::<Vec<_>>(), [50, 90]);
        assert_eq!(buffer.forced().collect::<Vec<_>>(), [50]);
    }
}
