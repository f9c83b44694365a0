//! [`Activity`]: events of the store and latencies of its calls, kept for clients of the window.
//!
//! - The last [`EVENTS_MAX`] events are kept, whether a client is connected or not: they are rare.
//! - Latencies are measured only while a client is connected that has asked for a snapshot, of one
//!   call of each kind in [`ONE_IN`]. Otherwise a call costs one load of a number. The latencies
//!   are those of the last one to two [`PERIOD`]s.
//!
//! Any thread. The locks are held for some instructions.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use terrace_env::sync::Mutex;
use terrace_env::wait::Waits;
use terrace_env::{ByteCount, Time, runner};
use terrace_lsm::{Event, Job, Listener};

/// Events that are kept.
const EVENTS_MAX: usize = 256;

/// One call in this number is measured.
const ONE_IN: u64 = 16;

/// Length of a period of measurement.
const PERIOD: Duration = Duration::from_secs(10);

/// The largest latency that is recorded exactly, in nanoseconds: a quarter of an hour.
const NANOS_MAX: u64 = 900_000_000_000;

/// Calls whose latencies are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Get,
    Write,
}

/// An event of the store, with the time since it was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveEvent {
    /// Events are numbered from 1 on.
    pub number: u64,
    /// Nanoseconds from the opening of the store to the event.
    pub nanos: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Happening,
}

/// An [`Event`], in the form for other processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// A job began.
    Began {
        /// The job.
        job: Job,
    },
    /// A job ended.
    Ended {
        /// The job.
        job: Job,
        /// Bytes of its tables; `None` if it had no result.
        written: Option<ByteCount>,
        /// Duration in nanoseconds.
        took: u64,
    },
    /// A group of writes had to wait for long.
    Stalled {
        /// Duration in nanoseconds.
        took: u64,
        /// Its waits, by cause.
        waits: Waits,
    },
    /// A failure has stopped all writing.
    Stopped {
        /// The failure.
        error: String,
    },
    /// Writing goes on after a failure.
    Resumed,
    /// Puts will soon be refused.
    NearlyFull {
        /// Approximate live bytes.
        live: ByteCount,
        /// Approximate bytes that puts can still write.
        room: ByteCount,
    },
    /// An event that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Latencies of one kind of call, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Calls that were measured, one in sixteen.
    pub measured: u64,
    /// Half of them took at most this.
    pub p50: u64,
    /// Of 100, 99 took at most this.
    pub p99: u64,
    /// Of 1000, 999 took at most this.
    pub p999: u64,
    /// The longest of them.
    pub max: u64,
}

/// Latencies of the last ten to twenty seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    /// Latencies of point reads.
    pub gets: Latency,
    /// Latencies of writes; each put, delete and batch is one.
    pub writes: Latency,
}

/// See the [module](self).
pub(crate) struct Activity {
    opened: Time,
    events: Mutex<Events>,
    /// Number of connected clients.
    watchers: AtomicUsize,
    /// Calls of each kind while a client is connected.
    calls: [AtomicU64; 2],
    latencies: Mutex<Option<Periods>>,
}

#[derive(Default)]
struct Events {
    next: u64,
    kept: VecDeque<LiveEvent>,
}

/// Two periods: the last whole one, and the one that is running.
struct Periods {
    began: Time,
    before: [Histogram<u64>; 2],
    now: [Histogram<u64>; 2],
}

impl Periods {
    fn new() -> Self {
        Self { began: runner::now(), before: empty(), now: empty() }
    }

    /// Begins a new period if it is time.
    fn turn(&mut self) {
        let now = runner::now();
        let age = now.since(self.began);
        if age < PERIOD {
            return;
        }
        let whole = std::mem::replace(&mut self.now, empty());
        self.before = if age < 2 * PERIOD { whole } else { empty() };
        self.began = now;
    }

    fn latency(&self, call: Call) -> Latency {
        let mut all = self.before[call as usize].clone();
        // Both have the same range.
        let _ = all.add(&self.now[call as usize]);
        let at = |quantile| if all.is_empty() { 0 } else { all.value_at_quantile(quantile) };
        let measured = all.len();
        Latency { measured, p50: at(0.5), p99: at(0.99), p999: at(0.999), max: all.max() }
    }
}

fn empty() -> [Histogram<u64>; 2] {
    let new = || Histogram::new_with_max(NANOS_MAX, 2).expect("a range of two digits");
    [new(), new()]
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self {
            opened: runner::now(),
            events: Mutex::default(),
            watchers: AtomicUsize::new(0),
            calls: Default::default(),
            latencies: Mutex::new(None),
        }
    }

    /// Time since the store was opened, in nanoseconds.
    pub(crate) fn age(&self) -> u64 {
        nanos(runner::now().since(self.opened))
    }

    /// Notes that a client has connected.
    pub(crate) fn watch(&self) {
        let mut latencies = self.latencies.lock();
        if self.watchers.fetch_add(1, Ordering::Relaxed) == 0 {
            *latencies = Some(Periods::new());
        }
    }

    /// Notes that a client has gone.
    pub(crate) fn unwatch(&self) {
        let mut latencies = self.latencies.lock();
        if self.watchers.fetch_sub(1, Ordering::Relaxed) == 1 {
            *latencies = None;
        }
    }

    /// Begin of a call, if it is to be measured.
    pub(crate) fn begin(&self, call: Call) -> Option<Time> {
        let is_measured = self.watchers.load(Ordering::Relaxed) > 0
            && self.calls[call as usize].fetch_add(1, Ordering::Relaxed).is_multiple_of(ONE_IN);
        is_measured.then(runner::now)
    }

    /// Notes the end of a measured call.
    pub(crate) fn end(&self, call: Call, begun: Time) {
        let took = nanos(runner::now().since(begun));
        if let Some(periods) = &mut *self.latencies.lock() {
            periods.turn();
            periods.now[call as usize].saturating_record(took.max(1));
        }
    }

    pub(crate) fn latencies(&self) -> Latencies {
        let mut periods = self.latencies.lock();
        let Some(periods) = &mut *periods else { return Latencies::default() };
        periods.turn();
        Latencies { gets: periods.latency(Call::Get), writes: periods.latency(Call::Write) }
    }

    /// The kept events after this number.
    pub(crate) fn events_after(&self, number: u64) -> Vec<LiveEvent> {
        let events = self.events.lock();
        events.kept.iter().filter(|event| event.number > number).cloned().collect()
    }
}

