//! [`Tally`]: operations of clients, and their times.
//!
//! In a scaled run a second may stand for `n` seconds of the full drive. So the tally multiplies
//! the time of an operation by `n`. Delays by the throttle are not multiplied: they follow from the
//! bytes of the operation, and are as long as on the full drive. The wait of an operation for a
//! client is multiplied as a whole. Outside of scaled runs `n` is 1.
//!
//! Where a scaled run has the full drive's number of reads and an n-th of the writes, a write
//! counts n times.

use std::time::Duration;

use hdrhistogram::Histogram;
use terrace_env::ByteCount;
use terrace_env::wait::{WaitCause, Waits};

use super::operation::Kind;

/// Significant digits of latencies: 0.1 % of each.
const DIGITS: u8 = 3;

/// Waits that follow from the bytes of one operation.
const DELAYS: [WaitCause; 2] = [WaitCause::TreeDelay, WaitCause::MemoryDelay];

/// How much longer than in a run a wait of one operation is on the full drive, of which a second of
/// the run is `time_scale` seconds.
pub(crate) fn time_scale_of(cause: WaitCause, time_scale: u64) -> u64 {
    if DELAYS.contains(&cause) { 1 } else { time_scale }
}

/// Nanoseconds on the full drive of an operation that took `time` in a run, and of it waited so.
fn full_nanos(time: Duration, waits: &Waits, time_scale: u64) -> u64 {
    let delayed: Duration = DELAYS.into_iter().map(|cause| waits.of(cause).time()).sum();
    let rest = time.saturating_sub(delayed).as_nanos() as u64;
    delayed.as_nanos() as u64 + rest.saturating_mul(time_scale)
}

/// A histogram of nanoseconds; it grows with the recorded values.
///
/// # Panics
/// Never: the number of digits is one that the library has.
#[must_use]
pub fn latencies() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("a number of digits that the library has")
}

