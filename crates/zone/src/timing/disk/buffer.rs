//! [`WriteBuffer`]: the disk's write cache. It holds extents of the platters that the head has
//! still to write.
//!
//! - A write that begins where an extent of the same cause ends is joined to that extent. So a
//!   sequential stream is one extent, however small its writes are.
//! - A write that overlaps extents is merged with all of them.
//! - An extent keeps the number of its oldest write. A flush waits for the extents with numbers
//!   below its own. Once a flush waits, a write that merely touches an older extent begins a new
//!   one.
//!
//! Pure: the model gives the times.

use std::collections::{BTreeMap, BTreeSet};

use terrace_env::Cause;

/// A forced write that completes when the medium has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) ticket: u64,
    /// The end of its bytes.
    pub(super) end: u64,
}

/// A stretch to be written.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
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
    stretches: BTreeMap<u64, Stretch>,
    /// The starts of stretches by number.
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
        self.stretches.is_empty()
    }

    /// The number of the next write.
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// The oldest stretch.
    pub(super) fn oldest(&self) -> Option<&Stretch> {
        let (_, start) = self.by_age.first_key_value()?;
        self.stretches.get(start)
    }

    /// When the first of the stretches that forced writes wait for arrived.
    pub(super) fn forced_since(&self) -> Option<u64> {
        self.forced.iter().map(|start| self.stretches[start].born).min()
    }

    /// Takes a write in. Stretches older than `barrier` are not made longer.
    pub(super) fn insert(
        &mut self,
        (start, end): (u64, u64),
        cause: Cause,
        now: u64,
        barrier: u64,
        forced: Option<u64>,
    ) {
        let mut start = start;
        let mut stretch = Stretch {
            end,
            number: self.next,
            cause,
            born: now,
            passed: 0,
            waiters: forced.map(|ticket| Waiter { ticket, end }).into_iter().collect(),
        };
        self.next += 1;
        while let Some((at, other)) = self.stretches.range(..stretch.end).next_back() {
            let (at, touches) = (*at, other.end == start);
            let joins = touches && other.cause == cause && other.number >= barrier;
            if other.end <= start && !joins {
                break;
            }
            let other = self.remove(at);
            stretch.end = stretch.end.max(other.end);
            stretch.number = stretch.number.min(other.number);
            stretch.born = stretch.born.min(other.born);
            stretch.passed = stretch.passed.max(other.passed);
            stretch.waiters.splice(0..0, other.waiters);
            start = start.min(at);
        }
        self.put(start, stretch);
    }

    fn put(&mut self, start: u64, stretch: Stretch) {
        self.bytes += stretch.end - start;
        self.by_age.insert(stretch.number, start);
        if !stretch.waiters.is_empty() {
            self.forced.insert(start);
        }
        self.stretches.insert(start, stretch);
    }

    fn remove(&mut self, start: u64) -> Stretch {
        let stretch = self.stretches.remove(&start).expect("a stretch that is in the cache");
        self.bytes -= stretch.end - start;
        self.by_age.remove(&stretch.number);
        self.forced.remove(&start);
        stretch
    }

    /// Whether all of `start..end` is in one stretch.
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        let before = self.stretches.range(..=start).next_back();
        before.is_some_and(|(_, stretch)| end <= stretch.end)
    }

    /// The starts of the `count` oldest stretches with numbers below `limit`.
    pub(super) fn by_age(&self, limit: u64, count: usize) -> impl Iterator<Item = u64> + '_ {
        self.by_age.range(..limit).take(count).map(|(_, start)| *start)
    }

    /// The start of the next stretch in the head's direction.
    pub(super) fn from(&self, byte: u64) -> Option<u64> {
        self.stretches.range(byte..).next().map(|(start, _)| *start)
    }

    /// The starts of the stretches that forced writes wait for.
    pub(super) fn forced(&self) -> impl Iterator<Item = u64> + '_ {
        self.forced.iter().copied()
    }

    pub(super) fn stretch(&self, start: u64) -> &Stretch {
        &self.stretches[&start]
    }

    /// Takes out at most `most` bytes of the stretch at `start`. Older ones are passed over.
    pub(super) fn take(&mut self, start: u64, most: u64) -> Taken {
        let mut stretch = self.remove(start);
        let end = stretch.end.min(start + most);
        let (done, left) = stretch.waiters.into_iter().partition(|waiter| waiter.end <= end);
        let taken = Taken { end, cause: stretch.cause, waiters: done };
        let number = stretch.number;
        if end < stretch.end {
            stretch.waiters = left;
            self.put(end, stretch);
        }
        if let Some((_, oldest)) = self.by_age.range(..number).next() {
            self.stretches.get_mut(oldest).expect("the oldest stretch").passed += 1;
        }
        taken
    }

    /// Drops what lies in `start..end` and nobody waits for: the zone there was reset.
    pub(super) fn discard(&mut self, start: u64, end: u64) {
        let inside = self.stretches.range(start..end);
        let idle = inside.filter(|(_, stretch)| stretch.waiters.is_empty() && stretch.end <= end);
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
    fn a_stream_is_one_stretch_until_a_flush_waits_for_it() {
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
