//! The arguments of a measurement, and its mixes in their order.

use std::path::PathBuf;

use terrace::{KEY_BYTES_MAX, Options};
use terrace_env::ByteCount;
use terrace_lab::bench::{self, Mix, Place, Plan, Reference, Size};
use terrace_lab::workload::{KEY_SIZE_MIN, VALUE_SIZE_MAX, VALUE_SIZE_MIN};

use super::conditions::{Compress, Conditions, Medium};
use super::load::Load;
use super::report::{Report, Run};
use crate::commands::under::Under;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::progress::Progress;

/// Reads of a mix that suffice for its figures, however many entries there are.
const READS: u64 = 1_000_000;

/// Measure what operations cost on this machine; every value that is read is verified.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    #[command(subcommand)]
    other: Option<Other>,
    /// What to measure, in this order [default: all]: fillseq, fillrandom, overwrite, readrandom,
    /// readmissing, readseq, seekrandom, readwhilewriting, deleterandom, fillrandom2, fillsync
    #[arg(value_name = "MIX")]
    mixes: Vec<Mix>,
    /// What the store is on
    #[arg(long, value_enum, default_value_t = Medium::Memory)]
    on: Medium,
    /// The directory for `image` and `directory`; nothing is left in it [default: temporary files]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Measure at the sizes at which other engines were measured, with the options that they had,
    /// and print what they took beside: 5 million values of 128 bytes, 1.5 million of 1 KiB
    #[arg(long, conflicts_with_all = [
        "count", "key_size", "value_size", "reads", "seeks", "memtable_size", "memory",
        "compression",
    ])]
    reference: bool,
    /// Entries in a filled store
    #[arg(long, value_name = "ENTRIES", default_value_t = 1_000_000)]
    count: u64,
    /// Size of a key
    #[arg(long, value_name = "SIZE", default_value = "16")]
    key_size: ByteCount,
    /// Size of a value
    #[arg(long, value_name = "SIZE", default_value = "128")]
    value_size: ByteCount,
    /// Point reads of a mix [default: as many as entries, up to a million]
    #[arg(long)]
    reads: Option<u64>,
    /// Seeks [default: a twentieth of the reads]
    #[arg(long)]
    seeks: Option<u64>,
    /// Synced writes
    #[arg(long, value_name = "WRITES", default_value_t = 10_000)]
    syncs: u64,
    /// The seed of values and order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Size of the zones of `memory` and `image`
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    zone_size: ByteCount,
    /// Size of a memtable
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    memtable_size: ByteCount,
    /// What the store may hold in memory: the default leaves 236 MiB for what is read
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    memory: ByteCount,
    /// How blocks are compressed; the values do not compress
    #[arg(long, value_enum, default_value_t = Compress::None)]
    compression: Compress,
    #[command(flatten)]
    under: Under,
}

/// What is measured apart from mixes.
#[derive(clap::Subcommand)]
enum Other {
    Load(Load),
}

impl Bench {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        if cfg!(debug_assertions) {
            output.note("warning: built with debug assertions: not to be compared with anything");
        }
        if let Some(Other::Load(load)) = &self.other {
            return load.run(output);
        }
        let mut runs = Vec::new();
        for size in self.sizes()? {
            let run = self.measure(self.plan(size))?;
            output.line(&run)?;
            runs.push(run);
        }
        if output.is_json() { output.result(&Report { runs }, |_| Ok(())) } else { Ok(()) }
    }

    fn measure(&self, plan: Plan) -> Result<Run, Failure> {
        let mixes = if self.mixes.is_empty() { &Mix::ALL[..] } else { &self.mixes };
        let conditions = self.conditions(&plan);
        let mut series = bench::Bench::new(plan, self.place());
        let mut measurements = Vec::new();
        for mix in mixes {
            // A mix may have another before it, that fills the store.
            let mut bar: Option<(Mix, Progress)> = None;
            measurements.push(series.run(*mix, &mut |mix, done, total| {
                let shown = bar.take().filter(|(shown, _)| *shown == mix);
                let (_, progress) =
                    bar.insert(shown.unwrap_or_else(|| (mix, Progress::pieces(mix.name(), total))));
                progress.reach(done);
            })?);
        }
        let peak_memory = series.peak_memory();
        series.finish()?;
        Ok(Run { conditions, measurements, peak_memory })
    }

    fn conditions(&self, plan: &Plan) -> Conditions {
        let Size { entries, key_size, value_size } = plan.size;
        Conditions {
            on: self.on,
            count: entries,
            key_size: ByteCount(key_size as u64),
            value_size: ByteCount(value_size as u64),
            seed: self.seed,
            memtable_size: self.memtable_size,
            memory: self.memory,
            compression: self.compression,
            system: self.under.system.unwrap_or_default().to_string(),
            debug_assertions: cfg!(debug_assertions),
        }
    }

    /// The sizes to measure at, one after the other.
    fn sizes(&self) -> Result<Vec<Size>, Failure> {
        if self.reference {
            return Ok(Reference::SIZES.to_vec());
        }
        let entries = within("count", self.count, 1, u64::from(u32::MAX))?;
        let (key_size, value_size) = (key_size(self.key_size)?, value_size(self.value_size)?);
        Ok(vec![Size { entries, key_size, value_size }])
    }

    fn plan(&self, size: Size) -> Plan {
        let reads = self.reads.unwrap_or(size.entries.min(READS));
        Plan {
            size,
            reads,
            seeks: self.seeks.unwrap_or(reads.div_ceil(20)),
            syncs: self.syncs,
            seed: self.seed,
            options: Options {
                memtable_size: self.memtable_size,
                memory: self.memory,
                compression: self.compression.into(),
                system: self.under.system,
                ..Options::default()
            },
        }
    }

    fn place(&self) -> Place {
        let zone_size = self.zone_size;
        let dir = self.dir.clone().unwrap_or_else(std::env::temp_dir);
        match self.on {
            Medium::Memory => Place::Memory { zone_size },
            Medium::Image => Place::Image { zone_size, dir },
            Medium::Directory => Place::Directory { dir },
        }
    }
}

/// A size that keys can have.
pub(super) fn key_size(size: ByteCount) -> Result<usize, Failure> {
    let (min, max) = (KEY_SIZE_MIN as u64, KEY_BYTES_MAX as u64);
    Ok(within("key size", size.0, min, max)? as usize)
}

/// A size that values can have.
pub(super) fn value_size(size: ByteCount) -> Result<usize, Failure> {
    let (min, max) = (VALUE_SIZE_MIN as u64, VALUE_SIZE_MAX as u64);
    Ok(within("value size", size.0, min, max)? as usize)
}

fn within(what: &str, got: u64, least: u64, most: u64) -> Result<u64, Failure> {
    if (least..=most).contains(&got) {
        return Ok(got);
    }
    let message = format!("{what}: expected {least} to {most}, found {got}");
    Err(Failure::new(Kind::Usage, message))
}
