//! How an experiment shrinks to `1/n` of the full drive. There are two modes:
//!
//! | | `delays` | `bandwidths` |
//! |---|---|---|
//! | zones, bands, tracks, space of the store, offload device | an n-th | an n-th |
//! | memtables, memory, file cache, tables, levels | an n-th | an n-th |
//! | `seek_cost`: bytes of a table for a search without success | as they are | an n-th |
//! | the same with `all_reads` | an n-th | - |
//! | requests of jobs, chunks and buffers of the log | an n-th | an n-th |
//! | mechanical delays, page times | an n-th | as they are |
//! | bandwidths | as they are | an n-th |
//! | operations, records | an n-th | as many |
//! | reads and scans, with `all_reads` | as many | - |
//! | records of one scan | as many; an n-th with `all_reads` | as many |
//! | keys and values | as they are | an n-th, both together |
//! | blocks of tables | as they are | a root-n-th |
//! | rates of arrivals | as they are | as they are |
//! | times of an arrival process: period, step, span | an n-th | as they are |
//! | a second of the run is, on the full drive | n seconds | a second |
//! | a second that the throttle delays one operation is | a second | a second |
//!
//! In both modes, requests that shrink to an n-th keep the ratio of transfer to seek time. Some
//! sizes have a least value. A zone, a band, a memtable, a table or a memory that would shrink
//! below 16 KiB is refused.
//!
//! The throttle's delay of one operation follows from its bytes, so it is not scaled. In mode
//! `delays` there are an n-th of the operations, so the delays of all together are an n-th.
//!
//! In mode `delays` a read that waits for the drive takes an n-th of its time. If reads are an n-th
//! as well, all of them together take an n-th of an n-th, while the work of jobs is an n-th. With
//! `all_reads` their number is that of the full drive, so that all of them take an n-th, too: then
//! a rate of reads is that of the full drive, and reads have their true weight compared with
//! writes. A scan has an n-th of its records, so that it still begins as often, and all of them
//! together transfer an n-th. A block that a read transfers stays a block: its transfer takes n
//! times its true time.
//!
//! Some quantities do not shrink, so small scales distort:
//!
//! - The block of the file system is 4 KiB. Tables, commits to the journal and synced writes are
//!   padded to it. So with small tables space and writing are overstated.
//! - In mode `bandwidths`, a key cannot shrink by itself, so the value shrinks for both. The bytes
//!   of an entry other than key and value do not shrink.
//! - In mode `bandwidths`, an entry of an index is as large as on the full drive. If blocks shrank
//!   to an n-th, their indexes would not fit into an n-th of the memory. If they did not shrink,
//!   each would hold too many records. A root-n-th is a compromise.
//! - Processor time per operation does not shrink. In mode `delays` an operation that waits for
//!   nothing is therefore reported as n times slower than it is.
//! - In mode `delays`, a client that waits for its turn after a delayed client is reported as
//!   having waited n times as long.
//! - In mode `delays` there are an n-th of the arrivals, each for n of the full drive, which arrive
//!   together. So bursts of less than n arrivals are overstated.
//! - Other sizes and times of the engine are constants, such as the least sizes of the journal and
//!   of writes to the log, the longest time for which unsynced writes gather, the longest interval
//!   at which a job looks for space again, and how long a write waits for space before it fails.
//! - Subcompactions end between tables. Where few entries make a table, the sizes of tables vary
//!   more.

use terrace::ByteCount;
use terrace_zone::timing::{Scale, ScaleMode};

use super::PlanError;
use crate::workload::{Sizes, VALUE_SIZE_MIN};

/// Memtables, tables and zones smaller than this say nothing about larger ones.
const SIZE_MIN: u64 = 16 << 10;
/// Blocks of tables are not made smaller: below, an index would be as large as its blocks.
const BLOCK_SIZE_MIN: u64 = 256;

/// A scale and its name, and the conversions by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaling {
    scale: Scale,
    mode: ScaleMode,
    all_reads: bool,
}

impl Scaling {
    pub(super) fn new(scale: Scale, mode: ScaleMode) -> Self {
        Self { scale: scale.with_mode(mode), mode, all_reads: false }
    }

    /// This scaling with the full drive's number of reads and scans.
    pub(super) fn with_all_reads(self, all_reads: bool) -> Result<Self, PlanError> {
        if all_reads && self.mode != ScaleMode::Delays {
            return Err(PlanError::Impossible {
                what: "all_reads".to_owned(),
                expected: "scale_by = \"delays\", for others have all reads anyway".to_owned(),
                found: "scale_by = \"bandwidths\"".to_owned(),
            });
        }
        Ok(Self { all_reads, ..self })
    }

    /// Whether there are as many reads and scans as on the full drive.
    pub(super) fn has_all_reads(&self) -> bool {
        self.all_reads
    }

    /// How many times an n-th the reads and scans are, if there are more than an n-th.
    pub(super) fn all_reads(&self) -> Option<u32> {
        let times = u32::try_from(self.n()).ok()?;
        (self.all_reads && times > 1).then_some(times)
    }

