//! [`Throttle`]: delays writers early and a little, so that they are not stopped later because the
//! jobs are late.
//!
//! Each byte that is written costs its writer time, once the [`Pressure`] of the tree or of the
//! memtables is above [`START`](Pressure::START). The larger of the two costs counts.
//!
//! The tree:
//!
//! > time per byte = work per byte x (pressure - start) / (match - start)
//!
//! *Work per byte* is the time that compactions have lately been busy for each byte written. At
//! pressure [`MATCH`](Pressure::MATCH) a byte costs its writer the time that it costs the jobs.
//!
//! The memtables:
//!
//! > time per byte = remaining time of the flush / room x (pressure - start) / (match - start)
//!
//! *Room* is the number of bytes that the memtables can still take. The last factor is at most 1:
//! from [`MATCH`](Pressure::MATCH) on the room lasts until the flush ends. The remaining time is
//! estimated from the progress of this flush and from the duration of earlier ones: a flush that
//! shares the medium with a compaction takes several times as long as one that does not.
//!
//! Both durations are averages over about [`FLUSHES`] flushes. Short delays are saved up for a
//! later group ([`DELAY_MIN`]). A group waits for at most [`DELAY_MAX`], and leaves at most
//! [`DEBT_MAX`] to later groups; the excess is forgiven. So is the debt for a flush, once it has
//! ended.
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
const DELAY_MAX: Duration = Duration::from_millis(300);
/// The longest time that groups owe.
const DEBT_MAX: Duration = Duration::from_secs(1);
/// A flush that has not ended yet takes at least this part of its time so far. Its end may take
/// long: it waits for the commits of compactions.
const LATE_PART: f64 = 1.0 / 4.0;

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

/// The memtables, as a group of writes finds them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memtables {
    /// Bytes in them, and bytes that they can take in all.
    pub(crate) filled: u64,
    pub(crate) most: u64,
    /// Size of the one that is flushed.
    pub(crate) flushed: u64,
    /// Time since its flush began, and the share that is done, from 0 to 1.
    pub(crate) elapsed: Duration,
    pub(crate) share: f64,
}

impl Memtables {
    /// How full memory is with memtables.
    pub(crate) fn pressure(&self) -> Pressure {
        Pressure(self.filled as f64 / self.most.max(1) as f64)
    }

    /// Remaining seconds of the flush, if flushes usually take `per_byte` seconds a byte. The
    /// further it is, the more its own progress counts. After its last entry, its tables are synced
    /// and its transaction is committed.
    fn remaining(&self, per_byte: f64) -> f64 {
        let (usual, left) = (self.flushed as f64 * per_byte, 1.0 - self.share.clamp(0.0, 1.0));
        let elapsed = self.elapsed.as_secs_f64();
        (left * (usual * left + elapsed)).max(usual - elapsed).max(elapsed * LATE_PART)
    }

    /// Seconds that a group of `bytes` waits for the flush.
    fn cost(&self, bytes: u64, per_byte: f64) -> f64 {
        let room = self.most.saturating_sub(self.filled).max(bytes);
        let part = excess(self.pressure()).min(1.0);
        self.remaining(per_byte) * part * bytes as f64 / room.max(1) as f64
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
    /// Times at which all admitted bytes are paid for: for the tree, and for the memtables. 0 if
    /// they are.
    due_for_tree: Time,
    due_for_memory: Time,
}

impl Throttle {
    /// Notes that a compaction begins that the shape of the tree needs.
    pub(crate) fn compaction_begins(&mut self, now: Time) {
        debug_assert_eq!(self.busy_since, None, "the busy time before has ended");
        self.busy_since = Some(now);
    }

    pub(crate) fn compaction_ends(&mut self, now: Time) {
        if let Some(since) = self.busy_since.take() {
            self.busy += now.since(since);
        }
    }

    /// Notes that a flush has ended, and its duration.
    pub(crate) fn flushed(&mut self, now: Time, time: Duration) {
        // The debt for this flush is forgiven.
        self.due_for_memory = Time(0);
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

    /// Admits bytes; returns how long their writer is to wait, and why. `memtables`: none if they
    /// are far from full. The clock is read only if a delay is possible.
    pub(crate) fn admit(
        &mut self,
        now: impl FnOnce() -> Time,
        bytes: u64,
        tree: Pressure,
        memtables: Option<&Memtables>,
    ) -> Option<(Duration, WaitCause)> {
        self.admitted += bytes;
        let for_tree = self.compacting.seconds_per_byte() * excess(tree) * bytes as f64;
        let per_byte = self.flushing.seconds_per_byte();
        let for_memory = memtables.map_or(0.0, |memtables| memtables.cost(bytes, per_byte));
        let is_free = for_tree <= 0.0 && for_memory <= 0.0;
        if is_free && (self.due_for_tree, self.due_for_memory) == (Time(0), Time(0)) {
            return None;
        }
        let now = now();
        let for_tree = owed(&mut self.due_for_tree, now, for_tree);
        let for_memory = owed(&mut self.due_for_memory, now, for_memory);
        let cause =
            if for_tree >= for_memory { WaitCause::TreeDelay } else { WaitCause::MemoryDelay };
        let owed = for_tree.max(for_memory);
        (owed >= DELAY_MIN).then(|| (owed.min(DELAY_MAX), cause))
    }
}

/// Moves a due time on by some seconds; returns the time until then.
fn owed(due: &mut Time, now: Time, seconds: f64) -> Duration {
    let cost = Duration::from_secs_f64(seconds.min(DEBT_MAX.as_secs_f64()));
    *due = ((*due).max(now) + cost).min(now + DEBT_MAX);
    let owed = due.since(now);
    if owed.is_zero() {
        *due = Time(0);
    }
    owed
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
            throttle.admit(|| Time(0), 1_000_000, NONE, None);
            throttle.flushed(Time(second * 1_000_000_000), Duration::from_millis(10));
        }
        throttle
    }

