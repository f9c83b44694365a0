//! [`Measurement`]: the result of a piece of work: time, latencies, bytes and memory.
//!
//! Its times end with the last operation of the work. Flushes and compactions may still be due
//! then. [`WhenIdle`] has time, bytes and space after the background work is done as well.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;
use terrace::{MemoryStats, Stats, WriteAmplification};
use terrace_env::ByteCount;

use super::meter::{Meter, Spent};
use super::plan::Size;
use super::reference::Reference;
use super::work::Work;
use crate::workload::{Kind, Tally, World};

/// Latencies, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Half of the operations were quicker.
    pub p50: f64,
    /// The latency that one operation in a hundred exceeds.
    pub p99: f64,
    /// The latency that one operation in a thousand exceeds.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

impl Latency {
    pub(super) fn of(histogram: &Histogram<u64>) -> Self {
        let micros = |nanos: u64| nanos as f64 / 1000.0;
        let at = |quantile| micros(histogram.value_at_quantile(quantile));
        Self { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: micros(histogram.max()) }
    }
}

/// The same, with the work that was left in the background done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WhenIdle {
    /// Seconds on the wall, from the start.
    pub seconds: f64,
    /// Processor microseconds per operation, from the start.
    pub processor_micros: f64,
    /// Bytes written to the medium per byte of keys and values, by cause.
    pub write_amplification: WriteAmplification,
    /// Bytes of the medium that hold anything, live or dead, over the bytes of the entries that are
    /// in the store.
    pub space_amplification: f64,
    /// Measurements of other engines for the same work, where they were measured.
    pub reference: Option<Reference>,
    /// Bytes that other engines write for one byte, where that was measured.
    pub write_amplification_reference: Option<Reference>,
}

/// The operations of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KindMeasurement {
    /// `read`, `update`, `insert`, `scan`, `modify` or `delete`.
    pub kind: &'static str,
    /// How many there were.
    pub operations: u64,
    /// How long they took.
    pub latency: Latency,
}

/// Operations of the clients of a workload or a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Played {
    /// Number of clients.
    pub clients: usize,
    /// How long operations waited for a client after they had arrived, which is part of their
    /// latency; `None` for operations without arrivals.
    pub arrival_wait: Option<Latency>,
    /// Latencies by kind of operation, for the kinds that there were.
    pub kinds: Vec<KindMeasurement>,
    /// Reads that rightly found nothing.
    pub misses: u64,
    /// Records that scans went over.
    pub scanned: u64,
    /// Bytes of keys and values written.
    pub written: ByteCount,
    /// Bytes of keys and values read.
    pub read: ByteCount,
}

impl Played {
    pub(super) fn new(clients: usize, tally: &Tally) -> Self {
        let kinds = Kind::ALL.into_iter().map(|kind| (kind, tally.latencies(kind)));
        let kinds = kinds.filter(|(_, latencies)| !latencies.is_empty());
        let kinds = kinds.map(|(kind, latencies)| KindMeasurement {
            kind: kind.name(),
            operations: latencies.len(),
            latency: Latency::of(latencies),
        });
        let &Tally { misses, scanned, written, read, .. } = tally;
        let waits = tally.arrival_waits();
        let arrival_wait = (!waits.is_empty()).then(|| Latency::of(waits));
        Self { clients, arrival_wait, kinds: kinds.collect(), misses, scanned, written, read }
    }
}

/// Outcome of a piece of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The work.
    pub mix: Work,
    /// Operations carried out.
    pub operations: u64,
    /// Writes by the second thread, in mixes that have one.
    pub writes_beside: Option<u64>,
    /// Seconds on the wall.
    pub seconds: f64,
    /// Operations a second, on the wall.
    pub operations_per_second: f64,
    /// Processor microseconds per operation, of all threads, user and system.
    pub processor_micros: f64,
    /// Measurements of other engines for the same work, where they were measured.
    pub reference: Option<Reference>,
    /// Latencies, where operations are timed one by one.
    pub latency: Option<Latency>,
    /// Histograms of the latencies, in nanoseconds: of all operations, and where there are kinds,
    /// of each of them by its name.
    #[serde(skip)]
    pub histograms: Vec<(Option<&'static str>, Histogram<u64>)>,
    /// Operations of clients, for workloads and traces.
    pub played: Option<Played>,
    /// The state after the background work, in mixes that write.
    pub when_idle: Option<WhenIdle>,
    /// Memory of the store at the end, and its peak since the store was opened.
    pub memory: MemoryStats,
}

