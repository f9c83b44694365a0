//! [`Bench`]: carries out pieces of work one after the other, and measures each.
//!
//! A mix or workload that begins empty gets a new, empty store. Other work uses the store as the
//! work before it left it: after `DeleteRandom` half of the entries are gone.
//!
//! The store may not fit: there is none, its keys are in another order, or the values are too large
//! for it. Then a mix or workload first fills a new store, unmeasured. A trace begins with an empty
//! store instead.
//!
//! Call [`Bench::finish`] at the end: it closes the store and flushes the recorded trace.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use terrace_env::ByteCount;
use terrace_env::sync::Mutex;

use terrace_zone::Device;

use super::error::BenchError;
use super::measurement::Measurement;
use super::medium::{Home, Medium};
use super::meter::{self, Meter};
use super::mix::Mix;
use super::plan::Plan;
use super::run::Run;
use super::work::Work;
use crate::workload::{
    Arriving, Crowd, CrowdError, Entries, First, KeyOrder, Preset, Recorded, Source, SourceError,
    Tally, Trace, TraceSummary, TraceWriter, VALUE_SIZE_MAX, VALUE_SIZE_MIN, World,
};

/// Operations between two calls of the watch.
pub(super) const WATCH_EVERY: u64 = 1024;

/// Called as work goes on, with the work, the operations done, and the operations to do.
pub type Watch<'a> = &'a mut dyn FnMut(Work, u64, u64);

/// Where a trace is written to.
type Writer = Box<dyn Write + Send>;

/// A series of work on one store, or on several: a mix that fills begins with an empty one.
pub struct Bench {
    plan: Plan,
    medium: Medium,
    /// The device to which the store's flushes are offloaded, if there is one.
    offload: Option<Arc<dyn Device>>,
    stage: Option<Stage>,
    /// The writer of the trace of the clients' operations, until the first client begins.
    record: Option<Writer>,
    trace: Option<Arc<Mutex<TraceWriter<Writer>>>>,
}

/// A store, and its expected contents.
struct Stage {
    world: World,
    home: Home,
}

/// Contents of a store: counts and a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// Records.
    pub records: u64,
    /// Bytes of their keys and values.
    pub bytes: ByteCount,
    /// A checksum of all of them in order.
    pub checksum: u32,
}

impl Bench {
    /// A series that has not begun.
    #[must_use]
    pub fn new(plan: Plan, medium: Medium) -> Self {
        meter::forget_peak_memory();
        Self { plan, medium, offload: None, stage: None, record: None, trace: None }
    }

    /// The same, with all operations of clients of workloads written to one trace. The trace begins
    /// with an empty store, so unmeasured fills are in it.
    #[must_use]
    pub fn recording(self, into: impl Write + Send + 'static) -> Self {
        Self { record: Some(Box::new(into)), ..self }
    }

    /// The same on stores that have this plain device as their offload device. Each store formats
    /// it anew.
    #[must_use]
    pub fn offloading_to(self, device: Arc<dyn Device>) -> Self {
        Self { offload: Some(device), ..self }
    }

    /// The most memory that the process has held since the series began, where the system says; a
    /// drive in memory is part of it.
    #[must_use]
    pub fn peak_memory(&self) -> Option<ByteCount> {
        meter::peak_memory()
    }

    /// Carries a mix out. One that needs a filled store and has none fills one first, unmeasured.
    pub fn run(&mut self, mix: Mix, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        if mix.begins_empty() {
            self.empty(KeyOrder::Numbered)?;
        } else if !self.fits(KeyOrder::Numbered, self.plan.values.max() as usize) {
            self.empty(KeyOrder::Numbered)?;
            self.carry_out(Mix::FillUniqueRandom, watch)?;
        }
        self.carry_out(mix, watch)
    }

