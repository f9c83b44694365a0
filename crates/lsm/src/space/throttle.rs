//! [`Throttle`]: delays writers early and a little, so that they are not stopped later because the
//! jobs are late.
//!
//! Each byte that is written costs its writer time, once the [`Pressure`] of the tree or of the
//! memtables is above [`START`](Pressure::START):
//!
//! > time per byte = work per byte x (pressure - start) / (match - start)
//!
//! *Work per byte* is the time that the jobs have lately been busy for each byte written:
//! compactions for the pressure of the tree, flushes for that of the memtables. The larger of the
//! two costs counts. At pressure [`MATCH`](Pressure::MATCH) a byte costs its writer the time that
//! it costs the jobs.
//!
//! Work per byte is an average over about [`FLUSHES`] flushes. Short delays are saved up for a
//! later group ([`DELAY_MIN`]). A group waits for at most [`DELAY_MAX`]; the excess is forgiven.
//!
//! No lock, no clock and no sleep: the caller guards it and passes the time, and the leader sleeps.

use std::time::Duration;

use terrace_env::Time;
use terrace_env::wait::WaitCause;
use terrace_policy::Pressure;

/// Number of flushes over which work per byte is averaged.
const FLUSHES: f64 = 12.0;
/// Shorter delays are saved up: a sleep has its own cost.
const DELAY_MIN: Duration = Duration::from_millis(1);
/// The longest delay of one group.
const DELAY_MAX: Duration = Duration::from_secs(1);

/// Bytes, and the time that a job was busy with them; older ones count less.
#[derive(Debug, Default)]
struct Work {
    bytes: f64,
    seconds: f64,
}

impl Work {
    fn add(&mut self, bytes: u64, time: Duration) {
        let kept = 1.0 - 1.0 / FLUSHES;
        self.bytes = self.bytes * kept + bytes as f64;
        self.seconds = self.seconds * kept + time.as_secs_f64();
    }

    fn seconds_per_byte(&self) -> f64 {
        if self.bytes > 0.0 { self.seconds / self.bytes } else { 0.0 }
    }
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    /// Bytes admitted since the last flush ended.
    admitted: u64,
    flushing: Work,
    compacting: Work,
    /// Begin of the current busy time of compaction, and earlier busy time since the last flush.
    busy_since: Option<Time>,
    busy: Duration,
    /// Time at which all admitted bytes are paid for.
    due: Time,
}

impl Throttle {
    /// Notes that a compaction begins that the shape of the tree needs.
    pub(crate) fn compaction_begins(&mut self, now: Time) {
        self.busy_since = Some(now);
    }

    pub(crate) fn compaction_ends(&mut self, now: Time) {
        if let Some(since) = self.busy_since.take() {
            self.busy += now.since(since);
        }
    }

    /// Notes that a flush has ended, and its duration.
    pub(crate) fn flushed(&mut self, now: Time, time: Duration) {
        let busy_since = self.busy_since;
        self.compaction_ends(now);
        self.busy_since = busy_since.map(|_| now);
        let (bytes, busy) = (std::mem::take(&mut self.admitted), std::mem::take(&mut self.busy));
        // A flush at an opening writes bytes that were not admitted here.
        if bytes > 0 {
            self.flushing.add(bytes, time);
            self.compacting.add(bytes, busy);
        }
    }

    /// Admits bytes; returns how long their writer is to wait, and why. `fill`: how full memory is
    /// with memtables.
    pub(crate) fn admit(
        &mut self,
        now: Time,
        bytes: u64,
        tree: Pressure,
        fill: Pressure,
    ) -> Option<(Duration, WaitCause)> {
        self.admitted += bytes;
        let for_tree = self.compacting.seconds_per_byte() * excess(tree);
        let for_memory = self.flushing.seconds_per_byte() * excess(fill);
        let cause =
            if for_tree >= for_memory { WaitCause::TreeDelay } else { WaitCause::MemoryDelay };
        let cost = for_tree.max(for_memory) * bytes as f64;
        let cost = Duration::from_secs_f64(cost.min(DELAY_MAX.as_secs_f64()));
        self.due = self.due.max(now) + cost;
        let owed = self.due.since(now);
        if owed < DELAY_MIN {
            return None;
        }
        self.due = self.due.min(now + DELAY_MAX);
        Some((owed.min(DELAY_MAX), cause))
    }
}

