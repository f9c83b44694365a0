//! [`Load`]: fills a drive in random order, then checks the files and reads everything back. The
//! result shows among other things how long the writer had to wait, and how much memory the engine
//! and the process took.
//!
//! The drive is formatted first: its contents are lost. The phases:
//!
//! 1. Load: one writer puts the entries, each once, in random order.
//! 2. Wait until the engine has no background work left. Then close the store.
//! 3. Check the structures and checksums of the files. Problems end the load with
//!    [`BenchError::Unclean`].
//! 4. Read: open the store again, and read and verify all entries in order.
//!
//! A load runs on threads or in a simulation. In a simulation its times are virtual. Processor time
//! and peak memory are those of the whole process.

use std::sync::Arc;

use serde::Serialize;
use terrace::{Db, FormatOptions, MemoryStats, Options, Stats, Waits, WriteAmplification};
use terrace_env::ByteCount;
use terrace_fs::{Checked, Fs};
use terrace_zone::Device;

use super::background::{Background, Jobs};
use super::error::BenchError;
use super::measurement::Latency;
use super::meter::{self, Meter};
use super::mix::Mix;
use super::plan::Size;
use super::work::Work;
use super::worker::Worker;
use crate::workload::{Entries, KeyOrder, Order, Sizes, World};

/// Operations between two calls of the watch.
const WATCH_EVERY: u64 = 1024;

/// A load: entries to write, and the options of the store.
#[derive(Clone, Debug)]
pub struct Load {
    /// The entries.
    pub size: Size,
    /// The seed of values and order.
    pub seed: u64,
    /// How the store is opened.
    pub options: Options,
}

/// Phase of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Putting, in entries.
    Load,
    /// Waiting for the jobs; there is no telling how far they are.
    WaitIdle,
    /// Checking the files, in bytes.
    Check,
    /// Reading, in entries.
    Read,
}

/// Called as a load goes on, with its phase, the amount done and the amount to do, in the unit of
/// the phase.
pub type LoadWatch<'a> = &'a mut dyn FnMut(Phase, u64, u64);

/// Outcome of a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loaded {
    /// Entries that were put, and verified at the end.
    pub entries: u64,
    /// Bytes of their keys and values.
    pub bytes: ByteCount,
    /// Seconds until the last put had returned.
    pub load_seconds: f64,
    /// Seconds until the jobs had nothing more to do.
    pub wait_idle_seconds: f64,
    /// Seconds until the store was open again.
    pub reopen_seconds: f64,
    /// Seconds that reading everything took.
    pub read_seconds: f64,
    /// Processor microseconds per put, of all threads, up to the end of waiting.
    pub processor_micros: f64,
    /// How long puts took.
    pub latency: Latency,
    /// Waits of writers and jobs, by cause.
    pub waits: Waits,
    /// Seconds that the put took that waited longest, from its first wait on.
    pub longest_write_seconds: f64,
    /// Waits of that write, by cause.
    pub longest_write_waits: Waits,
    /// Instalments of compactions, each merged and committed at once.
    pub steps: u64,
    /// How many of these ended before the end of their inputs.
    pub steps_ended_early: u64,
    /// Bytes of tables that were written and thrown away.
    pub discarded: ByteCount,
    /// Seconds that the slowest of these took.
    pub step_seconds_max: f64,
    /// Flushes, and compactions as a whole.
    pub jobs: Jobs,
    /// Bytes written to the drive per byte of keys and values.
    pub write_amplification: WriteAmplification,
    /// Bytes of the drive that hold something, live or dead, per byte of entries.
    pub space_amplification: f64,
    /// The engine's memory budget and use, after all jobs ended and at the peak.
    pub memory: MemoryStats,
    /// The most that the process held from the start of the load to the end of waiting for jobs,
    /// where the system says. A drive in memory is part of it, and so is the ledger: eight bytes an
    /// entry.
    pub process_peak: Option<ByteCount>,
    /// Report of the check of the files.
    pub check: Checked,
}