    /// The scaling of the full drive: none.
    pub(super) fn full() -> Self {
        Self::new(Scale::FULL, ScaleMode::default())
    }

    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    pub(super) fn n(&self) -> u64 {
        self.scale.divisor()
    }

    /// How many seconds of the full drive a second of the run is.
    pub(super) fn time_scale(&self) -> u64 {
        match self.mode {
            ScaleMode::Delays => self.n(),
            ScaleMode::Bandwidths => 1,
        }
    }

    /// A size of which something must be left.
    pub(super) fn size(&self, what: &str, full: u64) -> Result<u64, PlanError> {
        let found = full / self.n();
        if found >= SIZE_MIN.min(full) {
            return Ok(found);
        }
        Err(self.nothing_left(what, SIZE_MIN.min(full), found))
    }

    /// A size that may become small.
    pub(super) fn bytes(&self, full: u64) -> u64 {
        full / self.n()
    }

    /// Cost of a search without success, if it is not that of the full drive: with the full drive's
    /// number of reads, tables of an n-th must allow the same number as whole ones.
    pub(super) fn seek_cost(&self, full: ByteCount) -> Option<ByteCount> {
        let reads_shrink = self.mode == ScaleMode::Delays && !self.all_reads;
        let scales = full.0 > 0 && self.n() > 1 && !reads_shrink;
        scales.then(|| ByteCount((full.0 / self.n()).max(1)))
    }

    pub(super) fn count(&self, full: u64) -> u64 {
        match self.mode {
            ScaleMode::Delays => (full / self.n()).max(1),
            ScaleMode::Bandwidths => full,
        }
    }

    pub(super) fn block_size(&self, full: u64) -> u64 {
        match self.mode {
            ScaleMode::Delays => full,
            ScaleMode::Bandwidths => (full / self.n().isqrt()).max(BLOCK_SIZE_MIN.min(full)),
        }
    }

    /// Values to keys of `key` bytes.
    pub(super) fn values(&self, what: &str, full: Sizes, key: u64) -> Result<Sizes, PlanError> {
        if self.mode == ScaleMode::Delays {
            return Ok(full);
        }
        let least = VALUE_SIZE_MIN as u64;
        let smaller = |size: u32| {
            let found = ((key + u64::from(size)) / self.n()).saturating_sub(key);
            if found < least {
                return Err(self.nothing_left(what, least, found));
            }
            Ok(found as u32)
        };
        Ok(match full {
            Sizes::Constant(size) => Sizes::Constant(smaller(size)?),
            Sizes::Uniform(low, high) => Sizes::Uniform(smaller(low)?, smaller(high)?),
            Sizes::Pareto(low, high, shape) => Sizes::Pareto(smaller(low)?, smaller(high)?, shape),
        })
    }

    fn nothing_left(&self, what: &str, least: u64, found: u64) -> PlanError {
        let scale = self.scale.to_string();
        PlanError::NothingLeft { what: what.to_owned(), scale, least, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaling(mode: ScaleMode) -> Scaling {
        Scaling::new("1/16".parse().unwrap(), mode)
    }

    #[test]
    fn delays_shrink_counts_and_bandwidths_shrink_entries() {
        let values = Sizes::Constant(4096);
        let delays = scaling(ScaleMode::Delays);
        assert_eq!(
            (delays.count(1600), delays.time_scale(), delays.block_size(4096)),
            (100, 16, 4096)
        );
        assert_eq!(delays.values("values", values, 16).unwrap(), values);
        let bandwidths = scaling(ScaleMode::Bandwidths);
        assert_eq!((bandwidths.count(1600), bandwidths.time_scale()), (1600, 1));
        assert_eq!(bandwidths.block_size(4096), 1024);
        // Key and value together are a sixteenth.
        assert_eq!(bandwidths.values("values", values, 16).unwrap(), Sizes::Constant(241));
    }

    #[test]
    fn a_table_allows_as_large_a_part_of_the_reads_as_on_the_full_drive() {
        let (table, cost) = (ByteCount::mib(4), ByteCount::kib(16));
        let allowed = |scaling: Scaling| {
            let cost = scaling.seek_cost(cost).unwrap_or(cost);
            scaling.bytes(table.0) / cost.0
        };
        let delays = scaling(ScaleMode::Delays);
        let all_reads = scaling(ScaleMode::Delays).with_all_reads(true).unwrap();
        assert_eq!(allowed(Scaling::full()), 256);
        assert_eq!(allowed(delays), 256 / 16, "a sixteenth of the reads");
        assert_eq!(allowed(all_reads), 256);
        assert_eq!(allowed(scaling(ScaleMode::Bandwidths)), 256);
        assert_eq!(all_reads.seek_cost(ByteCount(0)), None, "off stays off");
    }

    #[test]
    fn what_becomes_too_small_is_named() {
        let error = scaling(ScaleMode::Delays).size("memtable", 64 << 10).unwrap_err().to_string();
        assert!(error.contains("memtable at 1/16: expected at least 16384, found 4096"), "{error}");
        let small = Sizes::Constant(100);
        let error = scaling(ScaleMode::Bandwidths).values("values of load", small, 16);
        assert!(error.unwrap_err().to_string().contains("values of load"));
    }
}
