//! [`Reference`]: measurements of other engines for the same work, to compare ours with.
//!
//! They are constants, measured once:
//!
//! - engines: RocksDB 11.8, fjall 3.1, and LevelDB's main branch of late 2026;
//! - machine: a shared one with two virtual processors and 24 GiB of memory, files in a directory
//!   in memory;
//! - options: keys of 16 bytes, no compression, memtables of 64 MiB, a cache of 256 MiB, filters of
//!   10 bits, blocks of 4 KiB, a log that is not synced, two background threads;
//! - metric: processor microseconds (user and system, all threads) per operation, the median of
//!   interleaved runs. For `filluniquerandom` also bytes written per byte of the user.
//!
//! `readwhilewriting` has no values: its metric depends on the number of writes for each read,
//! which was not counted for the other engines.
//!
//! There are values for the two sizes of [`Reference::SIZES`] and for some mixes. On another
//! machine compare ratios, not values, and do not rely on differences below a tenth.

use serde::Serialize;

use super::mix::Mix;
use super::plan::Size;

/// Measurements of other engines for the same work: processor microseconds for an operation, or
/// bytes written for one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// RocksDB 11.8.
    pub rocksdb: f64,
    /// fjall 3.1.
    pub fjall: f64,
    /// LevelDB.
    pub leveldb: f64,
}

impl Size {
    /// Small entries of the reference: to show the cost of code.
    pub const SMALL: Self = Self { entries: 5_000_000, key_size: 16, value_size: 128 };
    /// Larger ones, to show the cost of bytes.
    pub const LARGE: Self = Self { entries: 1_500_000, key_size: 16, value_size: 1024 };
}

impl Reference {
    /// The sizes at which others were measured.
    pub const SIZES: [Size; 2] = [Size::SMALL, Size::LARGE];

    /// Measurements of other engines for a mix at this size, with the remaining background work
    /// done or without; `None` where there is no measurement.
    #[must_use]
    pub fn of(size: Size, mix: Mix, idle: bool) -> Option<Self> {
        let at = Self::SIZES.iter().position(|measured| *measured == size)?;
        let [rocksdb, fjall, leveldb] = metrics(mix, idle)?[at];
        Some(Self { rocksdb, fjall, leveldb })
    }
}

impl Reference {
    /// Bytes that others write to the medium, log included, for a byte of keys and values of a mix
    /// at this size; `None` where there is no measurement.
    #[must_use]
    pub fn write_amplification_of(size: Size, mix: Mix) -> Option<Self> {
        let at = Self::SIZES.iter().position(|measured| *measured == size)?;
        let engines = [[3.4, 3.9, 7.2], [4.7, 5.5, 6.4]];
        let [rocksdb, fjall, leveldb] = engines[at];
        (mix == Mix::FillUniqueRandom).then_some(Self { rocksdb, fjall, leveldb })
    }
}

type Engines = [f64; 3];

/// By size, in the order of [`Reference::SIZES`].
fn metrics(mix: Mix, idle: bool) -> Option<[Engines; 2]> {
    Some(match (mix, idle) {
        (Mix::FillSeq, false) => [[3.3, 2.6, 2.1], [5.5, 4.3, 4.0]],
        (Mix::FillUniqueRandom, false) => [[7.6, 7.5, 7.9], [12.2, 11.9, 11.9]],
        (Mix::FillUniqueRandom, true) => [[7.6, 8.0, 8.2], [14.8, 16.1, 16.0]],
        (Mix::Overwrite, false) => [[8.5, 10.6, 10.0], [11.2, 14.3, 9.1]],
        (Mix::Overwrite, true) => [[9.6, 10.7, 10.6], [17.1, 21.1, 16.9]],
        (Mix::ReadRandom, false) => [[9.6, 7.2, 7.3], [7.9, 7.0, 10.9]],
        (Mix::ReadMissing, false) => [[1.75, 1.13, 1.63], [1.13, 0.70, 4.1]],
        (Mix::ReadSeq, false) => [[0.45, 0.45, 0.09], [1.54, 1.22, 0.22]],
        (Mix::SeekRandom, false) => [[49.7, 51.5, 9.6], [99.7, 80.4, 20.8]],
        (Mix::FillUniqueRandomTwo, false) => [[8.3, 7.3, 8.0], [10.6, 9.2, 8.4]],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_work_is_compared() {
        for size in Reference::SIZES {
            assert!(Reference::of(size, Mix::FillSeq, false).is_some());
            let other = Size { entries: size.entries - 1, ..size };
            assert_eq!(Reference::of(other, Mix::FillSeq, false), None);
            assert_eq!(Reference::of(size, Mix::FillSeq, true), None);
            assert_eq!(Reference::of(size, Mix::DeleteRandom, false), None);
            assert_eq!(Reference::of(size, Mix::ReadWhileWriting, false), None);
        }
        assert!(Reference::write_amplification_of(Size::SMALL, Mix::FillUniqueRandom).is_some());
        assert_eq!(Reference::write_amplification_of(Size::SMALL, Mix::FillSeq), None);
        let scan = Reference::of(Size::LARGE, Mix::ReadSeq, false).unwrap();
        assert_eq!((scan.rocksdb, scan.fjall, scan.leveldb), (1.54, 1.22, 0.22));
    }
}
