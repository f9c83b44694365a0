//! `terrace bench load`: puts entries in random order onto an emulated drive, by default 8 GB onto
//! 10 GB. Then it closes the store, checks its files, opens it again and reads all entries back.
//!
//! It reports times, waits, memory, and write and space amplification. If the check finds a
//! problem, or an entry does not come back as it was put, the command fails. The drive is a sparse
//! file that is never synced to the host's disk. The file is deleted as soon as it is open, so that
//! its space is free again when the program ends.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{HumanCount, HumanDuration};
use serde::Serialize;
use terrace::device::Random;
use terrace::device::{Device, Emulator, Geometry};
use terrace::{ByteCount, Options};
use terrace_lab::bench::{self, Loaded, Phase, Size};
use terrace_lab::workload::Sizes;

use super::sizes;
use crate::commands::stats::waits_table;
use crate::commands::under::Under;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::progress::Progress;
use crate::scratch::Scratch;

/// Load an emulated drive in a sparse file nearly full, in random order; close, check, reopen, and
/// read everything back. Says how much memory that took and how long a writer ever waited.
#[derive(clap::Args)]
pub(crate) struct Load {
    /// Bytes of keys and values to put; each entry is put once
    #[arg(long, value_name = "SIZE", default_value = "8GB")]
    bytes: ByteCount,
    /// Size of the drive
    #[arg(long, value_name = "SIZE", default_value = "10GB")]
    drive: ByteCount,
    /// Size of its zones
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    zone_size: ByteCount,
    /// The directory for the drive's image; nothing is left in it [default: temporary files]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Size of a key
    #[arg(long, value_name = "SIZE", default_value = "16")]
    key_size: ByteCount,
    /// Size of a value
    #[arg(long, value_name = "SIZE", default_value = "1KiB")]
    value_size: ByteCount,
    /// The seed of values and order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    under: Under,
}

/// A load and its outcome.
#[derive(Serialize)]
struct Answer {
    drive: ByteCount,
    zone_size: ByteCount,
    key_size: ByteCount,
    value_size: ByteCount,
    seed: u64,
    system: String,
    debug_assertions: bool,
    #[serde(flatten)]
    loaded: Loaded,
}

impl Load {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let drive = self.drive()?;
        let load = bench::Load {
            size: self.size()?,
            seed: self.seed,
            options: Options::fitting(drive.geometry().capacity()).system(self.under.system),
        };
        let mut bar: Option<(Phase, Progress)> = None;
        let loaded = load.run(&drive, &mut |phase, done, total| {
            let shown = bar.take().filter(|(shown, _)| *shown == phase);
            let (_, progress) = bar.insert(shown.unwrap_or_else(|| (phase, begin(phase, total))));
            progress.reach(done);
        })?;
        drop(bar);
        let answer = Answer {
            drive: self.drive,
            zone_size: self.zone_size,
            key_size: self.key_size,
            value_size: self.value_size,
            seed: self.seed,
            system: self.under.system.unwrap_or_default().to_string(),
            debug_assertions: cfg!(debug_assertions),
            loaded,
        };
        output.result(&answer, |out| write!(out, "{answer}"))
    }

    fn size(&self) -> Result<Size, Failure> {
        let one = |size: ByteCount| Sizes::Constant(u32::try_from(size.0).unwrap_or(u32::MAX));
        let key_size = sizes::of_keys(one(self.key_size))?.max() as usize;
        let value_size = sizes::of_values(one(self.value_size))?.max() as usize;
        let entries = self.bytes.0 / (key_size + value_size) as u64;
        Ok(Size { entries, key_size, value_size })
    }

    /// A drive in a file that has lost its name already.
    fn drive(&self) -> Result<Arc<dyn Device>, Failure> {
        if self.drive < self.zone_size {
            let message = format!(
                "--drive: expected a zone of {} at least, found {}; --zone-size makes smaller ones",
                self.zone_size.exact(),
                self.drive.exact()
            );
            return Err(Failure::new(Kind::Usage, message));
        }
        let zones = u32::try_from(self.drive.0 / self.zone_size.0.max(1)).unwrap_or(u32::MAX);
        let geometry = Geometry::uniform(self.zone_size, zones);
        geometry.validate().map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
        let dir = self.dir.clone().unwrap_or_else(std::env::temp_dir);
        let place = Scratch::make(&dir, "terrace-load-")?;
        let uuid = Random::seeded(self.seed).uuid();
        let drive = Emulator::create_image(place.path().join("drive.img"), geometry, uuid)?;
        Ok(Arc::new(drive.unsynced()))
    }
}

