//! The disk's read cache: ranges that were read, and the range that the head is reading ahead.
//!
//! After a read the head reads on from there, track after track, up to a segment's size, until it
//! has something else to do. A request within a range that has been read is answered from the
//! cache. A request that goes on where the head is reading waits for the platters only. Writes do
//! not go through this cache; a range that they overlap is dropped whole, and so is the range that
//! is read ahead.
//!
//! When the head stops, the range read ahead is kept, its end as far as it fits a segment; beside
//! it the last such ranges, as many as the drive has segments, and the oldest falls out first.
//! While the head reads ahead, the range may be larger than a segment: requests that are answered
//! from the cache extend it, and its start is cut only at the next read from the platters.

use super::surface::Surface;

/// Bytes of the platters.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    end: u64,
}

/// Read-ahead of the head beyond the last read.
#[derive(Clone, Copy, Debug)]
struct LookAhead {
    /// The first byte of the range.
    start: u64,
    /// Where the head was at time `since`.
    from: u64,
    since: u64,
    /// Where it stops.
    limit: u64,
}

impl LookAhead {
    fn reached(&self, surface: &Surface, now: u64) -> u64 {
        surface.read_on(self.from, now.saturating_sub(self.since), self.limit)
    }
}

/// The read cache of a disk.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    size: u64,
    count: usize,
    /// Oldest first.
    kept: Vec<Segment>,
    ahead: Option<LookAhead>,
}

/// How a read can be served without moving the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hit {
    /// All of it is in the cache.
    Cached,
    /// The head is reading it, and has passed its end at this time.
    Streaming { end: u64 },
}

impl Segments {
    pub(super) fn new(size: u64, count: usize) -> Self {
        Self { size, count, kept: Vec::new(), ahead: None }
    }

    /// Whether a read of `start..end` can be served at `now` without moving the head.
    pub(super) fn find(&self, surface: &Surface, now: u64, start: u64, end: u64) -> Option<Hit> {
        if let Some(ahead) = self.ahead
            && let reached = ahead.reached(surface, now)
            && (ahead.start..=reached).contains(&start)
        {
            if end <= reached {
                return Some(Hit::Cached);
            }
            if reached < ahead.limit {
                let end = ahead.since + surface.pass(ahead.from, end - ahead.from);
                return Some(Hit::Streaming { end });
            }
        }
        let holds = |one: &Segment| one.start <= start && end <= one.end;
        self.kept.iter().any(holds).then_some(Hit::Cached)
    }

    /// The host has taken what lay in the cache up to `end`: there is room to read on, if the head
    /// is still reading.
    pub(super) fn taken(&mut self, surface: &Surface, now: u64, end: u64) {
        if let Some(ahead) = &mut self.ahead
            && ahead.reached(surface, now) < ahead.limit
        {
            ahead.limit = ahead.limit.max(end + self.size);
        }
    }

    /// Where the head is, if it is reading ahead.
    pub(super) fn position(&self, surface: &Surface, now: u64) -> Option<u64> {
        self.ahead.map(|ahead| ahead.reached(surface, now))
    }

    /// The head has read `start..end` by `now` and reads on.
    pub(super) fn read(&mut self, surface: &Surface, now: u64, start: u64, end: u64) {
        let continues = self.ahead.filter(|ahead| ahead.start <= start && start <= ahead.limit);
        let first = match continues {
            Some(ahead) => ahead.start,
            None => {
                self.stop(surface, now);
                start
            }
        };
        let start = first.max(end.saturating_sub(self.size));
        self.ahead = Some(LookAhead { start, from: end, since: now, limit: end + self.size });
    }

    /// The head has something else to do from `now` on; gives the byte it had come to.
    pub(super) fn stop(&mut self, surface: &Surface, now: u64) -> Option<u64> {
        let ahead = self.ahead.take()?;
        let end = ahead.reached(surface, now);
        self.kept.push(Segment { start: ahead.start.max(end.saturating_sub(self.size)), end });
        if self.kept.len() > self.count {
            self.kept.remove(0);
        }
        Some(end)
    }

    /// `start..end` is written: what was read of it counts no more.
    pub(super) fn overwrite(&mut self, start: u64, end: u64) {
        self.kept.retain(|one| one.end <= start || end <= one.start);
        if self.ahead.is_some_and(|ahead| start < ahead.limit && ahead.start < end) {
            self.ahead = None;
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.ahead = None;
    }
}
