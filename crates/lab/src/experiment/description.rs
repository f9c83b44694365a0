//! [`Experiment`]: the description of an experiment, as its file gives it. Its main parts are
//! drive, store, systems, phases, variants, plots and claims.
//!
//! Sizes, counts and times are given for the full drive, not for the scale of a run.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use terrace::{CachePolicy, Compression};
use terrace_env::ByteCount;
use terrace_zone::timing::{Scale, ScaleMode, Size, Span};

use super::{Claim, DeviceDescription, Plot};
use crate::run::{LogWrites, MetadataWrites};
use crate::workload::{Preset, Sizes};

/// An experiment: runs, and the plots of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Name of the experiment, such as `geardb/fig3`. It is not in the file, but the file's name.
    #[serde(skip)]
    pub name: String,
    /// Subject of the experiment, in a line.
    pub title: String,
    /// The publication, and the place in it.
    pub source: String,
    /// Description: steps done as in the paper, steps done otherwise, and why.
    pub about: String,
    /// Choice of the values that shrink at a smaller scale: see [`ScaleMode`].
    #[serde(default)]
    pub scale_by: ScaleMode,
    /// Whether there are as many reads and scans as on the full drive at a smaller scale, and not
    /// only an n-th.
    #[serde(default)]
    pub all_reads: bool,
    /// The smallest scale at which the experiment still shows its subject. A request for less is
    /// run at this.
    pub scale_min: Option<Scale>,
    /// The drive: a name or a path, as [`Drive::find`](terrace_zone::timing::Drive::find) takes it.
    pub drive: String,
    /// How much of the drive the store has: its outer zones. `None`: all.
    pub space: Option<Size>,
    /// How the store is opened.
    #[serde(default)]
    pub store: StoreDescription,
    /// Differences of single systems, by the name of the row. A variant's count more.
    #[serde(default)]
    pub store_of: BTreeMap<String, StoreDescription>,
    /// The systems, in the text form of [`System`](terrace::System).
    pub systems: Vec<String>,
    /// Phases, one after the other, on one store.
    #[serde(rename = "phase")]
    pub phases: Vec<PhaseDescription>,
    /// Settings under which every system is run; none: as it stands.
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
    /// How often a sample is taken, in time of the full drive.
    pub sample_every: Span,
    /// Plots to draw.
    #[serde(default, rename = "plot")]
    pub plots: Vec<Plot>,
    /// Claims of the paper.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A struct of optional settings, which can be laid over others.
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$doc])* pub $field: Option<$type>,)*
        }

        impl $name {
            /// These settings, and `others` where these say nothing.
            #[must_use]
            pub fn or(self, others: &Self) -> Self {
                let others = others.clone();
                Self { $($field: self.$field.or(others.$field),)* }
            }
        }
    };
}

settings! {
    /// How a store is opened; missing fields have the default of [`Options`](terrace::Options).
    pub struct StoreDescription {
        /// The device of the tables; `None`: the zones of the drive.
        device: DeviceDescription,
        /// [`Options::memtable_size`](terrace::Options::memtable_size).
        memtable_size: Size,
        /// [`Options::memtables_max`](terrace::Options::memtables_max).
        memtables_max: usize,
        /// [`Options::block_size`](terrace::Options::block_size).
        block_size: Size,
        /// [`Options::filter_bits`](terrace::Options::filter_bits).
        filter_bits: u8,
        /// [`Options::memory`](terrace::Options::memory).
        memory: Size,
        /// [`Options::io_size`](terrace::Options::io_size).
        io_size: Size,
        /// Bytes after which jobs flush the drive ([`Fs::set_flush_every`]); `None`: they never do,
        /// as those of the papers' systems.
        ///
        /// [`Fs::set_flush_every`]: terrace_fs::Fs::set_flush_every
        flush_every: Size,
        /// [`Options::workers`](terrace::Options::workers).
        workers: usize,
        /// [`Options::compression`](terrace::Options::compression), of all levels.
        compression: Compression,
        /// The percentage of its bytes to which a value can be compressed; `None`: hardly at all.
        compressible_to: u8,
        /// Whether every write waits for the medium.
        synced: bool,
        /// If this is `n`, every n-th write of a client waits for the medium, where not each does.
        synced_every: u64,
        /// Whether writes go to a log at all.
        logged: bool,
        /// Where the log is.
        log: Location,
        /// Where the metadata of the file system are: its journal; `None`: where the log is.
        metadata: Location,
        /// The drive whose times the log device has; `None` where nothing is on one.
        log_device: String,
        /// The drive whose times the offload device has; `None`: there is no such device.
        offload: String,
        /// Its size; `None`: the size of the store's part of the drive.
        offload_size: Size,
        /// How the log is written.
        log_writes: LogWrites,
        /// How much of a log gathers before it is written, where its writes are waited for.
        log_chunk: Size,
        /// How metadata are written.
        metadata_writes: MetadataWrites,
        /// After this number of bytes without a sync, the write that exceeds it waits for one;
        /// `None`: only writes that ask for a sync get one.
        log_buffer: Size,
        /// [`Options::file_cache`](terrace::Options::file_cache).
        file_cache: Size,
        /// Order in which blocks leave the cache.
        cache_policy: CachePolicy,
    }
}