impl Measurement {
    pub(super) fn new(mix: Work, operations: u64, spent: Spent, all: Histogram<u64>) -> Self {
        let latency = (!all.is_empty()).then(|| Latency::of(&all));
        let histograms = if all.is_empty() { Vec::new() } else { vec![(None, all)] };
        let seconds = spent.wall.as_secs_f64();
        Self {
            mix,
            operations,
            writes_beside: None,
            seconds,
            operations_per_second: if seconds > 0.0 { operations as f64 / seconds } else { 0.0 },
            processor_micros: per_operation(spent.processor, operations),
            reference: None,
            latency,
            histograms,
            played: None,
            when_idle: None,
            memory: MemoryStats::default(),
        }
    }

    /// Waits for the background work, and adds the metrics after it. `before` are the
    /// store's metrics when `meter` was started.
    pub(super) fn wait_idle(
        &mut self,
        world: &World,
        meter: Meter,
        before: &Stats,
    ) -> Result<(), terrace::Error> {
        world.db().wait_idle()?;
        let (spent, after) = (meter.spent(), world.db().stats());
        let held = world.ledger().held().bytes;
        let mut io = after.io.clone();
        for (written, before) in io.written_bytes.iter_mut().zip(before.io.written_bytes) {
            *written -= before;
        }
        let used = after.space.live.0 + after.space.dead.0 + after.space.pinned.0;
        self.when_idle = Some(WhenIdle {
            seconds: spent.wall.as_secs_f64(),
            processor_micros: per_operation(spent.processor, self.operations),
            write_amplification: WriteAmplification::of(after.user_bytes - before.user_bytes, &io),
            space_amplification: if held == 0 { 0.0 } else { used as f64 / held as f64 },
            reference: None,
            write_amplification_reference: None,
        });
        Ok(())
    }

    /// Adds the times of other engines.
    pub(super) fn compare(&mut self, size: Size) {
        let Work::Mix(mix) = self.mix else { return };
        self.reference = Reference::of(size, mix, false);
        if let Some(idle) = &mut self.when_idle {
            idle.reference = Reference::of(size, mix, true);
            idle.write_amplification_reference = Reference::write_amplification_of(size, mix);
        }
    }

    /// Adds the work of the clients.
    pub(super) fn add_played(&mut self, clients: usize, tally: &Tally) {
        let played = Played::new(clients, tally);
        let kinds = Kind::ALL.into_iter().map(|kind| (Some(kind.name()), tally.latencies(kind)));
        let kinds = kinds.filter(|(_, latencies)| !latencies.is_empty());
        self.histograms.extend(kinds.map(|(name, latencies)| (name, latencies.clone())));
        self.played = Some(played);
    }
}

fn per_operation(time: Duration, operations: u64) -> f64 {
    time.as_secs_f64() * 1e6 / operations.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1,000 operations the 500th, the 990th and the 999th decide. Each takes a time of its own,
    /// so that the operation before or after it is another percentile.
    #[test]
    fn percentiles_are_those_of_known_operations() {
        let mut latencies = crate::workload::latencies();
        let steps = [(499, 1), (1, 10), (489, 20), (1, 30), (8, 40), (1, 50), (1, 60)];
        for (count, millis) in steps {
            latencies.record_n(millis * 1_000_000, count).unwrap();
        }
        let Latency { p50, p99, p999, max } = Latency::of(&latencies);
        for (found, millis) in [(p50, 10.0), (p99, 30.0), (p999, 50.0), (max, 60.0)] {
            // The histogram keeps three digits.
            let off = found / (millis * 1_000.0) - 1.0;
            assert!(off.abs() <= 0.001, "{found} us, expected {millis} ms");
        }
    }

    #[test]
    fn a_measurement_is_per_operation_and_in_microseconds() {
        let spent = Spent { wall: Duration::from_secs(2), processor: Duration::from_secs(3) };
        let mut latencies = crate::workload::latencies();
        (1..=1000u64).for_each(|micros| latencies.record(micros * 1000).unwrap());
        let latency = Latency::of(&latencies);
        let work = Work::Mix(crate::bench::Mix::ReadRandom);
        let found = Measurement::new(work, 1000, spent, latencies);
        assert_eq!(found.latency, Some(latency));
        assert_eq!((found.operations_per_second, found.processor_micros), (500.0, 3000.0));
        assert!((latency.p50 - 500.0).abs() < 1.0 && (latency.p99 - 990.0).abs() < 2.0);
        assert!((latency.max - 1000.0).abs() < 2.0, "{latency:?}");
    }
}