    fn waits(pressure: f64) -> Duration {
        let delay = throttle().admit(|| Time(u64::MAX / 2), 10_000, Pressure(pressure), None);
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
            if let Some((delay, _)) = throttle.admit(|| now, 10, Pressure::MATCH, None) {
                assert!(delay >= DELAY_MIN, "{delay:?}");
                waited += delay;
                now = now + delay;
            }
        }
        let expected = Duration::from_secs(1);
        assert!(expected - waited < DELAY_MIN, "{waited:?}");
    }

    #[test]
    fn a_group_waits_for_a_limited_time_and_leaves_a_limited_rest() {
        let (mut throttle, now) = (throttle(), Time(u64::MAX / 2));
        let cause = WaitCause::TreeDelay;
        let admit = |throttle: &mut Throttle, now, bytes| {
            throttle.admit(|| now, bytes, Pressure::MATCH, None)
        };
        assert_eq!(admit(&mut throttle, now, 100_000_000), Some((DELAY_MAX, cause)));
        let later = now + (DEBT_MAX - DELAY_MIN);
        assert_eq!(admit(&mut throttle, later, 0), Some((DELAY_MIN, cause)));
        assert_eq!(admit(&mut throttle, now + DEBT_MAX, 0), None);
    }

    /// Bytes that a memtable holds, of which there may be two.
    const MEMTABLE: u64 = 1_000_000;

    fn memtables(active: u64, elapsed: u64, share: f64) -> Memtables {
        let (filled, elapsed) = (MEMTABLE + active, Duration::from_millis(elapsed));
        Memtables { filled, most: 2 * MEMTABLE, flushed: MEMTABLE, elapsed, share }
    }

    /// Milliseconds that a thousand bytes of a large group wait, after flushes that took 10 ms for
    /// a memtable.
    fn wait_for_flush(memtables: &Memtables) -> f64 {
        let delay = throttle().admit(|| Time(u64::MAX / 2), 200_000, NONE, Some(memtables));
        delay.map_or(0.0, |(delay, cause)| {
            assert_eq!(cause, WaitCause::MemoryDelay);
            delay.as_secs_f64() * 1000.0 / 200.0
        })
    }

    #[test]
    fn the_room_lasts_until_the_flush_ends() {
        let close = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-3, "{found} ms, expected {expected}");
        };
        assert_eq!(wait_for_flush(&memtables(0, 0, 0.0)), 0.0, "half of the memory is free");
        // All of the flush, over the half of a memtable that is free.
        close(wait_for_flush(&memtables(500_000, 0, 0.0)), 10.0 / 500.0);
        close(wait_for_flush(&memtables(400_000, 0, 0.0)), 10.0 / 600.0 * 0.8);
        close(wait_for_flush(&memtables(500_000, 2, 0.0)), 12.0 / 500.0);
        // As fast as others, and then ten times as slow.
        close(wait_for_flush(&memtables(500_000, 5, 0.5)), 5.0 / 500.0);
        close(wait_for_flush(&memtables(500_000, 50, 0.5)), 27.5 / 500.0);
        // Its last entry is written, but it has not ended yet.
        close(wait_for_flush(&memtables(500_000, 6, 1.0)), 4.0 / 500.0);
        close(wait_for_flush(&memtables(500_000, 50, 1.0)), 12.5 / 500.0);
        // No group waits for longer than the flush.
        close(wait_for_flush(&memtables(MEMTABLE, 50, 0.5)), 27.5 / 200.0);
    }

    #[test]
    fn a_flush_ends_the_debt_for_its_memory() {
        let (mut throttle, now) = (throttle(), Time(u64::MAX / 2));
        let full = memtables(MEMTABLE, 50, 0.5);
        let _ = throttle.admit(|| now, 200_000, NONE, Some(&full));
        assert!(throttle.admit(|| now, 0, NONE, None).is_some(), "there is a debt");
        throttle.flushed(now, Duration::from_millis(10));
        assert_eq!(throttle.admit(|| now, 0, NONE, None), None);
    }

    /// Writers write as fast as they may. One flush in seven takes ten times as long as the others.
    #[test]
    fn no_writer_is_stopped_by_a_flush_that_takes_longer_than_others() {
        let (mut throttle, mut now) = (Throttle::default(), Time(0));
        let (mut active, mut flushes, mut longest) = (0, 0, Duration::ZERO);
        let mut flush: Option<(Time, Duration)> = None;
        while flushes < 200 {
            let begin = now;
            let found = flush.map(|(began, time)| {
                let elapsed = now.since(began);
                let share = elapsed.as_secs_f64() / time.as_secs_f64();
                Memtables { elapsed, ..memtables(active, 0, share) }
            });
            if let Some((delay, _)) = throttle.admit(|| now, 100, NONE, found.as_ref()) {
                now = now + delay;
            }
            now = now + Duration::from_micros(1);
            active += 100;
            if let Some((began, time)) = flush {
                if active >= MEMTABLE {
                    now = now.max(began + time);
                }
                if now >= began + time {
                    throttle.flushed(now, time);
                    flush = None;
                }
            }
            if active >= MEMTABLE {
                (active, flushes) = (0, flushes + 1);
                let millis = if flushes % 7 == 3 { 400 } else { 40 };
                flush = Some((now, Duration::from_millis(millis)));
            }
            if flushes > 20 {
                longest = longest.max(now.since(begin));
            }
        }
        assert!(longest < Duration::from_millis(40), "a group waited for {longest:?}");
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
            if let Some((delay, _)) = throttle.admit(|| now, group, pressure, None) {
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