/// Where the write-ahead log is, or the file system's metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Location {
    /// In sequential zones of the drive, among the tables.
    #[default]
    Drive,
    /// In conventional zones of the drive.
    Conventional,
    /// On a plain device whose times are those of the zones after the store, on a disk.
    Sequential,
    /// On a plain device whose times are those of the middle of a disk without zones.
    Middle,
    /// On a separate plain device, which has the times of a drive of its own.
    LogDevice,
    /// On a separate plain device, which takes no time.
    // The other name is that of results from before there were several places.
    #[serde(alias = "elsewhere")]
    Free,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Drive => "drive",
            Self::Conventional => "conventional",
            Self::Sequential => "sequential",
            Self::Middle => "middle",
            Self::LogDevice => "log-device",
            Self::Free => "free",
        })
    }
}

/// Work of clients, one kind of workload.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseDescription {
    /// Name of the phase; `None`: that of its workload.
    pub name: Option<String>,
    /// `fillrandom`, `ycsb-a` and so on.
    pub workload: String,
    /// How many operations, of all clients.
    pub operations: u64,
    /// How many records there are to choose from; `None`: the records that earlier phases have
    /// left, or one for each operation.
    pub records: Option<u64>,
    /// Bytes of a key.
    pub key_size: Option<usize>,
    /// Bytes of values: a number or a distribution, as [`Sizes`] reads it.
    pub value_size: Option<String>,
    /// How a record is chosen, where not as the workload has it.
    pub chooser: Option<String>,
    /// How many records a scan goes through, at every scale, where not as the workload has it.
    pub scan_length: Option<u32>,
    /// How many clients there are at once; `None`: one.
    pub clients: Option<u32>,
    /// When its operations arrive, as [`Process`](crate::arrivals::Process) reads it; `None`: as
    /// the variant has it, and otherwise each as soon as a client is free; `back-to-back`: the
    /// latter under every variant.
    pub arrivals: Option<String>,
    /// Whether metrics are taken of it; `false` for phases that only fill the store.
    #[serde(default = "yes")]
    pub measured: bool,
    /// Whether it ends when no flush, compaction or reclaim is due any more, and not with the last
    /// operation.
    #[serde(default)]
    pub wait_idle: bool,
}

/// Bytes of a key, where nothing else is said: `db_bench`'s.
pub(crate) const KEY_SIZE: usize = 16;
/// The arrivals of a phase that has none under any variant.
const BACK_TO_BACK: &str = "back-to-back";
/// Bytes of a value, where nothing else is said: `db_bench`'s.
const VALUE_SIZE: f64 = 100.0;

impl PhaseDescription {
    /// The names of the workloads.
    #[must_use]
    pub fn workloads() -> Vec<&'static str> {
        Preset::ALL.map(Preset::name).into()
    }

    /// The phase under a variant: if it is measured, the variant's workload, chooser and clients
    /// count, and its arrivals unless operations come back to back. `arrivals` is then a process,
    /// or `None`.
    #[must_use]
    pub fn under(&self, variant: Option<&Variant>) -> Self {
        let variant = variant.filter(|_| self.measured);
        let clients = variant.and_then(|variant| variant.clients).or(self.clients);
        let arrivals = if self.is_back_to_back() {
            None
        } else {
            let varied = variant.and_then(|variant| variant.arrivals.clone());
            varied.or_else(|| self.arrivals.clone())
        };
        let workload = variant.and_then(|variant| variant.workload.clone());
        let chooser = variant.and_then(|variant| variant.chooser.clone());
        Self {
            // The phase keeps its name, so that claims and plots find it under every variant.
            name: Some(self.name().to_owned()),
            workload: workload.unwrap_or_else(|| self.workload.clone()),
            chooser: chooser.or_else(|| self.chooser.clone()),
            arrivals,
            clients,
            ..self.clone()
        }
    }

    /// Whether each operation begins as soon as a client is free, under every variant.
    #[must_use]
    pub fn is_back_to_back(&self) -> bool {
        self.arrivals.as_deref() == Some(BACK_TO_BACK)
    }

    /// Name of the phase.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.workload)
    }
}

