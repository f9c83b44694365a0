//! [`Addresses`]: where tables lie on a device without zones: those that each merge of a phase
//! wrote, and the free runs at the end of the phase (SEALDB's figures 2, 11 and 13; MSST '18).
//!
//! - Merges are numbered in the order in which they end. Tables that a merge writes one after the
//!   other are one *piece*. Merges that run at the same time are not told apart: their tables count
//!   for the one that ends next. So do tables of a merge that came to nothing.
//! - To bound memory, there are at most [`PIECES_MAX`] pieces. When there are more, only merges
//!   with even numbers keep theirs, then only merges whose numbers are multiples of 4, and so on;
//!   this goes for the merges that follow, too. But merge 0 keeps its pieces, however many they
//!   are. Of the free runs, the shortest [`FREE_MAX`] are kept.
//!
//! Addresses and lengths are those of the full drive, in MiB.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The most pieces that are kept: a picture can show no more.
const PIECES_MAX: usize = 2_000;
/// The most free runs that are kept.
const FREE_MAX: usize = 2_000;
const MIB: f64 = 1_048_576.0;

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Addresses {
    /// How many merges ended in the phase.
    pub merges: u32,
    /// Pieces that they wrote, in the order in which they did.
    pub pieces: Vec<Piece>,
    /// Free runs at the end, by address.
    pub free: Vec<Stretch>,
    /// The end of the last byte in use, in MiB of the device.
    pub end: f64,
    /// A free run that is shorter, in MiB, is a fragment.
    pub fragment: f64,
}

/// Tables of a merge that lie one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The merge, from 0.
    pub merge: u32,
    /// Place of the tables.
    #[serde(flatten)]
    pub at: Stretch,
}

/// A part of a device, in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// The beginning of the stretch.
    pub start: f64,
    /// How long it is.
    pub mib: f64,
}

impl Stretch {
    /// `scale`: how many bytes of the full drive a byte of the run is.
    fn of(bytes: &Range<u64>, scale: f64) -> Self {
        let mib = |bytes: u64| (bytes as f64 * scale / MIB * 1e3).round() / 1e3;
        Self { start: mib(bytes.start), mib: mib(bytes.end - bytes.start) }
    }

    /// The end of the stretch.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.start + self.mib
    }
}

/// Notes the writes of merges, while a phase runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    /// Merges that have ended.
    merges: u32,
    /// Merges whose number this divides are kept; 0 counts as 1.
    every: u32,
    /// Merge, and bytes of the device.
    pieces: Vec<(u32, Range<u64>)>,
}

impl Notes {
    /// The merge that ends next writes these bytes of the device.
    pub(super) fn write(&mut self, bytes: Range<u64>) {
        if !self.merges.is_multiple_of(self.every.max(1)) {
            return;
        }
        match self.pieces.last_mut() {
            Some((merge, last)) if *merge == self.merges && last.end == bytes.start => {
                last.end = bytes.end;
            }
            _ => self.pieces.push((self.merges, bytes)),
        }
        while self.pieces.len() > PIECES_MAX {
            self.every = self.every.max(1).saturating_mul(2);
            let every = self.every;
            self.pieces.retain(|(merge, _)| merge.is_multiple_of(every));
            if self.pieces.iter().all(|(merge, _)| *merge == 0) {
                break;
            }
        }
    }

    pub(super) fn end_merge(&mut self) {
        self.merges += 1;
    }

    /// Takes all that was noted since the last call. `free`: the free runs of the device, which
    /// has `size` bytes; `fragment`: how long a run is that is none; `scale`: how many bytes of
    /// the full drive a byte of the run is.
    pub(super) fn take(
        &mut self,
        mut free: Vec<Range<u64>>,
        (size, fragment): (u64, u64),
        scale: f64,
    ) -> Addresses {
        let Self { merges, pieces, .. } = std::mem::take(self);
        let last = free.last().filter(|run| run.end >= size).map_or(size, |run| run.start);
        free.sort_by_key(|run| run.end - run.start);
        free.truncate(FREE_MAX);
        free.sort_by_key(|run| run.start);
        let pieces = pieces
            .into_iter()
            .map(|(merge, bytes)| Piece { merge, at: Stretch::of(&bytes, scale) });
        Addresses {
            merges,
            pieces: pieces.collect(),
            free: free.iter().map(|run| Stretch::of(run, scale)).collect(),
            end: Stretch::of(&(last..last), scale).start,
            fragment: Stretch::of(&(0..fragment), scale).mib,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 1 << 20;

    #[test]
    fn tables_one_behind_the_other_are_a_piece_of_their_merge() {
        let mut notes = Notes::default();
        for bytes in [0..4, 4..8, 20..24] {
            notes.write(bytes.start * UNIT..bytes.end * UNIT);
        }
        notes.end_merge();
        notes.write(24 * UNIT..28 * UNIT);
        notes.end_merge();
        let free = vec![8 * UNIT..20 * UNIT, 28 * UNIT..100 * UNIT];
        let found = notes.take(free, (100 * UNIT, 7 * UNIT), 2.0);
        let pieces: Vec<_> =
            found.pieces.iter().map(|it| (it.merge, it.at.start, it.at.end())).collect();
        assert_eq!(pieces, [(0, 0.0, 16.0), (0, 40.0, 48.0), (1, 48.0, 56.0)]);
        assert_eq!((found.merges, found.end, found.free[0].mib), (2, 56.0, 24.0));
        assert_eq!(found.fragment, 14.0);
        let after = notes.take(Vec::new(), (100 * UNIT, 0), 1.0);
        assert_eq!((after.merges, after.pieces.len(), after.end), (0, 0, 100.0));
    }

    #[test]
    fn of_many_merges_each_is_kept_whole_or_forgotten() {
        let mut notes = Notes::default();
        for merge in 0..10_000_u64 {
            for table in [0, 2, 4] {
                let start = merge * 8 + table;
                notes.write(start * UNIT..(start + 1) * UNIT);
            }
            notes.end_merge();
        }
        let found = notes.take(Vec::new(), (UNIT, 0), 1.0);
        assert!(found.pieces.len() <= PIECES_MAX && found.pieces.len() > PIECES_MAX / 4);
        assert_eq!(found.merges, 10_000);
        for merge in found.pieces.chunk_by(|one, other| one.merge == other.merge) {
            assert_eq!(merge.len(), 3, "merge {}", merge[0].merge);
        }
        let runs = (0..3_000).map(|at| at * 10 * UNIT..(at * 10 + 1 + at % 2) * UNIT).collect();
        let found = Notes::default().take(runs, (1 << 40, 0), 1.0);
        assert_eq!(found.free.len(), FREE_MAX);
        assert_eq!(found.free.iter().filter(|run| run.mib == 1.0).count(), 1_500);
    }
}