fn begin(phase: Phase, total: u64) -> Progress {
    match phase {
        Phase::Load => Progress::pieces("loading", total),
        Phase::WaitIdle => Progress::pieces("waiting for jobs", total),
        Phase::Check => Progress::bytes("checking", total),
        Phase::Read => Progress::pieces("reading", total),
    }
}

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { drive, zone_size, key_size, value_size, system, loaded, .. } = self;
        let whole = |seconds: f64| HumanDuration(Duration::from_secs_f64(seconds));
        writeln!(
            f,
            "{} entries, {}, keys {key_size}, values {value_size}, onto a drive of {drive} in \
             zones of {zone_size}, under {system}\n",
            HumanCount(loaded.entries),
            loaded.bytes,
        )?;
        let rate = loaded.entries as f64 / loaded.load_seconds.max(1e-9);
        writeln!(
            f,
            "load    {}: {} puts a second, {:.1} us of processor each with all that follows",
            whole(loaded.load_seconds),
            HumanCount(rate as u64),
            loaded.processor_micros
        )?;
        writeln!(f, "idle    {}", whole(loaded.wait_idle_seconds))?;
        writeln!(f, "image   not synced to the host's disk")?;
        writeln!(f, "check   clean: {} verified", loaded.check.verified)?;
        writeln!(f, "reopen  {:.2} s", loaded.reopen_seconds)?;
        let read = whole(loaded.read_seconds);
        writeln!(f, "read    {read}: every entry in order, each as it was put\n")?;
        self.write_waits(f)?;
        self.write_memory(f)?;
        let wa = &loaded.write_amplification;
        writeln!(
            f,
            "write amplification {:.2} (log {:.2}, flush {:.2}, compaction {:.2}, reclaim {:.2}, \
             metadata {:.2}), space {:.2}",
            wa.total,
            wa.log,
            wa.flush,
            wa.compaction,
            wa.reclaim,
            wa.metadata,
            loaded.space_amplification
        )
    }
}

impl Answer {
    fn write_waits(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let loaded = &self.loaded;
        let (latency, jobs) = (&loaded.latency, &loaded.jobs);
        writeln!(
            f,
            "a put took {:.1} us (p50), {:.0} (p99), {:.0} (p99.9); the longest {:.3} s",
            latency.p50,
            latency.p99,
            latency.p999,
            latency.max / 1e6
        )?;
        writeln!(
            f,
            "the slowest step of a compaction took {:.3} s, of {} steps; {} ended early, {} were \
             written and thrown away",
            loaded.step_seconds_max, loaded.steps, loaded.steps_ended_early, loaded.discarded
        )?;
        for (name, times) in [("compaction", &jobs.compaction), ("flush", &jobs.flush)] {
            writeln!(
                f,
                "the slowest {name} as a whole took {:.3} s, for {}; {} of them, {:.1} s in all",
                times.seconds_max, times.slowest_written, times.count, times.seconds
            )?;
        }
        write!(f, "{}", waits_table(&loaded.waits))?;
        writeln!(f, "the put that waited longest took {:.3} s", loaded.longest_write_seconds)?;
        for (cause, stats) in loaded.longest_write_waits.iter() {
            writeln!(f, "  {:.3} s for {}", stats.time().as_secs_f64(), cause.meaning())?;
        }
        Ok(())
    }

    fn write_memory(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Loaded { memory, process_peak, .. } = &self.loaded;
        let (budget, peak) = (ByteCount(memory.budget), ByteCount(memory.peak));
        write!(f, "memory: budget {budget}, the engine's peak {peak}")?;
        match process_peak {
            Some(peak) => writeln!(f, ", the process's {peak}"),
            None => writeln!(f),
        }
    }
}
