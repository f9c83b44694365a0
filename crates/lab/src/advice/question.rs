//! [`Question`]: a drive, the entries that it is to hold, and the memory of the store.
//! [`Question::model`] returns the experiment that answers it.
//!
//! A model has at most [`DATA_MAX`] of data, so that a system takes seconds:
//!
//! 1. Everything is scaled by a power of two: entries, drive, memtables, and the drive's speed. The
//!    results of a scaled run are those of the full drive, as long as a memtable is not smaller
//!    than [`MEMTABLE_MIN`].
//! 2. If that is not enough, the model is a part of the drive and of the data, with the same
//!    memtables. A whole store then has more levels than its model, and writes more.
//!
//! The model's drive has at most [`SPACE_MAX`] times the space of the data, or [`ZONES_MIN`] zones
//! if these are more: more space has no effect.

use terrace_env::ByteCount;
use terrace_fs::FLUSH_EVERY;
use terrace_zone::GeometryError;
use terrace_zone::timing::{Drive, DriveError, Scale};

use crate::experiment::{Experiment, ExperimentError};

/// Bytes of data in a scaled model.
const DATA_MAX: u64 = 768 << 20;
/// A model with fewer bytes of data has too few tables.
const DATA_MIN: u64 = 256 << 20;
/// The smallest memtable of a scaled model.
const MEMTABLE_MIN: u64 = 64 << 10;
/// The largest divisor: below, zones have too few tables.
const DIVISOR_MAX: u64 = 128;
/// Space of the model over its data, at most.
const SPACE_MAX: u64 = 4;
/// Zones of a model at least, if the store has them.
const ZONES_MIN: u64 = 32;
/// Point reads and scans that are measured.
const READS: u64 = 2_000;
const SCANS: u64 = 400;
/// Entries of a scan.
const SCAN_LENGTH: u64 = 50;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Question {
    /// A modelled drive, or the path of a drive file.
    pub drive: String,
    /// The part of the drive that the store has; `None`: all sequential zones.
    pub space: Option<ByteCount>,
    /// How many entries there are.
    pub entries: u64,
    /// Bytes of a key.
    pub key_size: u64,
    /// Bytes of a value.
    pub value_size: u64,
    /// Size of a memtable.
    pub memtable_size: ByteCount,
    /// Memory of the store.
    pub memory: ByteCount,
    /// The systems to compare.
    pub systems: Vec<String>,
}

/// A question that has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// The drive is not known.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The drive has a shape that is none.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// The entries are larger than the space.
    #[error("{data} of entries do not fit: expected at most the {space} of the store")]
    TooLarge {
        /// Bytes of all entries.
        data: ByteCount,
        /// Bytes of the store.
        space: ByteCount,
    },
    /// The store would have less than a zone.
    #[error("{space} for the store: expected at least a zone of the drive, {zone}")]
    TooSmall {
        /// Bytes of the store.
        space: ByteCount,
        /// Bytes of a zone.
        zone: ByteCount,
    },
    /// There is nothing to store.
    #[error("expected at least one entry of at least one byte")]
    Nothing,
    /// The model is no experiment.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

/// The experiment that answers a question.
#[derive(Debug)]
pub struct Model {
    /// The experiment, with the systems of the question.
    pub experiment: Experiment,
    /// Its scale.
    pub scale: Scale,
    /// The model is this part of the drive and of the data: 1 is all.
    pub part: u64,
    /// Space of the store, not that of the model.
    pub space: ByteCount,
    /// Bytes of all entries, not those of the model.
    pub data: ByteCount,
}

impl Model {
    /// Name of the phase of overwrites.
    pub const WRITES: &'static str = "writes";
    /// Name of the phase of point reads.
    pub const READS: &'static str = "reads";
    /// Name of the phase of scans.
    pub const SCANS: &'static str = "scans";
}

impl Question {
    /// The experiment that answers it.
    pub fn model(&self) -> Result<Model, QuestionError> {
        let entry = self.key_size.saturating_add(self.value_size);
        let data = self.entries.saturating_mul(entry);
        if data == 0 {
            return Err(QuestionError::Nothing);
        }
        let drive = Drive::find(&self.drive)?;
        let Zones { zone, all, size, on_disk } = Zones::of(&drive)?;
        let space = self.space.map_or(all, |space| space.min(all));
        if space < zone {
            return Err(QuestionError::TooSmall { space, zone });
        }
        if data > space.0 {
            return Err(QuestionError::TooLarge { data: ByteCount(data), space });
        }
        let (divisor, part) = self.size_of_model(data);
        let entries = (self.entries / part).max(1);
        let modelled = entries * entry;
        let enough = modelled.saturating_mul(SPACE_MAX).max(zone.0 * ZONES_MIN);
        let zones = ((space.0 / part).min(enough) / zone.0).max(1);
        let text = self.text(entries, ByteCount(zones * size.0), on_disk);
        let experiment = Experiment::parse("advice", "advice", &text)?;
        let scale = format!("1/{divisor}").parse().expect("a divisor is a scale");
        Ok(Model { experiment, scale, part, space, data: ByteCount(data) })
    }

    /// The divisor of the scale, and the part of the drive.
    fn size_of_model(&self, data: u64) -> (u64, u64) {
        let most = DIVISOR_MAX.min(self.memtable_size.0 / MEMTABLE_MIN).min(data / DATA_MIN).max(1);
        let divisor = 1 << most.ilog2();
        (divisor, data.div_ceil(DATA_MAX * divisor))
    }

