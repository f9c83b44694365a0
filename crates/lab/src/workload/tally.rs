//! What clients did, and how long it took.

use hdrhistogram::Histogram;
use terrace_env::ByteCount;
use terrace_env::wait::Waits;

use super::operation::Kind;

/// Significant digits of latencies: 0.1 % of each.
const DIGITS: u8 = 3;

/// A histogram of nanoseconds; it grows with what is recorded.
///
/// # Panics
/// Never: the number of digits is one that the library has.
#[must_use]
pub fn latencies() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("a number of digits that the library has")
}

/// What clients did. Tallies of several clients can be added.
#[derive(Clone, Debug)]
pub struct Tally {
    /// By kind of operation, in the order of [`Kind::ALL`], in nanoseconds.
    latencies: [Histogram<u64>; Kind::ALL.len()],
    /// Reads that rightly found nothing; a read-modify-write counts too.
    pub misses: u64,
    /// Records that scans went over.
    pub scanned: u64,
    /// Bytes of keys and values written; of deletes, of the keys.
    pub written: ByteCount,
    /// Bytes of keys and values that reads and scans found.
    pub read: ByteCount,
    /// How many nanoseconds the operation took that has waited longest, from its first wait on,
    /// and what it waited for.
    pub longest: (u64, Waits),
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            latencies: std::array::from_fn(|_| latencies()),
            misses: 0,
            scanned: 0,
            written: ByteCount(0),
            read: ByteCount(0),
            longest: (0, Waits::default()),
        }
    }
}

impl Tally {
    /// How long operations of a kind took, in nanoseconds.
    #[must_use]
    pub fn latencies(&self, kind: Kind) -> &Histogram<u64> {
        &self.latencies[kind as usize]
    }

    /// How long all operations took, in nanoseconds.
    #[must_use]
    pub fn all_latencies(&self) -> Histogram<u64> {
        let mut all = latencies();
        for one in &self.latencies {
            all.add(one).expect("a histogram that grows");
        }
        all
    }

    /// How many operations there were, of all kinds.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.latencies.iter().map(Histogram::len).sum()
    }

    /// Adds what another client did.
    pub fn add(&mut self, other: &Self) {
        for (one, other) in self.latencies.iter_mut().zip(&other.latencies) {
            one.add(other).expect("a histogram that grows");
        }
        self.misses += other.misses;
        self.scanned += other.scanned;
        self.written.0 += other.written.0;
        self.read.0 += other.read.0;
        self.meet(other.longest.0, &other.longest.1);
    }

    /// An operation took so many nanoseconds, from its first wait on.
    pub(super) fn meet(&mut self, nanos: u64, waits: &Waits) {
        if nanos > self.longest.0 {
            self.longest = (nanos, waits.clone());
        }
    }

    /// An operation took so many nanoseconds.
    pub(super) fn record(&mut self, kind: Kind, nanos: u64) {
        // Where no device is touched, virtual time may stand still; the least that is told is 1.
        self.latencies[kind as usize].record(nanos.max(1)).expect("a histogram that grows");
    }
}
