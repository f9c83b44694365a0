//! Carries mixes out, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hdrhistogram::Histogram;
use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, runner};

use super::error::BenchError;
use super::measurement::{Latency, Measurement};
use super::meter::{self, Meter};
use super::mix::Mix;
use super::place::{Home, Place};
use super::plan::{Plan, Size};
use super::worker::Worker;
use crate::workload::{Entries, KeyOrder, Order, Sizes, World, latencies};

/// Entries that a seek goes on through: RocksDB's `--seek_nexts` in its usual benchmarks.
const SEEK_ENTRIES: u32 = 50;

/// How many operations lie between two calls to whoever watches.
const WATCH_EVERY: u64 = 1024;

/// Whoever watches is told the mix, what is done and what there is to do.
pub type Watch<'a> = &'a mut dyn FnMut(Mix, u64, u64);

/// A series of mixes on one store, or on several: those that fill begin with an empty one.
pub struct Bench {
    plan: Plan,
    place: Place,
    entries: Arc<Entries>,
    stage: Option<Stage>,
}

/// A store, and what is in it.
struct Stage {
    world: World,
    home: Home,
}

impl Bench {
    /// A series that has not begun.
    #[must_use]
    pub fn new(plan: Plan, place: Place) -> Self {
        meter::forget_peak_memory();
        let Size { key_size, value_size, .. } = plan.size;
        let keys = Sizes::Constant(key_size as u32);
        let entries = Arc::new(Entries::new(plan.seed, keys, KeyOrder::Numbered, value_size));
        Self { plan, place, entries, stage: None }
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
            self.empty()?;
        } else if self.stage.is_none() {
            self.empty()?;
            self.carry_out(Mix::FillRandom, watch)?;
        }
        self.carry_out(mix, watch)
    }

    /// Closes the store.
    pub fn finish(mut self) -> Result<(), BenchError> {
        self.close()
    }

    fn close(&mut self) -> Result<(), BenchError> {
        if let Some(Stage { world, home }) = self.stage.take() {
            drop(world);
            home.db.clone().close()?;
        }
        Ok(())
    }

    fn empty(&mut self) -> Result<(), BenchError> {
        self.close()?;
        let Plan { size, options, .. } = &self.plan;
        let home = self.place.make(size.bytes(), options)?;
        let world = World::new(home.db.clone(), Arc::clone(&self.entries));
        self.stage = Some(Stage { world, home });
        Ok(())
    }

    fn carry_out(&mut self, mix: Mix, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let world = &self.stage.as_ref().expect("a store was made").world;
        let before = world.db().stats();
        let run = Run { plan: &self.plan, world, mix, meter: Meter::start() };
        let mut measurement = run.carry_out(watch)?;
        if mix.writes() {
            world.db().settle()?;
            let spent = run.meter.spent();
            let held = world.ledger().held().bytes;
            measurement.settle(spent, &before, &world.db().stats(), held);
        }
        measurement.memory = world.db().stats().memory;
        measurement.compare(self.plan.size);
        Ok(measurement)
    }
}

/// One mix being carried out.
struct Run<'a> {
    plan: &'a Plan,
    world: &'a World,
    mix: Mix,
    meter: Meter,
}