impl Load {
    /// Loads a drive; all data on it are lost.
    pub fn run(&self, drive: &Arc<dyn Device>, watch: LoadWatch<'_>) -> Result<Loaded, BenchError> {
        let db =
            Db::create_device(Arc::clone(drive), &FormatOptions::default(), self.options.clone())?;
        let Size { entries: count, key_size, value_size } = self.size;
        let keys = Sizes::Constant(key_size as u32);
        let entries = Arc::new(Entries::new(self.seed, keys, KeyOrder::Numbered, value_size));
        let background = Arc::new(Background::default());
        db.listen(Arc::clone(&background) as _);
        meter::forget_peak_memory();
        let meter = Meter::start();
        let mut world = World::new(db, entries);

        let latency = self.put_all(&world, watch)?;
        let loaded = meter.spent();
        watch(Phase::WaitIdle, 0, 1);
        world.db().wait_idle()?;
        let idle = meter.spent();
        let (stats, process_peak) = (world.db().stats(), meter::peak_memory());
        world.db().clone().close()?;

        let check = Fs::check_watched(Arc::clone(drive), &mut |done, total| {
            watch(Phase::Check, done.0, total.0);
        });
        let check = check.map_err(terrace::Error::from)?;
        if !check.is_clean() {
            return Err(BenchError::Unclean(check.problems));
        }
        let opening = Meter::start();
        world = world.reopened(Db::open_device(Arc::clone(drive), self.options.clone())?);
        let opened = opening.spent();
        read_all(&world, watch)?;
        let read = opening.spent();
        world.db().clone().close()?;

        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let Stats { space, write_amplification, .. } = stats;
        let used = space.live.0 + space.dead.0 + space.pinned.0;
        let bytes = ByteCount(self.size.bytes());
        Ok(Loaded {
            entries: count,
            bytes,
            load_seconds: loaded.wall.as_secs_f64(),
            wait_idle_seconds: (idle.wall - loaded.wall).as_secs_f64(),
            reopen_seconds: opened.wall.as_secs_f64(),
            read_seconds: (read.wall - opened.wall).as_secs_f64(),
            processor_micros: idle.processor.as_secs_f64() * 1e6 / count.max(1) as f64,
            latency,
            waits: stats.waits,
            longest_write_seconds: seconds(stats.longest_write_nanos),
            longest_write_waits: stats.longest_write_waits,
            steps: stats.compaction_steps,
            steps_ended_early: stats.compaction_steps_ended_early,
            discarded: ByteCount(stats.bytes_discarded),
            step_seconds_max: seconds(stats.compaction_step_nanos_max),
            jobs: background.jobs(),
            write_amplification,
            space_amplification: used as f64 / bytes.0.max(1) as f64,
            memory: stats.memory,
            process_peak,
            check,
        })
    }

    fn put_all(&self, world: &World, watch: LoadWatch<'_>) -> Result<Latency, BenchError> {
        let count = self.size.entries;
        let order = Order::seeded(self.seed, count);
        let values = Sizes::Constant(self.size.value_size as u32);
        let mut worker = Worker::new(world, Mix::FillUniqueRandom, values, self.seed);
        for place in 0..count {
            worker.put(order.at(place))?;
            if place % WATCH_EVERY == 0 {
                watch(Phase::Load, place, count);
            }
        }
        Ok(Latency::of(&worker.into_latencies()))
    }
}

fn read_all(world: &World, watch: LoadWatch<'_>) -> Result<(), BenchError> {
    let expected = world.ledger().held().records;
    let found = world.verify(&mut |count| {
        if count % WATCH_EVERY == 0 {
            watch(Phase::Read, count, expected);
        }
    });
    let work = Work::Mix(Mix::ReadSeq);
    found.map(drop).map_err(|source| BenchError::Client { work, source })
}
