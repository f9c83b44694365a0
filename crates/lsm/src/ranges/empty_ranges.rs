//! [`EmptyRanges`]: ranges of keys in which readers found no visible entry, so that later readers
//! skip their tombstones. A queue whose oldest entry is read and deleted again and again needs
//! this: otherwise each read passes the tombstones of all earlier entries.
//!
//! # Why a skip is sound
//! A range is remembered with the sequence of the reader that found it empty, its *seen* sequence.
//! The visible entries at a sequence do not depend on the view, if the view has all writes up to
//! the sequence ([`Tree::view_at`](crate::tree::Tree::view_at)): flushes and compactions do not
//! change them. So the range is empty for each reader of a sequence `r`, not below *seen*, unless a
//! write after *seen*, up to `r`, put an entry into the range. Deletes, range deletes and drops of
//! key spaces make no entry visible. Puts and ingests remain:
//!
//! 1. A writer notes each put here before the put is visible, and its key is cut out of its range.
//!    A reader takes its sequence first, and looks here second, under the same lock. So each put
//!    that the reader has to see has been cut out.
//! 2. A range is only remembered if no put newer than its reader lies in it, by the list of recent
//!    puts ([`State::recent`]). If the list does not reach back to the reader, the range is not
//!    remembered.
//! 3. Writers note puts only while *watching* is on. It is turned on under the lock of the write
//!    lane. If no writer leads then, all writes are visible, and all later puts are noted. Else the
//!    first group that notes a put also notes from which sequence on puts are noted. For a reader
//!    of an earlier sequence, no range is remembered.
//!
//! Entries also become invisible by their expiry. A range with expired entries is remembered with
//! the date of the reader that found it, and serves readers of this date and later ones alone: an
//! older cursor, and readers after the clock was set back, still see these entries.
//!
//! # Costs
//! While watching is off, a group of writes costs one relaxed load, and a reader nothing. Watching
//! ends when more puts were noted than it would cost to find the ranges again, and none was used.
//! Neighbours are joined only if the older one is not much larger, so that a reader that is a
//! little older than the newest range can use most of the others. So a stretch of n entries is held
//! in about log n ranges. Ranges with a snapshot between them are not joined. Memory is limited:
//! the least recently used ranges are forgotten.
//!
//! In memory only: a store that was just opened has none. Threads: any. One lock, which is held for
//! short accesses.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Date, MemoryGauge, MemoryLease, SeqNo};

use crate::key;

/// The most puts in the list of recent ones.
const RECENT_MAX: usize = 4096;
/// Bytes of a range or a recent put, without its keys.
const ITEM_BYTES: usize = 128;
/// Watching does not end before this number of puts.
const UNUSED_MIN: u64 = 10_000;
/// The largest weight of an older neighbour to join, as a multiple of the range's weight.
const JOIN_FACTOR: u64 = 2;
/// Divisor of the budget for all of the memory, within bounds.
const MEMORY_PART: u64 = 128;
const MEMORY: std::ops::RangeInclusive<u64> = 64 << 10..=4 << 20;

/// The most ranges and puts that are walked to check their counts.
const CHECKED_MAX: usize = 64;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct EmptyRanges {
    watching: AtomicBool,
    state: Mutex<State>,
    bytes_max: usize,
}

#[derive(Debug)]
struct State {
    /// Sequence from which on puts are noted; `None`: none is yet.
    since: Option<SeqNo>,
    /// The newest puts, and the newest sequence that was dropped from the list.
    recent: VecDeque<Put>,
    dropped: SeqNo,
    /// Ranges by their first keys; they do not overlap.
    ranges: BTreeMap<Vec<u8>, EmptyRange>,
    /// Bytes of `recent`, and of `ranges`, and the weight of these.
    recent_bytes: usize,
    range_bytes: usize,
    weight: u64,
    lease: MemoryLease,
    /// Number of uses of ranges so far.
    clock: u64,
    /// Puts noted since the last use of a range.
    unused: u64,
}

/// Keys of a put: from the first up to and without the second.
#[derive(Debug)]
struct Put {
    from: Vec<u8>,
    until: Vec<u8>,
    sequence: SeqNo,
}