    /// Carries a workload out. One that needs a filled store and has none fills one first,
    /// unmeasured.
    pub fn generate(
        &mut self,
        preset: Preset,
        watch: Watch<'_>,
    ) -> Result<Measurement, BenchError> {
        let order = preset.key_order();
        if preset.begins_empty() {
            self.empty(order)?;
        } else if !self.fits(order, self.plan.values.max() as usize) {
            self.empty(order)?;
            let fill = preset.filled_by();
            self.play(Work::Preset(fill), self.first(fill, false), self.plan.entries, watch)?;
        }
        let total = if preset.begins_empty() { self.plan.entries } else { self.plan.operations };
        let (work, source) = (Work::Preset(preset), self.first(preset, true));
        let Some(process) = &self.plan.arrivals else {
            return self.play(work, source, total, watch);
        };
        let span = Duration::from_secs_f64(total as f64 / process.rate());
        let instants = process.instants(self.plan.seed, Some(span));
        self.play(work, Arriving::new(source, instants), total, watch)
    }

    /// Carries a trace out, of which `summary` is known: on the store that there is, if the keys
    /// of its records lie as those of the trace do, and else on an empty one.
    pub fn replay(
        &mut self,
        trace: Trace<impl BufRead + Send + 'static>,
        summary: &TraceSummary,
        watch: Watch<'_>,
    ) -> Result<Measurement, BenchError> {
        let value_size_max = summary.value_size_max as usize;
        if !self.fits(summary.order, value_size_max) {
            let keys = summary.writes as f64 * self.plan.keys.mean();
            let bytes = summary.value_bytes + keys as u64;
            self.empty_for(summary.order, bytes, value_size_max)?;
        }
        self.play(Work::Trace, trace, summary.operations, watch)
    }

    /// Contents of the store now; every record is verified. `None` without a store.
    pub fn contents(&self) -> Result<Option<Contents>, BenchError> {
        let Some(Stage { world, .. }) = &self.stage else { return Ok(None) };
        let wrong = |source| BenchError::Client { work: Work::Mix(Mix::ReadSeq), source };
        let records = world.verify(&mut |_| ()).map_err(wrong)?;
        let bytes = ByteCount(world.ledger().held().bytes);
        Ok(Some(Contents { records, bytes, checksum: world.checksum().map_err(wrong)? }))
    }

    /// Closes the store, and ends the trace.
    pub fn finish(mut self) -> Result<(), BenchError> {
        self.close()?;
        let flushed = self.trace.map(|trace| trace.lock().flush());
        flushed.transpose().map(drop).map_err(|error| SourceError::Record(error).into())
    }

    fn close(&mut self) -> Result<(), BenchError> {
        if let Some(Stage { world, home }) = self.stage.take() {
            drop(world);
            home.db.clone().close()?;
        }
        Ok(())
    }

    /// Whether there is a store whose keys lie like this, and that can hold values so large.
    fn fits(&self, order: KeyOrder, value_size_max: usize) -> bool {
        self.stage.as_ref().is_some_and(|stage| {
            let entries = stage.world.entries();
            let value_size_max = value_size_max.clamp(VALUE_SIZE_MIN, VALUE_SIZE_MAX);
            entries.order() == order && value_size_max <= *entries.value_sizes().end()
        })
    }

    fn empty(&mut self, order: KeyOrder) -> Result<(), BenchError> {
        self.empty_for(order, self.plan.bytes(), self.plan.values.max() as usize)
    }

    fn empty_for(
        &mut self,
        order: KeyOrder,
        bytes: u64,
        value_size_max: usize,
    ) -> Result<(), BenchError> {
        self.close()?;
        let Plan { seed, keys, options, .. } = &self.plan;
        let home = self.medium.make(bytes, self.offload.as_ref(), options)?;
        let value_size_max = value_size_max.clamp(VALUE_SIZE_MIN, VALUE_SIZE_MAX);
        let entries = Arc::new(Entries::new(*seed, *keys, order, value_size_max));
        let world = World::new(home.db.clone(), entries);
        self.stage = Some(Stage { world, home });
        if let Some(into) = self.record.take() {
            let trace = match self.plan.arrivals {
                None => TraceWriter::new(into, order),
                Some(_) => TraceWriter::with_arrivals(into, order),
            };
            let trace = trace.map_err(SourceError::Record)?;
            self.trace = Some(Arc::new(Mutex::new(trace)));
        }
        Ok(())
    }