/// Operations and latencies of a client. Tallies of several clients can be added. All times are
/// those of the full drive.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Latencies by kind of operation, in the order of [`Kind::ALL`], in nanoseconds.
    latencies: [Histogram<u64>; Kind::ALL.len()],
    /// Reads that rightly found nothing; a read-modify-write counts too.
    pub misses: u64,
    /// Records that scans went over.
    pub scanned: u64,
    /// Bytes of keys and values written; of deletes, of the keys.
    pub written: ByteCount,
    /// Bytes of keys and values that reads and scans found.
    pub read: ByteCount,
    /// The nanoseconds of the operation that has waited longest, from its first wait on, and its
    /// waits.
    pub longest: (u64, Waits),
    /// How long operations waited for a client after they had arrived, in nanoseconds; empty for
    /// operations without arrivals.
    arrival_waits: Histogram<u64>,
    /// How many seconds of the full drive a second is.
    pub(super) time_scale: u64,
    /// How often a write counts.
    pub(super) write_weight: u64,
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
            arrival_waits: latencies(),
            time_scale: 1,
            write_weight: 1,
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

    /// How long operations waited for a client after they had arrived, in nanoseconds: a part of
    /// their times. Empty without arrivals.
    #[must_use]
    pub fn arrival_waits(&self) -> &Histogram<u64> {
        &self.arrival_waits
    }

    /// How many operations there were, of all kinds; a write counts by its weight.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.latencies.iter().map(Histogram::len).sum()
    }

    /// Operations of which each stands for as many of the full drive as a write does.
    pub(crate) fn counted(&self) -> f64 {
        self.operations() as f64 / self.write_weight as f64
    }

    /// Adds the work of another client.
    pub fn add(&mut self, other: &Self) {
        for (one, other) in self.latencies.iter_mut().zip(&other.latencies) {
            one.add(other).expect("a histogram that grows");
        }
        self.arrival_waits.add(&other.arrival_waits).expect("a histogram that grows");
        self.misses += other.misses;
        self.scanned += other.scanned;
        self.written.0 += other.written.0;
        self.read.0 += other.read.0;
        if other.longest.0 > self.longest.0 {
            self.longest.clone_from(&other.longest);
        }
    }

    /// An operation took so long from its first wait on, and waited for this.
    pub(super) fn meet(&mut self, time: Duration, waits: &Waits) {
        let nanos = full_nanos(time, waits, self.time_scale);
        if nanos > self.longest.0 {
            self.longest = (nanos, waits.clone());
        }
    }

    /// An operation that had arrived waited `wait` for its client. Waits for operations before it
    /// are longer on the full drive, for any cause: there are more of them.
    pub(super) fn meet_client(&mut self, wait: Duration) {
        let nanos = (wait.as_nanos() as u64).saturating_mul(self.time_scale);
        self.arrival_waits.record(nanos).expect("a histogram that grows");
    }

    /// An operation took so long, and waited for this.
    pub(super) fn record(&mut self, kind: Kind, time: Duration, waits: &Waits) {
        let nanos = full_nanos(time, waits, self.time_scale);
        // To each read that a write follows there are more, which are plain reads.
        let writes = matches!(kind, Kind::Update | Kind::Insert | Kind::Delete);
        let count = if writes { self.write_weight } else { 1 };
        // Where no device is touched, virtual time may stand still; the least that is told is 1.
        let histogram = &mut self.latencies[kind as usize];
        histogram.record_n(nanos.max(1), count).expect("a histogram that grows");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_of_the_throttle_is_as_long_on_the_full_drive_and_other_waits_are_longer() {
        let millis = Duration::from_millis;
        let mut waits = Waits::default();
        waits.note(WaitCause::TreeDelay, millis(5));
        waits.note(WaitCause::MemoryDelay, millis(1));
        waits.note(WaitCause::Memtables, millis(2));
        for (time_scale, found) in [(1, 10), (64, 6 + 4 * 64)] {
            let mut tally = Tally { time_scale, ..Tally::default() };
            tally.record(Kind::Update, millis(10), &waits);
            tally.meet(millis(10), &waits);
            let latency = tally.all_latencies().max() as f64 / 1e6;
            assert!((latency / f64::from(found) - 1.0).abs() < 0.002, "{latency} at {time_scale}");
            assert_eq!(tally.longest.0, found as u64 * 1_000_000);
        }
        assert_eq!(time_scale_of(WaitCause::TreeDelay, 64), 1);
        assert_eq!(time_scale_of(WaitCause::Memtables, 64), 64);
    }

    #[test]
    fn a_write_counts_as_often_as_it_stands_for() {
        let mut tally = Tally { write_weight: 16, ..Tally::default() };
        let (time, waits) = (Duration::from_millis(1), Waits::default());
        // 32 operations of the full drive's half reads: 31 and one that a write follows; and two
        // that write, for 16 each.
        (0..31).for_each(|_| tally.record(Kind::Read, time, &waits));
        for kind in [Kind::ReadModifyWrite, Kind::Update, Kind::Insert] {
            tally.record(kind, time, &waits);
        }
        assert_eq!((tally.operations(), tally.counted()), (64, 4.0));
    }

    /// A wait for a client is as many times longer on the full drive as all other times, and its
    /// percentiles are those of known waits.
    #[test]
    fn a_wait_for_a_client_is_that_on_the_full_drive() {
        for time_scale in [1, 64] {
            let mut tally = Tally { time_scale, ..Tally::default() };
            (1..=1_000).for_each(|millis| tally.meet_client(Duration::from_millis(millis)));
            let waits = tally.arrival_waits();
            assert_eq!(waits.len(), 1_000);
            for (at, millis) in [(0.5, 500), (0.99, 990), (0.999, 999), (1.0, 1_000)] {
                let found = waits.value_at_quantile(at) as f64 / 1e6;
                let expected = (millis * time_scale) as f64;
                assert!((found / expected - 1.0).abs() <= 0.001, "{found}, {expected} ms");
            }
        }
    }

    #[test]
    fn the_longest_is_that_on_the_full_drive() {
        let mut tally = Tally { time_scale: 64, ..Tally::default() };
        for (cause, millis) in [(WaitCause::TreeDelay, 300), (WaitCause::Memtables, 20)] {
            let (time, mut waits) = (Duration::from_millis(millis), Waits::default());
            waits.note(cause, time);
            tally.meet(time, &waits);
        }
        assert_eq!(tally.longest.0, 1_280_000_000);
    }
}