#[derive(Clone, Debug)]
struct EmptyRange {
    until: Vec<u8>,
    seen: SeqNo,
    /// Date from which on it is empty: not the least one if entries in it have expired.
    date: Date,
    /// Approximate number of entries in it.
    weight: u64,
    /// Clock at its last use.
    used: u64,
}

/// A range that a reader found empty.
pub(crate) struct Found<'a> {
    pub(crate) from: &'a [u8],
    pub(crate) until: &'a [u8],
    /// Sequence and date of the reader.
    pub(crate) at: SeqNo,
    pub(crate) date: Date,
    /// Whether entries in it have expired.
    pub(crate) has_expired: bool,
    /// Number of entries that the reader passed.
    pub(crate) weight: u64,
}

impl EmptyRanges {
    /// No ranges. `gauge` counts their memory; `budget` is that of the engine.
    pub(crate) fn new(gauge: &MemoryGauge, budget: ByteCount) -> Self {
        let bytes_max = (budget.0 / MEMORY_PART).clamp(*MEMORY.start(), *MEMORY.end()) as usize;
        let state = State {
            since: None,
            recent: VecDeque::new(),
            dropped: SeqNo(0),
            ranges: BTreeMap::new(),
            recent_bytes: 0,
            range_bytes: 0,
            weight: 0,
            lease: gauge.lease(0),
            clock: 0,
            unused: 0,
        };
        Self { watching: AtomicBool::new(false), state: Mutex::new(state), bytes_max }
    }

    /// Whether writers must note puts.
    pub(crate) fn is_watching(&self) -> bool {
        self.watching.load(Ordering::Relaxed)
    }

    /// Turns watching on: writers must note puts from now on. `visible`: the newest sequence, if no
    /// writer leads. The caller holds the lock of the write lane.
    pub(crate) fn watch(&self, visible: Option<SeqNo>) {
        let mut state = self.state.lock();
        if !self.watching.swap(true, Ordering::Relaxed) {
            state.since = visible.map(SeqNo::next);
            state.unused = 0;
        }
    }

    /// Notes a batch before it is visible: its first sequence, and the full keys of its puts with
    /// their sequences.
    pub(crate) fn note(&self, first: SeqNo, puts: impl Iterator<Item = (SeqNo, Vec<u8>)>) {
        let ranges = puts.map(|(sequence, key)| {
            let until = key::successor(&key);
            Put { from: key, until, sequence }
        });
        self.note_ranges(first, ranges);
    }

    /// Notes an ingest, between two keys, before it is visible.
    pub(crate) fn note_ingest(&self, sequence: SeqNo, from: &[u8], until: &[u8]) {
        let put = Put { from: from.to_vec(), until: until.to_vec(), sequence };
        self.note_ranges(sequence, std::iter::once(put));
    }

    fn note_ranges(&self, first: SeqNo, puts: impl Iterator<Item = Put>) {
        let mut state = self.state.lock();
        // Watching may have ended since the caller's check.
        if !self.is_watching() {
            return;
        }
        state.since.get_or_insert(first);
        for put in puts {
            state.unused += 1;
            state.cut_out(&put);
            state.push_recent(put, self.bytes_max / 4);
        }
        if state.unused > state.weight.max(UNUSED_MIN) {
            self.watching.store(false, Ordering::Relaxed);
            state.forget_all();
        }
        state.limit(self.bytes_max);
    }

    /// The end of the empty range from a full key on, for a reader of a sequence and a date; `None`
    /// if none is known.
    pub(crate) fn end_from(&self, full_key: &[u8], at: (SeqNo, Date)) -> Option<Vec<u8>> {
        if !self.is_watching() {
            return None;
        }
        let mut state = self.state.lock();
        let mut end: Option<Vec<u8>> = None;
        loop {
            let from = end.as_deref().unwrap_or(full_key);
            let Some(until) = state.use_range(Bound::Included(from), at, |_, range| {
                (from < &range.until[..]).then(|| range.until.clone())
            }) else {
                return end;
            };
            end = Some(until);
        }
    }