impl Run<'_> {
    fn carry_out(&self, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let &Plan { size: Size { entries, .. }, reads, seeks, syncs, seed, .. } = self.plan;
        let order = Order::seeded(seed, entries);
        match self.mix {
            Mix::FillSeq => self.each(entries, watch, |worker, n| worker.put(n)),
            Mix::FillRandom => self.each(entries, watch, |worker, n| worker.put(order.at(n))),
            Mix::Overwrite => self.random(entries / 2, watch, |worker, n| worker.put(n)),
            Mix::ReadRandom => self.random(reads, watch, Worker::get),
            Mix::ReadMissing => self.random(reads, watch, Worker::get_absent),
            Mix::SeekRandom => self.random(seeks, watch, |worker, n| worker.seek(n, SEEK_ENTRIES)),
            Mix::DeleteRandom => {
                let order = Order::seeded(seed ^ self.mix as u64, entries);
                self.each(entries / 2, watch, |worker, n| worker.delete(order.at(n)))
            }
            Mix::FillSync => {
                let count = syncs.min(entries);
                self.each(count, watch, |worker, n| worker.put(order.at(n)))
            }
            Mix::ReadSeq => self.read_all(watch),
            Mix::FillRandomTwo => self.two_writers(order, watch),
            Mix::ReadWhileWriting => self.read_while_writing(watch),
        }
    }

    /// Operations 0 to `count`, by one thread.
    fn each(
        &self,
        count: u64,
        watch: Watch<'_>,
        mut operation: impl FnMut(&mut Worker, u64) -> Result<(), BenchError>,
    ) -> Result<Measurement, BenchError> {
        let mut worker = Worker::new(self.world, self.mix, self.plan.size.value_size);
        for number in 0..count {
            operation(&mut worker, number)?;
            if number % WATCH_EVERY == 0 {
                watch(self.mix, number, count);
            }
        }
        Ok(self.measured(count, Some(worker.into_latencies())))
    }

    /// `count` operations on random entries, by one thread.
    fn random(
        &self,
        count: u64,
        watch: Watch<'_>,
        mut operation: impl FnMut(&mut Worker, u64) -> Result<(), BenchError>,
    ) -> Result<Measurement, BenchError> {
        let mut random = self.chance();
        let entries = self.plan.size.entries;
        self.each(count, watch, |worker, _| operation(worker, random.random_range(0..entries)))
    }

    /// Another sequence for each mix.
    fn chance(&self) -> Random {
        Random::seeded(self.plan.seed.rotate_left(8) ^ self.mix as u64)
    }

    fn read_all(&self, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let (mix, expected) = (self.mix, self.world.ledger().held().records);
        let found = self.world.verify(&mut |count| {
            if count % WATCH_EVERY == 0 {
                watch(mix, count, expected);
            }
        });
        let found = found.map_err(|source| BenchError::Client { mix, source })?;
        Ok(self.measured(found, None))
    }

    fn two_writers(&self, order: Order, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let Size { entries, value_size, .. } = self.plan.size;
        let (world, mix) = (self.world.clone(), self.mix);
        let half = entries / 2;
        let other = runner::spawn("writer", move || {
            let mut worker = Worker::new(&world, mix, value_size);
            (half..entries).try_for_each(|n| worker.put(order.at(n)))?;
            Ok::<_, BenchError>(worker.into_latencies())
        });
        let mut worker = Worker::new(self.world, mix, value_size);
        let own = (0..half).try_for_each(|n| {
            if n % WATCH_EVERY == 0 {
                watch(mix, n, half);
            }
            worker.put(order.at(n))
        });
        // The other one has to end, whatever became of this one.
        let mut latencies = other.join()?;
        own?;
        latencies.add(worker.into_latencies()).expect("histograms of the same digits");
        Ok(self.measured(entries, Some(latencies)))
    }

    fn read_while_writing(&self, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let stop = Arc::new(AtomicBool::new(false));
        let Size { entries, value_size, .. } = self.plan.size;
        let mut random = self.chance().fork();
        let (world, mix, done) = (self.world.clone(), self.mix, Arc::clone(&stop));
        let writer = runner::spawn("writer", move || {
            let (mut worker, mut count) = (Worker::new(&world, mix, value_size), 0);
            while !done.load(Ordering::Relaxed) {
                worker.put(random.random_range(0..entries))?;
                count += 1;
            }
            Ok::<u64, BenchError>(count)
        });
        let reads = self.random(self.plan.reads, watch, Worker::get);
        stop.store(true, Ordering::Relaxed);
        let writes = writer.join()?;
        Ok(Measurement { writes_beside: Some(writes), ..reads? })
    }

    fn measured(&self, operations: u64, histogram: Option<Histogram<u64>>) -> Measurement {
        let spent = self.meter.spent();
        let histogram = histogram.unwrap_or_else(latencies);
        let latency = (!histogram.is_empty()).then(|| Latency::of(&histogram));
        Measurement::new(self.mix, operations, spent, latency)
    }
}
