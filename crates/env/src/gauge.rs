//! [`MemoryGauge`]: counts the bytes of memory that are in use for one purpose, and their peak. It
//! only counts: it does not allocate that memory, and has no limit.
//!
//! A gauge can be a part of another one, its *whole*: bytes counted in the part are counted in the
//! whole, too. A [`MemoryLease`] is a share of the count that is given back when it is dropped.
//!
//! Any number of threads may count and read at once. Part and whole, count and peak are changed one
//! after the other, so a reader can for a moment see one changed and the other not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ByteCount;

/// A named count of bytes in use, and its peak. Clones share the count.
#[derive(Clone, Debug)]
pub struct MemoryGauge(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    name: &'static str,
    used: AtomicU64,
    peak: AtomicU64,
    /// Counts the same bytes, and those of other gauges.
    whole: Option<MemoryGauge>,
}

impl MemoryGauge {
    /// A gauge at zero.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self::with_whole(name, None)
    }

    /// A gauge at zero whose bytes this one counts, too.
    #[must_use]
    pub fn part(&self, name: &'static str) -> Self {
        Self::with_whole(name, Some(self.clone()))
    }

    fn with_whole(name: &'static str, whole: Option<Self>) -> Self {
        let (used, peak) = (AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(Counts { name, used, peak, whole }))
    }

    /// Counts `bytes` as used until they are given back: for code that itself keeps count of many
    /// small pieces. All others take a [lease](Self::lease).
    pub fn take(&self, bytes: u64) {
        let used = self.0.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // A new peak is rare, and its operation is a loop on most processors.
        if used > self.0.peak.load(Ordering::Relaxed) {
            self.0.peak.fetch_max(used, Ordering::Relaxed);
        }
        if let Some(whole) = &self.0.whole {
            whole.take(bytes);
        }
    }

    /// Gives back bytes that were taken.
    pub fn give_back(&self, bytes: u64) {
        let used = self.0.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(used >= bytes, "{}: {bytes} of {used} bytes given back", self.0.name);
        if let Some(whole) = &self.0.whole {
            whole.give_back(bytes);
        }
    }

    /// Name of the use of the bytes, as metrics show it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// The bytes in use now.
    #[must_use]
    pub fn used(&self) -> ByteCount {
        ByteCount(self.0.used.load(Ordering::Relaxed))
    }

    /// The most bytes that were ever in use.
    #[must_use]
    pub fn peak(&self) -> ByteCount {
        ByteCount(self.0.peak.load(Ordering::Relaxed))
    }

    /// Counts `bytes` as used until the lease is dropped.
    #[must_use]
    pub fn lease(&self, bytes: usize) -> MemoryLease {
        let mut lease = MemoryLease { gauge: self.clone(), bytes: 0 };
        lease.resize(bytes);
        lease
    }
}

/// A part of a gauge's count, given back on drop.
#[derive(Debug)]
pub struct MemoryLease {
    gauge: MemoryGauge,
    bytes: u64,
}

impl MemoryLease {
    /// Changes how much this lease counts.
    pub fn resize(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        if bytes > self.bytes {
            self.gauge.take(bytes - self.bytes);
        } else if bytes < self.bytes {
            self.gauge.give_back(self.bytes - bytes);
        }
        self.bytes = bytes;
    }

    /// How much this lease counts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_remembers_its_peak_and_returns_to_zero() {
        let gauge = MemoryGauge::new("test");
        let mut first = gauge.lease(100);
        let second = gauge.lease(50);
        first.resize(10);
        assert_eq!((gauge.used(), gauge.peak()), (ByteCount(60), ByteCount(150)));
        drop((first, second));
        assert_eq!((gauge.used(), gauge.peak()), (ByteCount(0), ByteCount(150)));
    }

    #[test]
    fn a_whole_counts_what_its_parts_count_at_the_same_time() {
        let whole = MemoryGauge::new("whole");
        let (left, right) = (whole.part("left"), whole.part("right"));
        let lease = left.lease(70);
        right.take(30);
        drop(lease);
        right.take(40);
        assert_eq!((whole.used(), whole.peak()), (ByteCount(70), ByteCount(100)));
        right.give_back(70);
        assert_eq!((right.used(), whole.used()), (ByteCount(0), ByteCount(0)));
        assert_eq!((left.peak(), right.peak()), (ByteCount(70), ByteCount(70)));
    }
}
