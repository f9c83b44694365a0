//! [`Bands`]: how far each shingled band of a drive is written, and its open burst, if it has one.
//! A *burst* is a set of changes of one band that the drive holds in its buffer.
//!
//! Addresses are bytes of the drive. A range that is given to a call lies within one band, except
//! for [`Bands::pieces`], which cuts a range at the borders of bands. It keeps ranges, not bytes.
//! The caller gives the times, and decides when a burst ends.

use std::collections::BTreeMap;
use std::ops::Range;

use terrace_env::Cause;

use super::parameters::Rewrite;
use crate::ranges::Ranges;

/// Changes of a band that the drive holds in its buffer.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    pub(super) band: u64,
    pub(super) changed: Ranges,
    /// Bytes that it takes up in the buffer.
    pub(super) bytes: u64,
    /// The cause of its first write.
    pub(super) cause: Cause,
    pub(super) last: u64,
}

impl Burst {
    /// Whether it holds all of a range.
    pub(super) fn holds(&self, range: &Range<u64>) -> bool {
        self.changed.within(range.clone()).any(|part| part == *range)
    }
}

/// Bytes that a rewrite of a band moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    /// Bytes to read: none if all of them have changed.
    pub(super) read: Range<u64>,
    pub(super) write: Range<u64>,
}

/// All bands of a drive.
#[derive(Clone, Debug)]
pub(super) struct Bands {
    band: u64,
    /// The highest written address of a band, by band. No band is written when the model is
    /// set: a device that was in use counts as new.
    written: BTreeMap<u64, u64>,
    /// Open bursts, by band.
    open: BTreeMap<u64, Burst>,
}

impl Bands {
    pub(super) fn new(band: u64) -> Self {
        Self { band, written: BTreeMap::new(), open: BTreeMap::new() }
    }

    /// A range, cut at the borders of bands.
    pub(super) fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
        let (band, end) = (self.band, range.end);
        let mut at = range.start;
        std::iter::from_fn(move || {
            let piece = at..end.min((at / band + 1) * band);
            at = piece.end;
            (!piece.is_empty()).then_some(piece)
        })
    }

    fn written(&self, band: u64) -> u64 {
        self.written.get(&band).copied().unwrap_or(band * self.band)
    }

    /// Whether a write needs no burst: nothing after its start is written, and the band has no
    /// burst.
    pub(super) fn appends(&self, piece: &Range<u64>) -> bool {
        let band = piece.start / self.band;
        piece.start >= self.written(band) && !self.open.contains_key(&band)
    }

    /// Notes that a band has grown.
    pub(super) fn grow(&mut self, piece: &Range<u64>) {
        let band = piece.start / self.band;
        let end = self.written(band).max(piece.end);
        self.written.insert(band, end);
    }

    /// Takes a write into the burst of its band, and opens one if there is none.
    pub(super) fn change(&mut self, piece: Range<u64>, cause: Cause, now: u64) {
        let band = piece.start / self.band;
        let fresh = Burst { band, changed: Ranges::default(), bytes: 0, cause, last: now };
        let burst = self.open.entry(band).or_insert(fresh);
        let held: u64 = burst.changed.within(piece.clone()).map(|part| part.end - part.start).sum();
        burst.bytes += piece.end - piece.start - held;
        burst.changed.insert(piece.clone());
        burst.last = now;
        self.grow(&piece);
    }

    pub(super) fn open(&self) -> impl Iterator<Item = &Burst> {
        self.open.values()
    }

    pub(super) fn is_open(&self, piece: &Range<u64>) -> bool {
        self.open.contains_key(&(piece.start / self.band))
    }

    /// Ends the burst that was written least recently, if one fits.
    pub(super) fn end_oldest(&mut self, fits: impl Fn(&Burst) -> bool) -> Option<Burst> {
        let oldest = self.open.values().filter(|burst| fits(burst));
        let band = oldest.min_by_key(|burst| (burst.last, burst.band))?.band;
        self.open.remove(&band)
    }

    /// Bytes that have to be moved to change some of a band.
    pub(super) fn moved(&self, band: u64, changed: &Ranges, rewrite: Rewrite) -> Moved {
        let all = band * self.band..self.written(band);
        let first = changed.within(all.clone()).next().map_or(all.end, |part| part.start);
        let from = match rewrite {
            Rewrite::Band => all.start,
            Rewrite::Tail => first,
        };
        let write = from..all.end;
        let whole = changed.within(write.clone()).any(|part| part == write);
        let read = if whole { write.start..write.start } else { write.clone() };
        Moved { read, write }
    }

    /// Forgets the open bursts.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAUSE: Cause = Cause::Client;

    #[test]
    fn a_write_behind_what_is_written_appends_and_any_other_opens_a_burst() {
        let mut bands = Bands::new(100);
        assert_eq!(bands.pieces(50..250).collect::<Vec<_>>(), [50..100, 100..200, 200..250]);
        for piece in [100..120, 120..150, 170..180] {
            assert!(bands.appends(&piece));
            bands.grow(&piece);
        }
        assert!(!bands.appends(&(150..160)) && bands.appends(&(200..210)));
        bands.change(150..160, CAUSE, 7);
        bands.change(155..170, CAUSE, 8);
        assert!(!bands.appends(&(180..190)), "the band has a burst");
        let burst = bands.end_oldest(|_| true).unwrap();
        assert_eq!((burst.band, burst.bytes, burst.last), (1, 20, 8));
        assert!(burst.holds(&(152..168)) && !burst.holds(&(140..151)));
        let whole = bands.moved(1, &burst.changed, Rewrite::Band);
        assert_eq!(whole, Moved { read: 100..180, write: 100..180 });
        let tail = bands.moved(1, &burst.changed, Rewrite::Tail);
        assert_eq!(tail, Moved { read: 150..180, write: 150..180 });
    }

    #[test]
    fn a_band_that_is_written_anew_from_end_to_end_is_not_read() {
        let mut bands = Bands::new(100);
        bands.grow(&(0..100));
        bands.change(0..60, CAUSE, 1);
        bands.change(60..100, CAUSE, 2);
        let burst = bands.end_oldest(|_| true).unwrap();
        let moved = bands.moved(0, &burst.changed, Rewrite::Band);
        assert_eq!(moved, Moved { read: 0..0, write: 0..100 });
    }
}