    fn text(&self, entries: u64, space: ByteCount, on_disk: bool) -> String {
        let Self { drive, key_size, value_size, memtable_size, memory, systems, .. } = self;
        let systems: Vec<String> = systems.iter().map(|system| format!("\"{system}\"")).collect();
        let systems = systems.join(", ");
        // As in a store that is mounted.
        let flushes = on_disk.then(|| format!("flush_every = \"{}B\"\n", FLUSH_EVERY.0));
        let flushes = flushes.unwrap_or_default();
        let head = format!(
            "title = \"Advice\"\nsource = \"none\"\nabout = \"A model of a store.\"\n\
             drive = {drive:?}\nspace = \"{}B\"\nsample_every = \"60 s\"\nall_reads = true\n\
             systems = [{systems}]\n[store]\nmemtable_size = \"{}B\"\nmemory = \"{}B\"\n\
             filter_bits = 10\n{flushes}",
            space.0, memtable_size.0, memory.0,
        );
        let entry = format!("key_size = {key_size}\nvalue_size = \"{value_size}\"\n");
        let phase = |name: &str, workload: &str, operations: u64, more: &str| {
            format!(
                "[[phase]]\nname = \"{name}\"\nworkload = \"{workload}\"\n\
                 operations = {operations}\n{entry}{more}"
            )
        };
        let records = format!("records = {entries}\n");
        let half = entries.div_ceil(2);
        let phases = [
            phase("fill", "filluniquerandom", entries, "measured = false\n"),
            phase("settle", "overwrite", half, &format!("{records}measured = false\n")),
            phase(Model::WRITES, "overwrite", half, &records),
            phase("rest", "readrandom", 100, "measured = false\nwait_idle = true\n"),
            phase(Model::READS, "readrandom", READS, ""),
            phase(Model::SCANS, "seekrandom", SCANS, &format!("scan_length = {SCAN_LENGTH}\n")),
        ];
        head + &phases.concat()
    }
}

/// The sequential zones of a drive.
struct Zones {
    /// Capacity of one.
    zone: ByteCount,
    /// Capacity of all together.
    all: ByteCount,
    /// Distance from one to the next.
    size: ByteCount,
    on_disk: bool,
}

impl Zones {
    fn of(drive: &Drive) -> Result<Self, GeometryError> {
        let geometry = drive.geometry(Scale::FULL)?;
        let conventional: u32 = geometry.conventional.iter().map(|run| run.end - run.start).sum();
        let bytes = |blocks: u64| blocks * u64::from(geometry.logical_block);
        let (zone, size) = (bytes(geometry.zone_capacity), bytes(geometry.zone_size));
        let all = ByteCount(zone * u64::from(geometry.zones - conventional));
        let on_disk = geometry.rotational;
        Ok(Self { zone: ByteCount(zone), all, size: ByteCount(size), on_disk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(entries: u64, memtable_size: ByteCount) -> Question {
        Question {
            drive: "seagate-st13125nm007".to_owned(),
            space: Some(ByteCount::gib(70)),
            entries,
            key_size: 16,
            value_size: 4096,
            memtable_size,
            memory: ByteCount::gib(1),
            systems: vec!["bluefs".to_owned(), "tiered:tier_runs=8".to_owned()],
        }
    }

    #[test]
    fn a_model_has_little_data_and_memtables_that_are_large_enough() {
        let model = question(13_000_000, ByteCount::mib(64)).model().unwrap();
        assert_eq!((model.scale.to_string(), model.part), ("1/128".to_owned(), 1));
        assert_eq!(model.experiment.systems, ["bluefs", "tiered:tier_runs=8"]);
        let small = question(13_000_000, ByteCount::mib(4)).model().unwrap();
        assert_eq!((small.scale.to_string(), small.part), ("1/64".to_owned(), 2));
        let few = question(100_000, ByteCount::mib(64)).model().unwrap();
        assert_eq!((few.scale.to_string(), few.part), ("1/1".to_owned(), 1));
    }

    #[test]
    fn a_model_of_a_large_drive_is_a_part_of_it() {
        let whole = Question { space: None, ..question(1_000_000_000, ByteCount::mib(64)) };
        let model = whole.model().unwrap();
        assert_eq!((model.scale.to_string(), model.part), ("1/128".to_owned(), 40));
        assert!(model.space > ByteCount::gib(10_000), "{}", model.space);
    }

    #[test]
    fn entries_that_cannot_fit_are_refused_with_both_sizes() {
        let error = question(20_000_000, ByteCount::mib(64)).model().unwrap_err().to_string();
        assert!(error.contains("GiB") && error.contains("70 GiB"), "{error}");
        assert!(matches!(question(0, ByteCount::mib(64)).model(), Err(QuestionError::Nothing)));
        let small = Question { space: Some(ByteCount::mib(1)), ..question(9, ByteCount::mib(64)) };
        assert!(small.model().unwrap_err().to_string().contains("a zone of the drive, 256 MiB"));
        let unknown = Question { drive: "zn54".to_owned(), ..question(9, ByteCount::mib(64)) };
        assert!(unknown.model().unwrap_err().to_string().contains("wd-zn540"));
    }
}
