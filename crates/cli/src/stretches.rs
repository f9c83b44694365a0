//! [`Stretches`]: a drive without zones, cut into equal parts (*stretches*) for the map. (The file
//! system's stretches, of 256 blocks, are something else.)
//!
//! There are 256 stretches at most. Their size in bytes is a power of two, 64 KiB at least; the
//! last one may be shorter. Plain functions; no I/O.

use terrace::ByteCount;
use terrace::fs::{RunUsage, RunUse};

use crate::map::{Cell, Mark, Share};

/// The most cells of a map.
const CELLS_MAX: u64 = 256;
/// The smallest stretch: 16 blocks.
const SIZE_MIN: u64 = 64 << 10;

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretches {
    /// Bytes of a stretch.
    pub(crate) size: ByteCount,
    /// Contents of each, from the first on.
    pub(crate) cells: Vec<Cell>,
}

impl Stretches {
    /// The stretches of a drive's runs, which are in their order and without gaps.
    pub(crate) fn of(runs: &[RunUsage]) -> Self {
        let end = runs.last().map_or(0, |run| run.start.0 + run.size.0);
        let size = end.div_ceil(CELLS_MAX).next_power_of_two().max(SIZE_MIN);
        let mut cells = vec![Contents::default(); end.div_ceil(size) as usize];
        for run in runs {
            let (mut at, run_end) = (run.start.0, run.start.0 + run.size.0);
            while at < run_end {
                let cell = at / size;
                let until = run_end.min((cell + 1) * size);
                cells[cell as usize].add(run, until - at);
                at = until;
            }
        }
        Self { size: ByteCount(size), cells: cells.into_iter().map(Contents::cell).collect() }
    }
}

/// Contents of one stretch.
#[derive(Clone, Default)]
struct Contents {
    shares: std::collections::BTreeMap<Share, u64>,
    leased: bool,
    used: bool,
}

impl Contents {
    fn add(&mut self, run: &RunUsage, bytes: u64) {
        let share = share(run);
        *self.shares.entry(share).or_default() += bytes;
        self.leased |= run.used_for == RunUse::Leased;
        self.used |= share != Share::Room;
    }

    fn cell(self) -> Cell {
        let mark = match (self.leased, self.used) {
            (true, _) => Mark::Open,
            (false, true) => Mark::Resting,
            (false, false) => Mark::Free,
        };
        Cell { mark, shares: self.shares.into_iter().collect() }
    }
}

fn share(run: &RunUsage) -> Share {
    match (run.used_for, run.level) {
        (RunUse::Superblock, _) => Share::Superblock,
        (RunUse::Journal, _) => Share::Journal,
        (RunUse::Log, _) => Share::Log,
        (RunUse::Data, Some(level)) => Share::Level(level),
        (RunUse::Data, None) => Share::Other,
        (RunUse::Dead, _) => Share::Dead,
        (RunUse::Guard, _) => Share::Guard,
        (RunUse::Leased | RunUse::Free, _) => Share::Room,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: u64, size: u64, used_for: RunUse, level: Option<u8>) -> RunUsage {
        let (start, size) = (ByteCount::mib(start), ByteCount::mib(size));
        RunUsage { start, size, used_for, level, extents: 1 }
    }

    #[test]
    fn a_run_is_divided_among_the_stretches_that_it_reaches_into() {
        let runs = [
            run(0, 1, RunUse::Superblock, None),
            run(1, 14, RunUse::Data, Some(3)),
            run(15, 3, RunUse::Guard, None),
            run(18, 1, RunUse::Leased, None),
            run(19, 237, RunUse::Free, None),
            run(256, 1000, RunUse::Free, None),
        ];
        let Stretches { size, cells } = Stretches::of(&runs);
        assert_eq!((size, cells.len()), (ByteCount::mib(8), 157));
        let mib = |bytes: u64| bytes << 20;
        let level = |mib_of: u64| (Share::Level(3), mib(mib_of));
        assert_eq!(cells[0].shares, [(Share::Superblock, mib(1)), level(7)]);
        assert_eq!(cells[1].shares, [level(7), (Share::Guard, mib(1))]);
        assert_eq!(cells[2].shares, [(Share::Guard, mib(2)), (Share::Room, mib(6))]);
        let marks: Vec<Mark> = cells[..4].iter().map(|cell| cell.mark).collect();
        assert_eq!(marks, [Mark::Resting, Mark::Resting, Mark::Open, Mark::Free]);
    }

    #[test]
    fn a_map_has_256_cells_at_most_and_a_small_drive_fewer() {
        let cells = |mib: u64| Stretches::of(&[run(0, mib, RunUse::Free, None)]).cells.len();
        assert_eq!((cells(1), cells(16), cells(17)), (16, 256, 136));
        assert_eq!(cells(10_000_000), 153);
        assert_eq!(Stretches::of(&[]).cells, []);
    }
}