    fn carry_out(&mut self, mix: Mix, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let world = &self.stage.as_ref().expect("a store was made").world;
        let before = world.db().stats();
        let run = Run { plan: &self.plan, world, mix, meter: Meter::start() };
        let mut measurement = run.carry_out(watch)?;
        if mix.writes() {
            measurement.wait_idle(world, run.meter, &before)?;
        }
        measurement.memory = world.db().stats().memory;
        if let Some(size) = self.plan.size() {
            measurement.compare(size);
        }
        Ok(measurement)
    }

    /// The operations of a workload; `measured` are those that were asked for.
    fn first(&self, preset: Preset, measured: bool) -> First {
        let &Plan { values, entries, seed, operations, .. } = &self.plan;
        let mut workload = preset.workload(values, entries, seed);
        if let (true, Some(chooser)) = (measured, &self.plan.chooser) {
            workload = workload.with_chooser(chooser.clone());
        }
        First::new(workload, if preset.begins_empty() { entries } else { operations })
    }

    fn play(
        &mut self,
        work: Work,
        source: impl Source + 'static,
        total: u64,
        watch: Watch<'_>,
    ) -> Result<Measurement, BenchError> {
        let world = &self.stage.as_ref().expect("a store was made").world;
        let (before, meter, clients) = (world.db().stats(), Meter::start(), self.plan.clients);
        let mut watch = |done: u64| {
            if done % WATCH_EVERY == 1 {
                watch(work, done, total);
            }
        };
        let played = match &self.trace {
            Some(trace) => {
                Crowd::new(clients).play(world, Recorded::new(source, trace), &mut watch)
            }
            None => Crowd::new(clients).play(world, source, &mut watch),
        };
        let tally: Tally = played.map_err(|error| match error {
            CrowdError::Client(source) => BenchError::Client { work, source },
            CrowdError::Source(error) => error.into(),
        })?;
        let spent = meter.spent();
        let mut measurement =
            Measurement::new(work, tally.operations(), spent, tally.all_latencies());
        measurement.add_played(clients, &tally);
        if tally.written.0 > 0 {
            measurement.wait_idle(world, meter, &before)?;
        }
        measurement.memory = world.db().stats().memory;
        Ok(measurement)
    }
}

#[cfg(test)]
mod tests {
    use terrace::Options;

    use super::*;
    use crate::workload::Sizes;

    #[test]
    fn a_store_of_smaller_values_is_not_gone_on_with() {
        let plan = Plan {
            entries: 50,
            keys: Sizes::Constant(16),
            values: Sizes::Constant(1_000),
            reads: 10,
            seeks: 1,
            syncs: 1,
            operations: 50,
            clients: 1,
            arrivals: None,
            chooser: None,
            seed: 1,
            options: Options::default().memtable_size(ByteCount::mib(1)),
        };
        let medium = Medium::Memory { zone_size: ByteCount::mib(1) };
        let mut bench = Bench::new(plan, medium);
        for order in [KeyOrder::Numbered, KeyOrder::Hashed] {
            // As after a trace of small values.
            bench.empty_for(order, 5_000, 100).unwrap();
            if order == KeyOrder::Numbered {
                bench.run(Mix::ReadRandom, &mut |_, _, _| ()).unwrap();
                bench.empty_for(order, 5_000, 100).unwrap();
            }
            let preset = if order == KeyOrder::Numbered { "overwrite" } else { "ycsb-a" };
            bench.generate(preset.parse().unwrap(), &mut |_, _, _| ()).unwrap();
            assert_eq!(bench.contents().unwrap().unwrap().records, 50);
        }
        bench.finish().unwrap();
    }
}
