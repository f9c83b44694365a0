//! How an experiment shrinks to `1/n`.
//!
//! | | `delays` | `bandwidths` |
//! |---|---|---|
//! | zones, memtables, memory, tables, levels, requests of jobs | an n-th | an n-th |
//! | mechanical delays, page times | an n-th | as they are |
//! | bandwidths | as they are | an n-th |
//! | operations, records | an n-th | as many |
//! | keys and values | as they are | an n-th, both together |
//! | blocks of tables | as they are | a root-n-th |
//! | a second of the run is, on the full drive | n seconds | a second |
//! | a second that the throttle holds one operation back is | a second | a second |
//!
//! Bytes over time and seeks over bytes then stay what they are, and so do their ratios. Sizes are
//! rounded down. A zone, a memtable, a table or a memory that would come below 16 KiB is refused.
//! Requests of jobs stay at 8 KiB or more, blocks of tables at 256 bytes, operations and records at
//! one. The file cache is an n-th in both modes.
//!
//! The throttle's delays follow from the bytes of an operation, and from what a byte costs the
//! jobs, which is the same at every scale. So one operation is delayed as on the full drive; all of
//! them together, of which there are an n-th with `delays`, an n-th of the time.
//!
//! Some quantities do *not* shrink, with these consequences:
//!
//! - The file system's block of 4 KiB. A table is padded to it, so with tables below some hundred
//!   KiB space and writing are overstated (32 KiB of 4 MiB at 1/16: 1 %); every commit to the
//!   journal and every synced write is at least one, which takes `n` times its time on the full
//!   drive: 17 us x n on a disk beside the seek and the revolution before it.
//! - With `bandwidths`, an index takes for a block what it takes on the full drive, and with blocks
//!   of an n-th it would not fit into an n-th of the memory; but in large blocks, a record that is
//!   read often takes others into the cache. Blocks of a root-n-th leave both wrong by root n.
//! - With `bandwidths`, what an entry takes beside key and value (some 20 bytes in a table, 60 in a
//!   memtable) and the 16 bytes of a key: values make up for the key, not for the rest.
//! - A frame of the log is not made smaller than 64 KiB: entries are not split between frames, and
//!   the rest of a frame would be padding. On a disk the write cache makes one stream of them.
//! - Processor time: a certain time per operation, entry and KiB. Throughput and shares come out
//!   right because there are an n-th of the operations; but with `delays` an operation that waits
//!   for nothing is reported at n times the microseconds it would take.
//! - With several clients, one that waits behind another's delay is told to have waited n times as
//!   long: its wait is one for its turn, whatever the other waited for.
//! - A job that waits for space looks again after 50 ms at the latest; it is told earlier in nearly
//!   all cases.
//! - The journal is rolled when it has 256 KiB or more, whatever the size of a zone, and takes
//!   512 KiB and three zones.
//! - A merge is cut into subcompactions of some tables, and tables end up as they are cut: where
//!   few entries make a table, tables differ more.

use terrace_zone::timing::{Scale, ScaleMode};

use super::PlanError;
use crate::workload::{Sizes, VALUE_SIZE_MIN};

/// Memtables, tables and zones smaller than this say nothing about larger ones.
const SIZE_MIN: u64 = 16 << 10;
/// Blocks of tables are not made smaller: below, an index is as large as what it leads to.
const BLOCK_SIZE_MIN: u64 = 256;

/// A scale and its name, for what is asked of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaling {
    scale: Scale,
    mode: ScaleMode,
}

impl Scaling {
    pub(super) fn new(scale: Scale, mode: ScaleMode) -> Self {
        Self { scale: scale.with_mode(mode), mode }
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

    /// Values beside keys of `key` bytes.
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
    fn what_becomes_too_small_is_named() {
        let error = scaling(ScaleMode::Delays).size("memtable", 64 << 10).unwrap_err().to_string();
        assert!(error.contains("memtable at 1/16: expected at least 16384, found 4096"), "{error}");
        let small = Sizes::Constant(100);
        let error = scaling(ScaleMode::Bandwidths).values("values of load", small, 16);
        assert!(error.unwrap_err().to_string().contains("values of load"));
    }
}
