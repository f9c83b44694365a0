//! `terrace bench [WORK]...`: parses the arguments, makes the plans, and carries them out one after
//! the other. There is a plan for each size of store (one, or with `--reference` several) and each
//! way of writing the log. In a plan, the works are carried out in the order given, and a trace to
//! be replayed comes last.
//!
//! A work is a *mix*, whose counts of operations are fixed, or a workload of the generator. Some
//! names mean both. Usually the mix is meant. With `--operations`, `--arrivals`, `--chooser` or
//! `--record` the workload is meant; also with `--clients`, unless `--replay` is given too, because
//! `--clients` is then about the trace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum as _;
use terrace::device::Device;
use terrace::{ByteCount, Durability, Options};
use terrace_fs::holds_store;
use terrace_fs::superblock::SuperblockArea;
use terrace_lab::arrivals::Process;
use terrace_lab::bench::{self, BenchError, Existing, Mix, Plan, Reference, Size, Work};
use terrace_lab::workload::{Chooser, Preset, RECORDS_MAX, Sizes, SourceError};

use super::answer::{Answer, Run};
use super::conditions::{Compress, Conditions, LogMode, Medium, Offload};
use super::files::{self, Replay};
use super::load::Load;
use super::sizes;
use crate::commands::drive;
use crate::commands::format::check_blank;
use crate::commands::under::Under;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::progress::Progress;
use crate::scratch::Scratch;

/// Reads of a mix that suffice for its metrics, however many entries there are.
const READS: u64 = 1_000_000;
/// Size of a zone where none is asked for.
const ZONE_SIZE: ByteCount = ByteCount::mib(64);
/// More clients than this are a slip of the hand.
const CLIENTS_MAX: u64 = 1_000;

/// Measure the cost of operations on this machine; every value that is read is verified.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace bench fillseq readrandom
  terrace bench ycsb-a --clients 4 --on directory --dir .
  terrace bench fillrandom --clients 8 --arrivals poisson:5000
  terrace bench load")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    #[command(subcommand)]
    other: Option<Other>,
    /// Work to measure, in this order [default: all mixes]: mixes fillseq, filluniquerandom,
    /// overwrite, readrandom, readmissing, readseq, seekrandom, readwhilewriting, deleterandom,
    /// filluniquerandom2, fillsync; workloads fillrandom, updaterandom, readrandomwriterandom,
    /// scaninsertupdate, ycsb-load, ycsb-a to ycsb-f
    #[arg(value_name = "WORK")]
    work: Vec<Work>,
    /// Medium of the store
    #[arg(long, value_enum, default_value_t = Medium::Memory)]
    on: Medium,
    /// Measure on this block device or image, which must be blank: stores are made on it, and the
    /// last one stays
    #[arg(long, value_name = "DRIVE", conflicts_with_all = ["on", "dir", "zone_size"])]
    device: Option<PathBuf>,
    /// Use the drive of `--device` even if it holds data, which is lost
    #[arg(long, requires = "device")]
    force: bool,
    /// The directory for `image` and `directory`; nothing is left in it [default: temporary files]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Measure at the sizes at which other engines were measured, with the options that they had,
    /// and print their figures next to ours: 5 million values of 128 bytes, 1.5 million of 1 KiB
    #[arg(long, conflicts_with_all = [
        "count", "key_size", "value_size", "reads", "seeks", "memtable_size", "memory",
        "compression", "operations", "clients", "arrivals", "chooser", "record", "replay",
        "histogram",
    ])]
    reference: bool,
    /// Entries in a filled store: YCSB's records
    #[arg(long, visible_alias = "records", value_name = "ENTRIES", default_value_t = 1_000_000)]
    count: u64,
    /// Size of a key; or LEAST-MOST for sizes in between, LEAST-MOST/SHAPE for Pareto's
    /// distribution, in bytes
    #[arg(long, value_name = "SIZES", default_value = "16", value_parser = sizes::parse)]
    key_size: Sizes,
    /// Size of a value, or a distribution of sizes
    #[arg(
        long, visible_alias = "sizes", value_name = "SIZES", default_value = "128",
        value_parser = sizes::parse
    )]
    value_size: Sizes,
    /// Operations of a workload that does not fill a store [default: one for each entry, up to a
    /// million]
    #[arg(long)]
    operations: Option<u64>,
    /// Clients that carry a workload or a trace out together [default: 1]
    #[arg(long)]
    clients: Option<usize>,
    /// When the operations of a workload arrive, instead of each as soon as a client is free:
    /// constant:RATE, poisson:RATE, b-model:RATE,bias=0.75 and so on, as `terrace lab arrivals` has
    /// them; delays count from the arrival
    #[arg(long, value_name = "PROCESS", conflicts_with = "replay")]
    arrivals: Option<Process>,
    /// How a workload chooses records, instead of its own way: sequential, shuffled, uniform,
    /// zipfian, latest, hotspot
    #[arg(long)]
    chooser: Option<Chooser>,
    /// Write the operations of the clients of workloads to this file, as a trace
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Carry this trace out, after the WORK if there is any
    #[arg(long, value_name = "FILE", conflicts_with = "chooser")]
    replay: Option<PathBuf>,
    /// Write how long operations took to this file, as percentile distributions
    #[arg(long, value_name = "FILE")]
    histogram: Option<PathBuf>,
    /// Point reads of a mix [default: one for each entry, up to a million]
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
    /// Size of the zones of `memory` and `image` [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    zone_size: Option<ByteCount>,
    /// Size of a memtable
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    memtable_size: ByteCount,
    /// Memory budget of the store: the default leaves 236 MiB for blocks that are read
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    memory: ByteCount,
    /// How the log is written, one run for each: `written` before each write returns, `gathered`
    /// in large pieces [default: both with `--reference`, else `written` in a directory and
    /// `gathered` on a drive]
    #[arg(long, value_enum, value_name = "MODE", value_delimiter = ',')]
    log: Vec<LogMode>,
    /// Give the store this plain drive as its offload drive: flushes go there while compactions
    /// run. It must hold no store, and holds none afterwards
    #[arg(long, value_name = "IMAGE")]
    offload: Option<PathBuf>,
    /// Have an image's flushes and forced writes reach the host's disk, as outside of measurements
    #[arg(long)]
    sync_image: bool,
    /// Leave the last runs of level 0 as they are when writers rest, instead of merging them
    #[arg(long)]
    no_compact_at_rest: bool,
    /// Read tables of a directory by calls, instead of from mapped memory
    #[arg(long)]
    no_map_tables: bool,
    /// How blocks are compressed; the values do not compress
    #[arg(long, value_enum, default_value_t = Compress::None)]
    compression: Compress,
    #[command(flatten)]
    under: Under,
}

