//! Memory gauges: who holds how much, so that a store can live within one budget.

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
}

impl MemoryGauge {
    /// A gauge at zero.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self(Arc::new(Counts { name, used: AtomicU64::new(0), peak: AtomicU64::new(0) }))
    }

    /// What the bytes are used for.
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
        let counts = &self.gauge.0;
        if bytes >= self.bytes {
            let grown = bytes - self.bytes;
            let used = counts.used.fetch_add(grown, Ordering::Relaxed) + grown;
            counts.peak.fetch_max(used, Ordering::Relaxed);
        } else {
            counts.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
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
}
