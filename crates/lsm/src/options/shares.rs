//! [`Shares`]: how the memory budget of an engine is divided.
//!
//! | share | how large |
//! |---|---|
//! | memtables | `memtable_size` times one more than `memtables_max`; at most 3/4 of the budget |
//! | log | nine frames, each 1/64 of the budget, at most 1 MiB; none if the budget is below 4 MiB |
//! | jobs | 1/4 of the budget without memtables and log, at most 32 x `io_size` |
//! | scans | 1/16 of the same, at most 16 x `io_size` |
//! | reads | the remainder: up to 1/2 for positions of scans, 3/4 of the rest for open tables |
//! | | and the other bytes for the block cache |
//!
//! Reads also get the shares of jobs and memtables while these do not use them
//! (`memory/memory.rs`).
//!
//! `memtable_size` and `io_size` are made smaller to fit a small budget; `memtable_size` not below
//! [`MEMTABLE_SIZE_MIN`], even if memtables then have more than 3/4. The log takes at most a
//! quarter of the budget without memtables. The sum of the shares is at most the budget, unless the
//! smallest memtables alone are more. Plain values; any thread.

use terrace_env::ByteCount;

use super::options::EngineOptions;
use crate::limits;

/// Divisor of the budget for the bytes that jobs move at once. A flush and the subcompactions of a
/// merge (mostly two) each take two and a half times as much for the table that they write.
const IO_PART: u64 = 28;
/// The most memory for jobs, as a multiple of the bytes that they move at once: enough for the
/// tables that they write and for read-ahead of some dozen inputs. More makes them no faster.
const JOBS_MAX: u64 = 32;
/// Divisor of the budget for a log frame, within bounds: smaller frames have too much padding, and
/// there are no larger ones.
const LOG_PART: u64 = 64;
const LOG_FRAME: std::ops::RangeInclusive<u64> = 64 << 10..=1 << 20;
/// Frames in memory when the medium is late: four in flight, each twice (as it is written and as it
/// was buffered), and one buffer.
const LOG_FRAMES: u64 = 9;
/// The least, with any budget: smaller memtables cost more work than they save memory.
pub(super) const MEMTABLE_SIZE_MIN: u64 = 16 << 10;
/// The same for scans: enough for a hundred long ones.
const SCANS_MAX: u64 = 16;

/// Division of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Largest size of one memtable.
    pub(crate) memtable_size: ByteCount,
    /// Bytes that jobs move at once.
    pub(crate) io_size: ByteCount,
    pub(crate) memtables: ByteCount,
    /// Largest size of a frame of the log.
    pub(crate) log_frame: ByteCount,
    pub(crate) jobs: ByteCount,
    pub(crate) scans: ByteCount,
    /// Open tables and block cache together.
    pub(crate) reads: ByteCount,
}

impl Shares {
    pub(crate) fn of(options: &EngineOptions) -> Self {
        let whole = options.memory.0;
        let count = (options.memtables_max as u64).saturating_add(1);
        let size_max = (whole - whole / 4) / count;
        let memtable_size = options.memtable_size.0.min(size_max.max(MEMTABLE_SIZE_MIN));
        let memtables = memtable_size.saturating_mul(count);
        let log_frame = (whole / LOG_PART).clamp(*LOG_FRAME.start(), *LOG_FRAME.end());
        let rest = whole.saturating_sub(memtables);
        // If frames would be smaller than their minimum, the log has no share: reads need all that
        // remains.
        let has_share = whole / LOG_PART >= *LOG_FRAME.start();
        let log = if has_share { (log_frame * LOG_FRAMES).min(rest / 4) } else { 0 };
        let rest = rest - log;
        let io_size = options.io_size.0.min((whole / IO_PART).max(limits::IO_SIZE.least.0));
        let most = |times: u64| io_size.saturating_mul(times);
        let (jobs, scans) = ((rest / 4).min(most(JOBS_MAX)), (rest / 16).min(most(SCANS_MAX)));
        Self {
            memtable_size: ByteCount(memtable_size),
            io_size: ByteCount(io_size),
            memtables: ByteCount(memtables),
            log_frame: ByteCount(log_frame),
            jobs: ByteCount(jobs),
            scans: ByteCount(scans),
            reads: ByteCount(rest - jobs - scans),
        }
    }

    /// The most bytes of open tables.
    pub(crate) fn tables(&self) -> ByteCount {
        ByteCount(self.reads.0 - self.reads.0 / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(memory: u64, memtable_size: ByteCount) -> Shares {
        let memory = ByteCount(memory);
        Shares::of(&EngineOptions { memory, memtable_size, ..EngineOptions::default() })
    }

    #[test]
    fn the_shares_never_add_up_to_more_than_there_is() {
        for memory in [0, 1, 3, 1000, 1 << 20, 200 << 20, 1 << 40, u64::MAX] {
            for memtable_size in [1, 1 << 16, 64 << 20, u64::MAX] {
                let shares = shares(memory, ByteCount(memtable_size));
                let all = [shares.memtables, shares.jobs, shares.scans, shares.reads];
                let log = shares.log_frame.0 * LOG_FRAMES;
                let sum: u128 = all.iter().map(|share| u128::from(share.0)).sum();
                let sum = sum + if memory >= 64 << 20 { u128::from(log) } else { 0 };
                assert!(sum <= u128::from(memory.max(3 * MEMTABLE_SIZE_MIN)), "{shares:?}");
                assert!(shares.memtable_size.0 > 0);
            }
        }
    }

    #[test]
    fn memtables_too_large_for_the_budget_are_made_smaller() {
        let fits = shares(256 << 20, ByteCount::mib(64));
        assert_eq!(fits.memtable_size, ByteCount::mib(64));
        assert_eq!(shares(128 << 20, ByteCount::mib(64)).memtable_size, ByteCount::mib(32));
    }
}