/// Measurements other than mixes.
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
        self.check_medium()?;
        let plans = self.plans()?;
        let into = [(&self.record, "record"), (&self.histogram, "histogram")];
        if let (Some((_, option)), 2..) =
            (into.iter().find(|(path, _)| path.is_some()), plans.len())
        {
            let runs = plans.len();
            return Err(Failure::new(
                Kind::Usage,
                format!(
                    "--{option}: expected one mode of the log, found {runs}: a file is of one run"
                ),
            ));
        }
        let dir = self.dir.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = match self.on() {
            Medium::Memory | Medium::Device => None,
            Medium::Image | Medium::Directory => Some(Scratch::make(&dir, "terrace-bench-")?),
        };
        if let Some(path) = self.device.as_deref().filter(|_| !self.force) {
            check_blank(&self.drive(path)?, path)?;
        }
        let mut runs = Vec::new();
        for plan in plans {
            let run = self.measure(plan, scratch.as_ref().map_or(&*dir, Scratch::path))?;
            output.line(&run)?;
            runs.push(run);
        }
        if output.is_json() { output.result(&Answer { runs }, |_| Ok(())) } else { Ok(()) }
    }

    fn measure(&self, plan: Plan, dir: &Path) -> Result<Run, Failure> {
        let work = self.work()?;
        let mut conditions = self.conditions(&plan);
        let replay = self.replay.as_deref().map(Replay::open).transpose()?;
        // Made before anything is measured: a path that cannot be is told at once.
        let mut histogram = match &self.histogram {
            Some(path) => Some((path, files::create(path)?)),
            None => None,
        };
        let mut series = bench::Bench::new(plan, self.medium(dir)?);
        let offload = self.offload.as_deref().map(|path| self.offload_drive(path)).transpose()?;
        if let (Some(drive), Some(path)) = (&offload, &self.offload) {
            let (image, size) = (path.display().to_string(), drive.geometry().capacity());
            conditions.offload = Some(Offload { image, size });
            series = series.offloading_to(Arc::clone(drive));
        }
        if let Some(path) = &self.record {
            series = series.recording(files::create(path)?);
        }
        // A mix may have another before it, that fills the store.
        let mut bar: Option<(Work, Progress)> = None;
        let mut watch = |work: Work, done, total| {
            let shown = bar.take().filter(|(shown, _)| *shown == work);
            let (_, progress) =
                bar.insert(shown.unwrap_or_else(|| (work, Progress::pieces(work.name(), total))));
            progress.reach(done);
        };
        let failure = |error| self.of_record(error);
        let mut measurements = Vec::new();
        for work in work {
            measurements.push(match work {
                Work::Mix(mix) => series.run(mix, &mut watch)?,
                Work::Preset(preset) => series.generate(preset, &mut watch).map_err(failure)?,
                Work::Trace => unreachable!("no work has this name"),
            });
        }
        if let Some(Replay { trace, summary }) = replay {
            measurements.push(series.replay(trace, &summary, &mut watch)?);
        }
        drop(bar);
        let peak_memory = series.peak_memory();
        let generated = measurements.iter().any(|measurement| measurement.played.is_some());
        let contents = if generated { series.contents()? } else { None };
        series.finish().map_err(failure)?;
        if let Some(drive) = offload {
            // Removes the store's superblocks.
            SuperblockArea::choose(drive)?;
        }
        if let Some((path, into)) = &mut histogram {
            files::write_histograms(path, into, &measurements)?;
        }
        Ok(Run { conditions, measurements, contents, peak_memory })
    }

    /// The failure for an error; of one of the recorded trace, that of its file.
    fn of_record(&self, error: BenchError) -> Failure {
        match (error, &self.record) {
            (BenchError::Source(SourceError::Record(error)), Some(path)) => {
                Failure::path(path, &error)
            }
            (error, _) => error.into(),
        }
    }

    /// Work to carry out. With an option about clients or their operations, a name means the
    /// workload of the generator, even where a mix has the same name.
    fn work(&self) -> Result<Vec<Work>, Failure> {
        let nothing = self.work.is_empty() && self.replay.is_none();
        let generator = [
            (self.operations.is_some(), "operations"),
            (self.clients.is_some() && self.replay.is_none(), "clients"),
            (self.arrivals.is_some(), "arrivals"),
            (self.chooser.is_some(), "chooser"),
            (self.record.is_some(), "record"),
        ];
        let Some((_, option)) = generator.into_iter().find(|(given, _)| *given) else {
            let all = || Mix::ALL.map(Work::Mix).to_vec();
            return Ok(if nothing { all() } else { self.work.clone() });
        };
        let usage = |message: String| Failure::new(Kind::Usage, message);
        let names = || Preset::ALL.map(Preset::name).join(", ");
        if nothing {
            let names = names();
            return Err(usage(format!("--{option}: expected a workload: one of {names}")));
        }
        let to_preset = |work: &Work| {
            let preset = work.preset().map(Work::Preset);
            preset.ok_or_else(|| {
                let names = names();
                usage(format!("--{option}: expected workloads, of {names}; found `{work}`"))
            })
        };
        let work: Vec<Work> = self.work.iter().map(to_preset).collect::<Result<_, _>>()?;
        let order = |work: &Work| work.preset().map(Preset::key_order);
        let another = work
            .iter()
            .skip(1)
            .find(|one| one.begins_empty() || order(one) != work.first().and_then(order));
        match another.filter(|_| self.record.is_some()) {
            Some(one) => Err(usage(format!(
                "--record: expected workloads on one store, found `{one}`, which begins another"
            ))),
            None => Ok(work),
        }
    }

    fn conditions(&self, plan: &Plan) -> Conditions {
        Conditions {
            on: self.on(),
            zone_size: matches!(self.on(), Medium::Memory | Medium::Image)
                .then_some(self.zone_size()),
            offload: None,
            count: plan.entries,
            key_size: plan.keys,
            value_size: plan.values,
            clients: plan.clients,
            arrivals: plan.arrivals.as_ref().map(Process::to_string),
            seed: self.seed,
            memtable_size: self.memtable_size,
            memory: self.memory,
            compression: self.compression,
            log: plan.options.durability.unwrap_or(Durability::Gathered),
            image_synced: (self.on() == Medium::Image).then_some(self.sync_image),
            compact_at_rest: !self.no_compact_at_rest,
            tables_mapped: (self.on() == Medium::Directory).then_some(!self.no_map_tables),
            system: self.under.system.unwrap_or_default().to_string(),
            debug_assertions: cfg!(debug_assertions),
        }
    }

    /// Plans of the measurements, in the order in which they are carried out.
    fn plans(&self) -> Result<Vec<Plan>, Failure> {
        if self.reference {
            let plan = |Size { entries, key_size, value_size }: Size| {
                let constant = |size: usize| Sizes::Constant(size as u32);
                self.plan(entries, constant(key_size), constant(value_size))
            };
            return Ok(Reference::SIZES
                .into_iter()
                .flat_map(|size| self.modes(plan(size)))
                .collect());
        }
        let entries = within("count", self.count, 1, RECORDS_MAX / 2)?;
        within("clients", self.clients.unwrap_or(1) as u64, 1, CLIENTS_MAX)?;
        let (keys, values) = (sizes::of_keys(self.key_size)?, sizes::of_values(self.value_size)?);
        Ok(self.modes(self.plan(entries, keys, values)))
    }

    /// A plan for each way of writing the log.
    fn modes(&self, plan: Plan) -> Vec<Plan> {
        let own = match self.on() {
            Medium::Directory => LogMode::Written,
            Medium::Memory | Medium::Image | Medium::Device => LogMode::Gathered,
        };
        let modes = match &self.log[..] {
            [] if self.reference => &LogMode::ALL[..],
            [] => &[own],
            chosen => chosen,
        };
        let with = |mode: &LogMode| {
            let durability = Some(Durability::from(*mode));
            Plan { options: plan.options.clone().durability(durability), ..plan.clone() }
        };
        modes.iter().map(with).collect()
    }

    fn plan(&self, entries: u64, keys: Sizes, values: Sizes) -> Plan {
        let reads = self.reads.unwrap_or(entries.min(READS));
        Plan {
            entries,
            keys,
            values,
            reads,
            seeks: self.seeks.unwrap_or(reads.div_ceil(20)),
            syncs: self.syncs,
            operations: self.operations.unwrap_or(entries.min(READS)),
            clients: self.clients.unwrap_or(1),
            arrivals: self.arrivals.clone(),
            chooser: self.chooser.clone(),
            seed: self.seed,
            options: self
                .offered()
                .memtable_size(self.memtable_size)
                .memory(self.memory)
                .compact_at_rest(!self.no_compact_at_rest)
                .map_tables(!self.no_map_tables)
                .compression(self.compression)
                .system(self.under.system),
        }
    }

    /// Options of a store that others can look at, if it is on a drive with a name.
    fn offered(&self) -> Options {
        self.device.iter().fold(Options::default(), |options, path| options.live(path))
    }

    /// The offload drive, which must hold no store.
    fn offload_drive(&self, path: &Path) -> Result<Arc<dyn Device>, Failure> {
        let refuse = |text: String| Err(Failure::new(Kind::Usage, format!("--offload: {text}")));
        if matches!(self.on, Medium::Directory) {
            return refuse("expected a store on a drive, found one in a directory".into());
        }
        let access = terrace::device::Access::ReadWrite;
        let drive = drive::open(path, access, !self.sync_image && !drive::is_block_device(path))?;
        if holds_store(&*drive)? {
            let found = path.display();
            return refuse(format!("{found}: expected a drive that holds no store, found one"));
        }
        Ok(drive)
    }

    /// Refuses options that the medium does not have.
    fn check_medium(&self) -> Result<(), Failure> {
        let on = self.on();
        let has_image = matches!(on, Medium::Image | Medium::Device) || self.offload.is_some();
        let wrong = [
            ("--dir", "image or directory", self.dir.is_some() && on == Medium::Memory),
            ("--zone-size", "memory or image", self.zone_size.is_some() && on == Medium::Directory),
            ("--sync-image", "image", self.sync_image && !has_image),
        ];
        let Some((option, expected, _)) = wrong.iter().find(|(.., wrong)| *wrong) else {
            return Ok(());
        };
        let found = on.to_possible_value().map_or_else(String::new, |it| it.get_name().into());
        let message = format!("{option}: expected --on {expected}, found --on {found}");
        Err(Failure::new(Kind::Usage, message))
    }

    fn zone_size(&self) -> ByteCount {
        self.zone_size.unwrap_or(ZONE_SIZE)
    }

    fn on(&self) -> Medium {
        if self.device.is_some() { Medium::Device } else { self.on }
    }

    fn medium(&self, dir: &Path) -> Result<bench::Medium, Failure> {
        let (zone_size, dir) = (self.zone_size(), dir.to_owned());
        if let Some(path) = &self.device {
            return Ok(bench::Medium::Drive(Existing(self.drive(path)?)));
        }
        Ok(match self.on {
            Medium::Memory | Medium::Device => bench::Medium::Memory { zone_size },
            Medium::Image => bench::Medium::Image { zone_size, dir, synced: self.sync_image },
            Medium::Directory => bench::Medium::Directory { dir },
        })
    }

    /// Opens the drive that the stores are made on.
    fn drive(&self, path: &Path) -> Result<Arc<dyn Device>, Failure> {
        let access = terrace::device::Access::ReadWrite;
        drive::open(path, access, !self.sync_image && !drive::is_block_device(path))
    }
}

pub(super) fn within(what: &str, got: u64, least: u64, most: u64) -> Result<u64, Failure> {
    if (least..=most).contains(&got) {
        return Ok(got);
    }
    let message = format!("{what}: expected {least} to {most}, found {got}");
    Err(Failure::new(Kind::Usage, message))
}