    /// The start of the empty range up to and without a full key, for a reader of a sequence and a
    /// date; `None` if none is known.
    pub(crate) fn start_before(&self, full_key: &[u8], at: (SeqNo, Date)) -> Option<Vec<u8>> {
        if !self.is_watching() {
            return None;
        }
        let mut state = self.state.lock();
        let mut start: Option<Vec<u8>> = None;
        loop {
            let until = start.as_deref().unwrap_or(full_key);
            let Some(from) = state.use_range(Bound::Excluded(until), at, |from, range| {
                (until <= &range.until[..]).then(|| from.to_vec())
            }) else {
                return start;
            };
            start = Some(from);
        }
    }

    /// Remembers a range, if no key can have been put into it since. `snapshots`: the sequences
    /// that snapshots hold, ascending.
    pub(crate) fn remember(&self, found: &Found<'_>, snapshots: &[SeqNo]) {
        let mut state = self.state.lock();
        if found.from < found.until && state.is_still_empty(found) {
            state.insert(found, snapshots);
            state.limit(self.bytes_max);
        }
    }
}

/// Whether a snapshot sees one of two moments and not the other.
fn are_apart(one: SeqNo, other: SeqNo, snapshots: &[SeqNo]) -> bool {
    let before = |moment| snapshots.partition_point(|snapshot| *snapshot < moment);
    before(one) != before(other)
}

impl State {
    /// Answer of `look` for the last range that begins within the bound, if a reader of the
    /// sequence and the date may use it.
    fn use_range<T>(
        &mut self,
        first: Bound<&[u8]>,
        (at, date): (SeqNo, Date),
        look: impl FnOnce(&[u8], &EmptyRange) -> Option<T>,
    ) -> Option<T> {
        let before = (Bound::Unbounded, first);
        let (from, range) = self.ranges.range_mut::<[u8], _>(before).next_back()?;
        if range.seen > at || range.date > date {
            return None;
        }
        let answer = look(from, range)?;
        self.clock += 1;
        self.unused = 0;
        range.used = self.clock;
        Some(answer)
    }

    fn is_still_empty(&self, found: &Found<'_>) -> bool {
        let is_noted = self.since.is_some_and(|since| since <= found.at.next());
        let newer = self.recent.iter().rev().take_while(|put| put.sequence > found.at);
        let mut within =
            newer.filter(|put| put.from[..] < *found.until && *found.from < put.until[..]);
        is_noted && self.dropped <= found.at && within.next().is_none()
    }

    /// Inserts a range, joined with overlapping ranges and with small neighbours. If an overlapping
    /// range must not be joined, the new one is left out. One of a later date, from before the
    /// clock was set back, is forgotten.
    fn insert(&mut self, found: &Found<'_>, snapshots: &[SeqNo]) {
        debug_assert!(snapshots.is_sorted(), "snapshots in order");
        let (mut from, mut until) = (found.from.to_vec(), found.until.to_vec());
        let (mut seen, mut weight) = (found.at, found.weight);
        let mut date = if found.has_expired { found.date } else { Date(0) };
        let (mut joined, mut later) = (Vec::new(), Vec::new());
        let before = (Bound::Unbounded, Bound::Excluded(found.until));
        for (start, range) in self.ranges.range::<[u8], _>(before).rev() {
            if range.until <= from {
                break;
            }
            if range.date > found.date {
                later.push(start.clone());
                continue;
            }
            if are_apart(range.seen, found.at, snapshots) {
                return;
            }
            joined.push(start.clone());
        }
        for start in later {
            self.remove(&start);
        }
        for start in joined {
            let range = self.remove(&start).expect("a range that was found");
            (seen, weight) = (seen.max(range.seen), weight + range.weight);
            date = date.max(range.date);
            until = until.max(range.until);
            from = from.min(start);
        }
        loop {
            let before = (Bound::Unbounded, Bound::Excluded(&from[..]));
            let left = self.ranges.range::<[u8], _>(before).next_back();
            let left = left.filter(|(_, range)| range.until == from);
            let right = self.ranges.get_key_value(&until[..]);
            let is_small = |(_, range): &(&Vec<u8>, &EmptyRange)| {
                range.weight <= JOIN_FACTOR * weight
                    && range.date <= found.date
                    && !are_apart(range.seen, seen, snapshots)
            };
            let neighbour = left.filter(is_small).or(right.filter(is_small));
            let Some(start) = neighbour.map(|(start, _)| start.clone()) else { break };
            let range = self.remove(&start).expect("a range that was found");
            (seen, weight) = (seen.max(range.seen), weight + range.weight);
            date = date.max(range.date);
            until = until.max(range.until);
            from = from.min(start);
        }
        self.clock += 1;
        self.unused = 0;
        let range = EmptyRange { until, seen, date, weight, used: self.clock };
        self.add(from, range);
    }

