//! [`LoadMeter`]: counts the bytes that clients have lately written, and the scans that they have
//! lately begun, as the [`Load`] that deciders see.
//!
//! "Lately" is measured in flushes, not in time: each flush halves the counts so far. So the last
//! flushes count most, and an idle store goes on counting scans against the bytes written before.
//!
//! Threads: any. One lock, with nothing else under it.

use terrace_env::ByteCount;
use terrace_env::sync::Mutex;
use terrace_policy::Load;

use crate::counters::Counters;

/// Bytes that a disk transfers in the time of a seek: 8 ms at 130 MB/s.
const SEEK_OF_DISK: ByteCount = ByteCount::mib(1);
/// Bytes that flash transfers in the time of a read: 60 us at 1 GB/s.
const SEEK_OF_FLASH: ByteCount = ByteCount::kib(64);

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LoadMeter {
    seek: ByteCount,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Counters at the last flush.
    scans: u64,
    written: u64,
    /// Counts until then, halved at each flush.
    scans_before: u64,
    written_before: u64,
}

impl LoadMeter {
    /// For a store on a disk, or on anything else.
    pub(crate) fn new(rotational: bool) -> Self {
        let seek = if rotational { SEEK_OF_DISK } else { SEEK_OF_FLASH };
        Self { seek, counts: Mutex::default() }
    }

    /// The load now.
    pub(crate) fn load(&self, counters: &Counters) -> Load {
        let counts = self.counts.lock();
        let (scans, written) = counts.since(counters);
        Load { written: ByteCount(written), scans, seek: self.seek }
    }

    /// A memtable was flushed.
    pub(crate) fn flushed(&self, counters: &Counters) {
        let mut counts = self.counts.lock();
        let (scans, written) = counts.since(counters);
        *counts = Counts {
            scans: counters.scans.get(),
            written: counters.user_bytes.get(),
            scans_before: scans / 2,
            written_before: written / 2,
        };
    }
}

impl Counts {
    fn since(&self, counters: &Counters) -> (u64, u64) {
        let scans = counters.scans.get().saturating_sub(self.scans);
        let written = counters.user_bytes.get().saturating_sub(self.written);
        (self.scans_before + scans, self.written_before + written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_let_old_counts_fade_and_a_rest_lets_scans_weigh_more() {
        let (meter, counters) = (LoadMeter::new(true), Counters::new());
        let of = |scans, written| Load { written: ByteCount(written), scans, seek: SEEK_OF_DISK };
        assert_eq!(meter.load(&counters), of(0, 0));
        counters.user_bytes.add(1000);
        counters.scans.add(8);
        assert_eq!(meter.load(&counters), of(8, 1000));
        meter.flushed(&counters);
        counters.user_bytes.add(1000);
        meter.flushed(&counters);
        assert_eq!(meter.load(&counters), of(2, 750));
        counters.scans.add(100);
        assert_eq!(meter.load(&counters), of(102, 750));
        assert_eq!(LoadMeter::new(false).load(&counters).seek, SEEK_OF_FLASH);
    }
}
