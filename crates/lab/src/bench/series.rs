//! Carries mixes out, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hdrhistogram::Histogram;
use terrace::Durability;
use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, runner};

use super::client::{Client, World};
use super::entries::Entries;
use super::error::{BenchError, Defect};
use super::ledger::Ledger;
use super::measurement::{Latency, Measurement, histogram};
use super::meter::{self, Meter};
use super::mix::Mix;
use super::order::Order;
use super::place::{Home, Place};
use super::plan::{Plan, Size};

/// Entries that a seek goes on through: RocksDB's `--seek_nexts` in its usual benchmarks.
const SEEK_ENTRIES: u64 = 50;

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
        let entries = Arc::new(Entries::new(plan.seed, key_size, value_size));
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
        let (db, entries) = (home.db.clone(), Arc::clone(&self.entries));
        let ledger = Arc::new(Ledger::new(size.entries));
        self.stage = Some(Stage { world: World { db, entries, ledger }, home });
        Ok(())
    }

    fn carry_out(&mut self, mix: Mix, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let world = &self.stage.as_ref().expect("a store was made").world;
        let before = world.db.stats();
        let run = Run { plan: &self.plan, world, mix, meter: Meter::start() };
        let mut measurement = run.carry_out(watch)?;
        if mix.writes() {
            world.db.settle()?;
            let spent = run.meter.spent();
            let held = world.ledger.held() * world.entries.entry_size();
            measurement.settle(spent, &before, &world.db.stats(), held);
        }
        measurement.memory = world.db.stats().memory;
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
        let buffered = Durability::Buffered;
        match self.mix {
            Mix::FillSeq => self.each(entries, watch, |client, n| client.put(n, buffered)),
            Mix::FillRandom => {
                self.each(entries, watch, |client, n| client.put(order.at(n), buffered))
            }
            Mix::Overwrite => self.random(entries / 2, watch, |client, n| client.put(n, buffered)),
            Mix::ReadRandom => self.random(reads, watch, Client::get),
            Mix::ReadMissing => self.random(reads, watch, Client::get_absent),
            Mix::SeekRandom => self.random(seeks, watch, |client, n| client.seek(n, SEEK_ENTRIES)),
            Mix::DeleteRandom => {
                let order = Order::seeded(seed ^ self.mix as u64, entries);
                self.each(entries / 2, watch, |client, n| client.delete(order.at(n)))
            }
            Mix::FillSync => {
                let count = syncs.min(entries);
                self.each(count, watch, |client, n| client.put(order.at(n), Durability::Synced))
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
        mut operation: impl FnMut(&mut Client, u64) -> Result<(), BenchError>,
    ) -> Result<Measurement, BenchError> {
        let mut client = Client::new(self.world, self.mix);
        for number in 0..count {
            operation(&mut client, number)?;
            if number % WATCH_EVERY == 0 {
                watch(self.mix, number, count);
            }
        }
        Ok(self.measured(count, Some(client.into_latencies())))
    }

    /// `count` operations on random entries, by one thread.
    fn random(
        &self,
        count: u64,
        watch: Watch<'_>,
        mut operation: impl FnMut(&mut Client, u64) -> Result<(), BenchError>,
    ) -> Result<Measurement, BenchError> {
        let mut random = self.chance();
        let entries = self.plan.size.entries;
        self.each(count, watch, |client, _| operation(client, random.random_range(0..entries)))
    }

    /// Another sequence for each mix.
    fn chance(&self) -> Random {
        Random::seeded(self.plan.seed.rotate_left(8) ^ self.mix as u64)
    }

    fn read_all(&self, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let mut client = Client::new(self.world, self.mix);
        let expected = self.world.ledger.held();
        let found = client.scan_all(&mut |count| {
            if count % WATCH_EVERY == 0 {
                watch(self.mix, count, expected);
            }
        })?;
        if found != expected {
            let (mix, defect) = (self.mix, Defect::Count(expected, found));
            return Err(BenchError::Mismatch { mix, number: found, defect });
        }
        Ok(self.measured(found, None))
    }

    fn two_writers(&self, order: Order, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let (entries, world, mix) = (self.plan.size.entries, self.world.clone(), self.mix);
        let half = entries / 2;
        let other = runner::spawn("writer", move || {
            let mut client = Client::new(&world, mix);
            (half..entries).try_for_each(|n| client.put(order.at(n), Durability::Buffered))?;
            Ok::<_, BenchError>(client.into_latencies())
        });
        let mut client = Client::new(self.world, mix);
        let own = (0..half).try_for_each(|n| {
            if n % WATCH_EVERY == 0 {
                watch(mix, n, half);
            }
            client.put(order.at(n), Durability::Buffered)
        });
        // The other one has to end, whatever became of this one.
        let mut latencies = other.join()?;
        own?;
        latencies.add(client.into_latencies()).expect("histograms of the same digits");
        Ok(self.measured(entries, Some(latencies)))
    }

    fn read_while_writing(&self, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (entries, mut random) = (self.plan.size.entries, self.chance().fork());
        let (world, mix, done) = (self.world.clone(), self.mix, Arc::clone(&stop));
        let writer = runner::spawn("writer", move || {
            let (mut client, mut count) = (Client::new(&world, mix), 0);
            while !done.load(Ordering::Relaxed) {
                client.put(random.random_range(0..entries), Durability::Buffered)?;
                count += 1;
            }
            Ok::<u64, BenchError>(count)
        });
        let reads = self.random(self.plan.reads, watch, Client::get);
        stop.store(true, Ordering::Relaxed);
        let writes = writer.join()?;
        Ok(Measurement { writes_beside: Some(writes), ..reads? })
    }

    fn measured(&self, operations: u64, latencies: Option<Histogram<u64>>) -> Measurement {
        let spent = self.meter.spent();
        let latencies = latencies.unwrap_or_else(histogram);
        let latency = (!latencies.is_empty()).then(|| Latency::of(&latencies));
        Measurement::new(self.mix, operations, spent, latency)
    }
}
