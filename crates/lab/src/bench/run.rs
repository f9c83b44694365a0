//! Carries out one mix of operations on a given store, and measures it.
//!
//! The store must be empty or filled, as the mix demands. Operations run on the caller's thread,
//! and those of `FillUniqueRandomTwo` and `ReadWhileWriting` also on a second one. These two mixes
//! join the second thread before they return, also after an error. Flushes and compactions that are
//! due at the end are not waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hdrhistogram::Histogram;
use terrace_env::random::{Random, Rng};
use terrace_env::runner;

use super::error::BenchError;
use super::measurement::Measurement;
use super::meter::Meter;
use super::mix::Mix;
use super::plan::Plan;
use super::series::{WATCH_EVERY, Watch};
use super::work::Work;
use super::worker::Worker;
use crate::workload::{Order, World, latencies};

/// Entries that a seek goes on through: RocksDB's `--seek_nexts` in its usual benchmarks.
const SEEK_ENTRIES: u32 = 50;

/// One mix being carried out.
pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) world: &'a World,
    pub(super) mix: Mix,
    pub(super) meter: Meter,
}

impl Run<'_> {
    pub(super) fn carry_out(&self, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let &Plan { entries, reads, seeks, syncs, seed, .. } = self.plan;
        let order = Order::seeded(seed, entries);
        match self.mix {
            Mix::FillSeq => self.each(entries, watch, |worker, n| worker.put(n)),
            Mix::FillUniqueRandom => self.each(entries, watch, |worker, n| worker.put(order.at(n))),
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
            Mix::FillUniqueRandomTwo => self.two_writers(order, watch),
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
        let mut worker = self.worker(0);
        for number in 0..count {
            operation(&mut worker, number)?;
            if number % WATCH_EVERY == 0 {
                watch(self.work(), number, count);
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
        let entries = self.plan.entries;
        self.each(count, watch, |worker, _| operation(worker, random.random_range(0..entries)))
    }

    fn work(&self) -> Work {
        Work::Mix(self.mix)
    }

    /// A thread of the mix.
    fn worker(&self, number: u64) -> Worker {
        let seed = self.plan.seed.rotate_left(16) ^ number;
        Worker::new(self.world, self.mix, self.plan.values, seed)
    }

    /// The mix's generator: each mix has another sequence.
    fn chance(&self) -> Random {
        Random::seeded(self.plan.seed.rotate_left(8) ^ self.mix as u64)
    }

    fn read_all(&self, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let (work, expected) = (self.work(), self.world.ledger().held().records);
        let found = self.world.verify(&mut |count| {
            if count % WATCH_EVERY == 0 {
                watch(work, count, expected);
            }
        });
        let found = found.map_err(|source| BenchError::Client { work, source })?;
        Ok(self.measured(found, None))
    }

    fn two_writers(&self, order: Order, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let (entries, mut beside) = (self.plan.entries, self.worker(1));
        let half = entries / 2;
        let other = runner::spawn("writer", move || {
            (half..entries).try_for_each(|n| beside.put(order.at(n)))?;
            Ok::<_, BenchError>(beside.into_latencies())
        });
        let mut worker = self.worker(0);
        let own = (0..half).try_for_each(|n| {
            if n % WATCH_EVERY == 0 {
                watch(self.work(), n, half);
            }
            worker.put(order.at(n))
        });
        // The other one has to end, even if this one has failed.
        let mut latencies = other.join()?;
        own?;
        latencies.add(worker.into_latencies()).expect("histograms of the same digits");
        Ok(self.measured(entries, Some(latencies)))
    }

    fn read_while_writing(&self, watch: Watch<'_>) -> Result<Measurement, BenchError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (entries, mut random) = (self.plan.entries, self.chance().fork());
        let (mut beside, done) = (self.worker(1), Arc::clone(&stop));
        let writer = runner::spawn("writer", move || {
            let mut count = 0;
            while !done.load(Ordering::Relaxed) {
                beside.put(random.random_range(0..entries))?;
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
        Measurement::new(self.work(), operations, spent, histogram)
    }
}