    /// Cuts the keys of a put out of the ranges.
    fn cut_out(&mut self, put: &Put) {
        loop {
            let before = (Bound::Unbounded, Bound::Excluded(&put.until[..]));
            let last = self.ranges.range::<[u8], _>(before).next_back();
            let Some((start, _)) = last.filter(|(_, range)| range.until > put.from) else { return };
            let start = start.clone();
            let range = self.remove(&start).expect("a range that was found");
            let part = EmptyRange { weight: range.weight / 2, ..range.clone() };
            if put.until < range.until {
                self.add(put.until.clone(), part.clone());
            }
            if start < put.from {
                self.add(start, EmptyRange { until: put.from.clone(), ..part });
            }
        }
    }

    /// Adds to the list of recent puts, and drops the oldest ones above `bytes_max`.
    fn push_recent(&mut self, put: Put, bytes_max: usize) {
        self.recent_bytes += put.bytes();
        self.recent.push_back(put);
        while self.recent_bytes > bytes_max || self.recent.len() > RECENT_MAX {
            let Some(put) = self.recent.pop_front() else { return };
            self.recent_bytes -= put.bytes();
            self.dropped = put.sequence;
        }
    }

    /// Checks the counts, and that ranges do not overlap, while a walk is short.
    fn check(&self) {
        if !cfg!(debug_assertions) || self.ranges.len() + self.recent.len() > CHECKED_MAX {
            return;
        }
        let of_ranges = || self.ranges.iter().map(|(from, range)| range.bytes(from));
        debug_assert_eq!(self.range_bytes, of_ranges().sum::<usize>(), "bytes of the ranges");
        let of_recent = self.recent.iter().map(Put::bytes);
        debug_assert_eq!(self.recent_bytes, of_recent.sum::<usize>(), "bytes of recent puts");
        let weight = self.ranges.values().map(|range| range.weight);
        debug_assert_eq!(self.weight, weight.sum::<u64>(), "weight of the ranges");
        debug_assert!(
            self.ranges.iter().zip(self.ranges.keys().skip(1)).all(|(a, b)| a.1.until <= *b),
            "ranges do not overlap: {:?}",
            self.ranges
        );
        debug_assert!(
            self.recent.front().is_none_or(|first| self.dropped <= first.sequence),
            "the oldest puts are dropped first"
        );
    }

    fn add(&mut self, from: Vec<u8>, range: EmptyRange) {
        self.range_bytes += range.bytes(&from);
        self.weight += range.weight;
        self.ranges.insert(from, range);
    }

    fn remove(&mut self, from: &[u8]) -> Option<EmptyRange> {
        let range = self.ranges.remove(from)?;
        self.range_bytes -= range.bytes(from);
        self.weight -= range.weight;
        Some(range)
    }

    /// Above three quarters of the bytes, forgets the least recently used eighth of the ranges.
    fn limit(&mut self, bytes_max: usize) {
        while self.range_bytes > bytes_max - bytes_max / 4 {
            let mut used: Vec<u64> = self.ranges.values().map(|range| range.used).collect();
            let (_, &mut least, _) = used.select_nth_unstable((self.ranges.len() - 1) / 8);
            let old = self.ranges.iter().filter(|(_, range)| range.used <= least);
            let old: Vec<Vec<u8>> = old.map(|(from, _)| from.clone()).collect();
            for from in old {
                self.remove(&from);
            }
        }
        self.lease.resize(self.recent_bytes + self.range_bytes);
        self.check();
    }

    fn forget_all(&mut self) {
        (self.since, self.dropped, self.unused) = (None, SeqNo(0), 0);
        (self.recent_bytes, self.range_bytes, self.weight) = (0, 0, 0);
        self.recent = VecDeque::new();
        self.ranges.clear();
    }
}

