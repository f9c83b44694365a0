//! [`Segments`]: the read cache of a modelled disk: ranges that were read, and the range that the
//! head is reading ahead. It keeps ranges, not bytes.
//!
//! After a read the head reads on, until it is a segment's size ahead of the host or has something
//! else to do. The cache holds the last bytes that the head read on its way, at most a segment's
//! size. A request within these bytes is answered from the cache; if the head is still reading, the
//! head then may go on further. A request that goes on where the head is reading waits for the
//! platters alone.
//!
//! When the head turns to something else, these bytes are kept as a segment. The cache has a fixed
//! number of segments; the oldest one is dropped. A request is answered from the cache if one range
//! holds all of it.
//!
//! A write drops the segments that it overlaps. If it overlaps bytes that the head has read on its
//! way and the cache still holds, these are dropped and the head stops. If it overlaps only bytes
//! that the head has not come to, the head stops before it.

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
    /// Place of the head at time `since`.
    from: u64,
    since: u64,
    /// Place at which the head stops.
    limit: u64,
}

impl LookAhead {
    fn reached(&self, surface: &Surface, now: u64) -> u64 {
        surface.read_on(self.from, now.saturating_sub(self.since), self.limit)
    }

    /// The bytes in the cache, of `size` bytes, when the head has come to `reached`.
    fn held(&self, reached: u64, size: u64) -> Segment {
        Segment { start: self.start.max(reached.saturating_sub(size)), end: reached }
    }
}

/// The read cache of a disk.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    size: u64,
    count: usize,
    /// Kept segments, the oldest first.
    kept: Vec<Segment>,
    ahead: Option<LookAhead>,
}

/// How a read can be served without moving the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hit {
    /// All bytes are in the cache.
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
            && (ahead.held(reached, self.size).start..=reached).contains(&start)
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

    /// The host has taken `start..end` out of a cache. If the head has read these bytes ahead, and
    /// is still reading, it may go on for a segment's size beyond `end`.
    pub(super) fn taken(&mut self, surface: &Surface, now: u64, start: u64, end: u64) {
        let Some(ahead) = &mut self.ahead else { return };
        let reached = ahead.reached(surface, now);
        let held = ahead.held(reached, self.size);
        if held.start <= start && end <= held.end && reached < ahead.limit {
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
        self.kept.push(ahead.held(end, self.size));
        if self.kept.len() > self.count {
            self.kept.remove(0);
        }
        Some(end)
    }

    /// `start..end` is written at `now`: the bytes that were read of it count no more. Gives the
    /// byte that the head has come to, if that ends its reading ahead.
    pub(super) fn overwrite(
        &mut self,
        surface: &Surface,
        now: u64,
        start: u64,
        end: u64,
    ) -> Option<u64> {
        self.kept.retain(|one| one.end <= start || end <= one.start);
        let ahead = self.ahead.as_mut()?;
        let reached = ahead.reached(surface, now);
        let held = ahead.held(reached, self.size);
        if held.start < end && start < held.end {
            self.ahead = None;
            return Some(reached);
        }
        if held.end <= start {
            ahead.limit = ahead.limit.min(start);
        }
        None
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.ahead = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{Drive, Scale};

    /// Size of a segment here.
    const SIZE: u64 = 1 << 20;
    /// Time in which the head reads more than it may.
    const LATER: u64 = 60_000_000_000;

    fn surface() -> Surface {
        let settings = Drive::find("hgst-hsh721414al").unwrap().disk_settings(Scale::FULL);
        Surface::new(&settings, 1 << 40, 0, 256 << 20)
    }

    #[test]
    fn the_cache_holds_a_segment_of_what_is_read_ahead_and_the_host_moves_it_on() {
        let surface = surface();
        let mut segments = Segments::new(SIZE, 2);
        let (mut now, mut end) = (0, 65_536);
        segments.read(&surface, now, 0, end);
        for _ in 0..40 {
            now += 100_000;
            let cached = segments.find(&surface, now, end, end + 4096) == Some(Hit::Cached);
            if cached {
                segments.taken(&surface, now, end, end + 4096);
                end += 4096;
            }
        }
        assert!(end > 65_536, "a host that is slower than the platters is served from the cache");
        let reached = segments.position(&surface, now + LATER).unwrap();
        assert_eq!(reached, end + SIZE);
        let find = |start| segments.find(&surface, now + LATER, start, start + 512);
        assert_eq!((find(end - 512), find(end)), (None, Some(Hit::Cached)));
        assert_eq!((find(reached - 512), find(reached)), (Some(Hit::Cached), None));
    }

    #[test]
    fn a_hit_elsewhere_does_not_let_the_head_read_on() {
        let surface = surface();
        let mut segments = Segments::new(SIZE, 2);
        segments.read(&surface, 0, 1 << 30, (1 << 30) + 4096);
        segments.stop(&surface, LATER);
        segments.read(&surface, LATER, 0, 4096);
        let (start, end) = ((1 << 30) + 8192, (1 << 30) + 16384);
        assert_eq!(segments.find(&surface, LATER, start, end), Some(Hit::Cached));
        segments.taken(&surface, LATER, start, end);
        assert_eq!(segments.position(&surface, 2 * LATER), Some(4096 + SIZE));
    }

    #[test]
    fn a_write_drops_what_was_read_of_it_and_stops_the_head_before_what_was_not() {
        let surface = surface();
        let begun = || {
            let mut segments = Segments::new(SIZE, 2);
            segments.read(&surface, 0, 0, 4096);
            segments
        };
        let mut segments = begun();
        let written = 4096 + SIZE / 2;
        assert_eq!(segments.overwrite(&surface, 0, written, written + 4096), None);
        assert_eq!(segments.position(&surface, LATER), Some(written));
        assert_eq!(segments.find(&surface, LATER, 4096, written), Some(Hit::Cached));
        assert_eq!(segments.overwrite(&surface, LATER, 8192, 8704), Some(written));
        assert_eq!(segments.position(&surface, LATER), None);
        assert_eq!(segments.find(&surface, LATER, 4096, 8192), None);
        // Bytes that have left the cache may be written.
        let mut segments = begun();
        assert_eq!(segments.overwrite(&surface, LATER, 0, 4096), None);
        assert_eq!(segments.position(&surface, LATER), Some(4096 + SIZE));
    }
}