impl Experiment {
    /// The scale at which it is run when asked for this one.
    #[must_use]
    pub fn scale(&self, asked: Scale) -> Scale {
        let least = self.scale_min.filter(|least| least.divisor() < asked.divisor());
        least.unwrap_or(asked)
    }

    /// Keys and values that the clients of all runs move, at a scale; where sizes are drawn, the
    /// mean.
    #[must_use]
    pub fn data(&self, scale: Scale) -> ByteCount {
        let scale = self.scale(scale);
        let of_phase = |phase: &PhaseDescription| {
            let value = phase.value_size.as_ref().and_then(|sizes| sizes.parse::<Sizes>().ok());
            let value = value.map_or(VALUE_SIZE, |sizes| sizes.mean());
            phase.operations as f64 * (phase.key_size.unwrap_or(KEY_SIZE) as f64 + value)
        };
        let once: f64 = self.phases.iter().map(of_phase).sum();
        let factor = |variant: Option<&Variant>| {
            variant.and_then(|variant| variant.operations_factor).unwrap_or(1.0)
        };
        let runs: f64 = self.runs().map(|(variant, _)| factor(variant)).sum();
        ByteCount((once * runs) as u64 / scale.divisor())
    }

    /// Its runs: every variant with each system that is run under it.
    pub fn runs(&self) -> impl Iterator<Item = (Option<&Variant>, &str)> {
        let none = self.variants.is_empty().then_some(None);
        let variants = self.variants.iter().map(Some).chain(none);
        variants.flat_map(|variant| {
            self.systems_of(variant).iter().map(move |system| (variant, system.as_str()))
        })
    }

    /// The systems that are run under a variant.
    #[must_use]
    pub fn systems_of<'a>(&'a self, variant: Option<&'a Variant>) -> &'a [String] {
        variant.and_then(|variant| variant.systems.as_ref()).unwrap_or(&self.systems)
    }
}

fn yes() -> bool {
    true
}

/// Differences of one setting; they are laid over the experiment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Name of the variant.
    pub name: String,
    /// Instead of the experiment's: those that are run in this setting.
    pub systems: Option<Vec<String>>,
    /// Instead of the experiment's.
    pub space: Option<Size>,
    /// A field that is given here counts instead of the experiment's.
    #[serde(default)]
    pub store: StoreDescription,
    /// Factor on the numbers of operations and of records that the phases give.
    pub operations_factor: Option<f64>,
    /// Workload of measured phases, instead of the phase's own.
    pub workload: Option<String>,
    /// How measured phases choose a record, instead of the phase's own way.
    pub chooser: Option<String>,
    /// Arrivals of measured phases, instead of the phase's own.
    pub arrivals: Option<String>,
    /// Number of clients of measured phases, instead of the phase's own.
    pub clients: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_counts_for_measured_phases_but_not_for_arrivals_back_to_back() {
        let text = include_str!("test.toml").replacen(
            "[[variant]]",
            "[[phase]]\nname = \"scans\"\nworkload = \"seekrandom\"\noperations = 10\n\
             arrivals = \"back-to-back\"\n\n[[variant]]\nclients = 3\narrivals = \"poisson:5\"",
            1,
        );
        let text = text.replacen("operations = 1000\n", "operations = 1000\nmeasured = false\n", 1);
        // The claims are of the first phase, which is not measured here.
        let (text, _) = text.split_once("[[claim]]").unwrap();
        let experiment = Experiment::parse("test", "test.toml", text).unwrap();
        let under = |variant: Option<&Variant>| -> Vec<_> {
            let phases = experiment.phases.iter().map(|phase| phase.under(variant));
            phases.map(|phase| (phase.arrivals, phase.clients)).collect()
        };
        assert_eq!(under(None), [(None, None), (None, Some(2)), (None, None)]);
        let poisson = Some("poisson:5".to_owned());
        let expected = [(None, None), (poisson, Some(3)), (None, Some(3))];
        assert_eq!(under(Some(&experiment.variants[0])), expected);
    }
}