impl Put {
    fn bytes(&self) -> usize {
        ITEM_BYTES + self.from.len() + self.until.len()
    }
}

impl EmptyRange {
    fn bytes(&self, from: &[u8]) -> usize {
        ITEM_BYTES + from.len() + self.until.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: ByteCount = ByteCount::mib(64);

    fn ranges(visible: u64) -> EmptyRanges {
        let ranges = EmptyRanges::new(&MemoryGauge::new("test"), BUDGET);
        ranges.watch(Some(SeqNo(visible)));
        ranges
    }

    fn find(ranges: &EmptyRanges, range: (&str, &str), at: u64, snapshots: &[u64]) {
        find_on(ranges, range, at, (Date(7), false), snapshots);
    }

    fn find_on(
        ranges: &EmptyRanges,
        (from, until): (&str, &str),
        at: u64,
        (date, has_expired): (Date, bool),
        snapshots: &[u64],
    ) {
        let snapshots: Vec<_> = snapshots.iter().copied().map(SeqNo).collect();
        let (from, until, at) = (from.as_bytes(), until.as_bytes(), SeqNo(at));
        ranges.remember(&Found { from, until, at, date, has_expired, weight: 100 }, &snapshots);
    }

    fn put(ranges: &EmptyRanges, key: &str, sequence: u64) {
        let put = (SeqNo(sequence), key.as_bytes().to_vec());
        ranges.note(SeqNo(sequence), std::iter::once(put));
    }

    fn ends(ranges: &EmptyRanges, key: &str, at: u64) -> (Option<String>, Option<String>) {
        ends_on(ranges, key, at, Date(7))
    }

    fn ends_on(
        ranges: &EmptyRanges,
        key: &str,
        at: u64,
        date: Date,
    ) -> (Option<String>, Option<String>) {
        let text = |key: Option<Vec<u8>>| key.map(|key| String::from_utf8(key).unwrap());
        let (key, at) = (key.as_bytes(), (SeqNo(at), date));
        (text(ranges.end_from(key, at)), text(ranges.start_before(key, at)))
    }

    fn both(from: &str, until: &str) -> (Option<String>, Option<String>) {
        (Some(until.to_owned()), Some(from.to_owned()))
    }

    #[test]
    fn a_range_serves_readers_of_its_sequence_and_later_ones_until_a_key_is_put_into_it() {
        let ranges = ranges(10);
        find(&ranges, ("b", "m"), 10, &[]);
        assert_eq!(ends(&ranges, "c", 10), both("b", "m"));
        assert_eq!(ends(&ranges, "c", 99), both("b", "m"));
        assert_eq!(ends(&ranges, "c", 9), (None, None), "a reader from before");
        assert_eq!(ends(&ranges, "b", 10), (Some("m".into()), None));
        assert_eq!(ends(&ranges, "m", 10), (None, Some("b".into())));
        put(&ranges, "f", 11);
        assert_eq!(ends(&ranges, "c", 11), both("b", "f"));
        assert_eq!(ends(&ranges, "g", 11), both("f\0", "m"));
        assert_eq!(ends(&ranges, "f", 11), (None, Some("b".into())));
        ranges.note_ingest(SeqNo(12), b"a", b"h");
        assert_eq!(ends(&ranges, "c", 12), (None, None));
        assert_eq!(ends(&ranges, "i", 12), both("h", "m"));
    }

    #[test]
    fn a_range_is_not_remembered_if_a_newer_put_may_lie_in_it() {
        let ranges = ranges(10);
        put(&ranges, "f", 12);
        find(&ranges, ("b", "m"), 11, &[]);
        assert_eq!(ends(&ranges, "c", 12), (None, None), "a put that the reader did not see");
        find(&ranges, ("g", "m"), 11, &[]);
        assert_eq!(ends(&ranges, "h", 12), both("g", "m"));
        find(&ranges, ("p", "z"), 9, &[]);
        assert_eq!(ends(&ranges, "q", 12), (None, None), "puts were not noted then");
        let count = 2 * RECENT_MAX as u64;
        (0..count).for_each(|n| put(&ranges, "a", 13 + n));
        find(&ranges, ("p", "z"), 13, &[]);
        assert_eq!(ends(&ranges, "q", 13 + count), (None, None), "puts were forgotten since");
    }

    #[test]
    fn a_group_that_is_written_while_watching_begins_decides_from_when_on() {
        let ranges = EmptyRanges::new(&MemoryGauge::new("test"), BUDGET);
        ranges.watch(None);
        find(&ranges, ("b", "m"), 10, &[]);
        assert_eq!(ends(&ranges, "c", 10), (None, None));
        put(&ranges, "x", 12);
        find(&ranges, ("b", "m"), 10, &[]);
        assert_eq!(ends(&ranges, "c", 12), (None, None), "11 may be a put that was not noted");
        find(&ranges, ("b", "m"), 11, &[]);
        assert_eq!(ends(&ranges, "c", 12), both("b", "m"));
    }

    #[test]
    fn neighbours_are_joined_unless_a_snapshot_lies_between() {
        let ranges = ranges(10);
        find(&ranges, ("b", "f"), 10, &[]);
        find(&ranges, ("f", "m"), 12, &[11]);
        assert_eq!(ends(&ranges, "c", 11), (Some("f".into()), Some("b".into())));
        assert_eq!(ends(&ranges, "c", 12), both("b", "m"), "one after the other");
        find(&ranges, ("m", "z"), 13, &[]);
        assert_eq!(ends(&ranges, "c", 12), (None, None), "joined, and so newer than this reader");
        assert_eq!(ends(&ranges, "c", 13), both("b", "z"));
    }

    #[test]
    fn a_range_that_a_snapshot_uses_is_not_joined_with_a_newer_one_over_it() {
        let ranges = ranges(10);
        find(&ranges, ("b", "f"), 10, &[]);
        find(&ranges, ("d", "m"), 12, &[11]);
        assert_eq!(ends(&ranges, "c", 11), both("b", "f"), "the newer one is left out");
        find(&ranges, ("d", "m"), 12, &[]);
        assert_eq!(ends(&ranges, "c", 12), both("b", "m"), "the snapshot has ended");
        assert_eq!(ends(&ranges, "c", 11), (None, None));
    }

    #[test]
    fn a_range_with_expired_entries_serves_no_reader_of_an_earlier_date() {
        let ranges = ranges(10);
        find_on(&ranges, ("b", "f"), 10, (Date(50), true), &[]);
        assert_eq!(ends_on(&ranges, "c", 10, Date(49)), (None, None));
        assert_eq!(ends_on(&ranges, "c", 10, Date(50)), both("b", "f"));
        find_on(&ranges, ("f", "m"), 10, (Date(60), false), &[]);
        assert_eq!(ends_on(&ranges, "c", 10, Date(50)), both("b", "m"), "as a whole");
        assert_eq!(ends_on(&ranges, "g", 10, Date(49)), (None, None), "joined");
        find_on(&ranges, ("k", "p"), 10, (Date(20), false), &[]);
        assert_eq!(ends_on(&ranges, "l", 10, Date(20)), both("k", "p"), "the clock was set back");
        assert_eq!(ends_on(&ranges, "c", 10, Date(99)), (None, None), "forgotten");
    }

    #[test]
    fn memory_is_limited_and_ranges_in_use_stay() {
        let ranges = ranges(10);
        find(&ranges, ("a", "b"), 10, &[]);
        for number in 0..100_000 {
            let (from, until) = (format!("n{number:06}"), format!("n{number:06}5"));
            find(&ranges, (&from, &until), 10, &[]);
            if number % 50 == 0 {
                assert_eq!(ends(&ranges, "a", 10).0.as_deref(), Some("b"));
            }
            assert!(ranges.state.lock().lease.bytes() <= (64 << 20) / MEMORY_PART);
        }
    }

    #[test]
    fn watching_ends_when_nothing_is_used_for_long() {
        let ranges = ranges(10);
        find(&ranges, ("b", "m"), 10, &[]);
        (0..=UNUSED_MIN).for_each(|n| put(&ranges, "x", 11 + n));
        assert!(!ranges.is_watching());
        assert_eq!(ends(&ranges, "c", 99_999), (None, None));
        assert_eq!(ranges.state.lock().lease.bytes(), 0);
    }
}