impl Listener for Activity {
    fn notice(&self, event: &Event) {
        let event = match event {
            Event::Began { job } => Happening::Began { job: *job },
            Event::Ended { job, written, time } => {
                Happening::Ended { job: *job, written: *written, took: nanos(*time) }
            }
            Event::Stalled { time, waits } => {
                Happening::Stalled { took: nanos(*time), waits: waits.clone() }
            }
            Event::Stopped { error } => Happening::Stopped { error: error.to_string() },
            Event::Resumed => Happening::Resumed,
            Event::NearlyFull { live, room } => Happening::NearlyFull { live: *live, room: *room },
            _ => Happening::Unknown,
        };
        let nanos = self.age();
        let mut events = self.events.lock();
        events.next += 1;
        let number = events.next;
        if events.kept.len() == EVENTS_MAX {
            events.kept.pop_front();
        }
        events.kept.push_back(LiveEvent { number, nanos, event });
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept_and_told_after_a_number() {
        let activity = Activity::new();
        for _ in 0..EVENTS_MAX + 10 {
            activity.notice(&Event::Resumed);
        }
        let all = activity.events_after(0);
        assert_eq!((all.len(), all[0].number), (EVENTS_MAX, 11));
        let last = activity.events_after(EVENTS_MAX as u64 + 9);
        assert_eq!(last.len(), 1);
        let text = serde_json::to_string(&last[0]).unwrap();
        assert_eq!(serde_json::from_str::<LiveEvent>(&text).unwrap(), last[0]);
        let newer = r#"{"number":1,"nanos":2,"event":"of_tomorrow"}"#;
        let found: LiveEvent = serde_json::from_str(newer).unwrap();
        assert_eq!(found.event, Happening::Unknown);
    }

    /// Of 1,000 calls the 500th, the 990th and the 999th decide, each with a time of its own. Half
    /// of them are of the period before.
    #[test]
    fn percentiles_are_those_of_known_calls_of_two_periods() {
        let mut periods = Periods::new();
        let steps = [(499, 1), (1, 10), (489, 20), (1, 30), (8, 40), (1, 50), (1, 60)];
        for (at, (count, millis)) in steps.into_iter().enumerate() {
            let of = if at % 2 == 0 { &mut periods.before } else { &mut periods.now };
            of[Call::Get as usize].record_n(millis * 1_000_000, count).unwrap();
        }
        let Latency { measured, p50, p99, p999, max } = periods.latency(Call::Get);
        assert_eq!(measured, 1_000);
        for (found, millis) in [(p50, 10.0), (p99, 30.0), (p999, 50.0), (max, 60.0)] {
            // The histogram keeps two digits.
            let off = found as f64 / (millis * 1e6) - 1.0;
            assert!(off.abs() <= 0.01, "{found} ns, expected {millis} ms");
        }
        assert_eq!(periods.latency(Call::Write), Latency::default());
    }

    #[test]
    fn latencies_are_those_of_twenty_seconds_at_most_and_of_all_clients() {
        terrace_env::runner::simulate(1, || {
            let activity = Activity::new();
            activity.watch();
            let begun = activity.begin(Call::Get).expect("the first call");
            runner::sleep(Duration::from_millis(1));
            activity.end(Call::Get, begun);
            activity.watch();
            assert_eq!(activity.latencies().gets.measured, 1, "another client changes nothing");
            runner::sleep(PERIOD);
            assert_eq!(activity.latencies().gets.measured, 1, "the period before");
            runner::sleep(PERIOD);
            assert_eq!(activity.latencies().gets.measured, 0);
            let begun = (0..ONE_IN).find_map(|_| activity.begin(Call::Get)).expect("one of them");
            activity.end(Call::Get, begun);
            runner::sleep(2 * PERIOD);
            assert_eq!(activity.latencies().gets.measured, 0, "no look between");
        });
    }

    #[test]
    fn calls_are_measured_only_while_a_client_looks() {
        let activity = Activity::new();
        assert_eq!(activity.begin(Call::Get), None);
        activity.watch();
        for _ in 0..10 * ONE_IN {
            if let Some(begun) = activity.begin(Call::Write) {
                activity.end(Call::Write, begun);
            }
        }
        let Latencies { gets, writes } = activity.latencies();
        assert_eq!((gets, writes.measured), (Latency::default(), 10));
        assert!(writes.p50 > 0 && writes.p50 <= writes.max);
        activity.unwatch();
        assert_eq!((activity.begin(Call::Get), activity.latencies()), (None, Latencies::default()));
    }
}