fn excess(pressure: Pressure) -> f64 {
    let (start, middle) = (Pressure::START.0, Pressure::MATCH.0);
    // If the pressure is not a number, the comparison is false, as for no pressure.
    if pressure.0 > start { (pressure.0 - start) / (middle - start) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Pressure = Pressure(0.0);

    /// A throttle whose compaction was busy for a second per MB.
    fn throttle() -> Throttle {
        let mut throttle = Throttle::default();
        throttle.compaction_begins(Time(0));
        for second in 1..=20 {
            throttle.admit(Time(0), 1_000_000, NONE, NONE);
            throttle.flushed(Time(second * 1_000_000_000), Duration::from_millis(10));
        }
        throttle
    }

    fn waits(pressure: f64) -> Duration {
        let delay = throttle().admit(Time(u64::MAX / 2), 10_000, Pressure(pressure), NONE);
        delay.map_or(Duration::ZERO, |(delay, _)| delay)
    }

    #[test]
    fn writers_are_held_back_in_proportion_to_what_is_above_the_start() {
        assert_eq!(waits(0.5), Duration::ZERO);
        assert_eq!(waits(f64::NAN), Duration::ZERO);
        assert_eq!(waits(0.75), Duration::from_millis(10));
        assert_eq!(waits(1.0), Duration::from_millis(20));
        assert_eq!(waits(1e9), DELAY_MAX);
    }

    #[test]
    fn short_delays_are_saved_up_and_none_is_forgotten() {
        let (mut throttle, mut waited) = (throttle(), Duration::ZERO);
        let mut now = Time(u64::MAX / 2);
        for _ in 0..100_000 {
            if let Some((delay, _)) = throttle.admit(now, 10, Pressure::MATCH, NONE) {
                assert!(delay >= DELAY_MIN, "{delay:?}");
                waited += delay;
                now = now + delay;
            }
        }
        let expected = Duration::from_secs(1);
        assert!(expected - waited < DELAY_MIN, "{waited:?}");
    }

    #[test]
    fn full_memory_is_paid_for_at_the_rate_of_flushes() {
        let delay = throttle().admit(Time(u64::MAX / 2), 1_000_000, NONE, Pressure::MATCH);
        assert_eq!(delay, Some((Duration::from_millis(10), WaitCause::MemoryDelay)));
    }

    /// Writers that write as fast as they may, against a compaction that takes `capacity` bytes a
    /// second: the rate comes to the capacity, and no wait is long.
    fn settle(capacity: f64) -> (f64, f64) {
        let (mut throttle, mut now) = (Throttle::default(), Time(0));
        let (group, flush, limit) = (10_000, 1_000_000, 12.0);
        let (mut debt, mut unflushed, mut written) = (0.0, 0, 0.0);
        let (mut highest, mut half) = (0.0_f64, 0.0);
        throttle.compaction_begins(now);
        while now < Time(600_000_000_000) {
            let before = now;
            let pressure = Pressure::of(debt / flush as f64, limit * 2.0 / 3.0, limit);
            highest = highest.max(pressure.0);
            now = now + Duration::from_micros(10);
            if let Some((delay, _)) = throttle.admit(now, group, pressure, NONE) {
                now = now + delay;
            }
            let passed = now.since(before).as_secs_f64();
            debt = (debt + group as f64 - capacity * passed).max(0.0);
            unflushed += group;
            if unflushed >= flush {
                unflushed = 0;
                throttle.flushed(now, Duration::from_millis(1));
            }
            if now > Time(300_000_000_000) {
                half += group as f64;
            }
            written += group as f64;
        }
        assert!(written > half);
        (half / 300.0 / capacity, highest)
    }

    #[test]
    fn the_rate_settles_at_what_compaction_can_take() {
        for capacity in [300_000.0, 3_000_000.0, 30_000_000.0] {
            let (share, highest) = settle(capacity);
            assert!((0.95..1.05).contains(&share), "{share} of {capacity}");
            assert!(highest < 4.0, "a pressure of {highest} at {capacity}");
        }
    }
}
