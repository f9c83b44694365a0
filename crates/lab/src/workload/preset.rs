//! [`Preset`]: workloads by name: many of `db_bench`'s (LevelDB's and RocksDB's), the core
//! workloads of YCSB, and a mix of scans and writes from Pitchumani's thesis.
//!
//! A preset gives operations, and does not carry them out. Some presets [begin with an empty
//! store](Preset::begins_empty). The others need a store that was filled, as with
//! [`Preset::filled_by`]. Keys should lie as [`Preset::key_order`] says, so that results can be
//! compared with those of the original tools.

use std::fmt;
use std::str::FromStr;

use super::chooser::Chooser;
use super::entries::KeyOrder;
use super::operation::{Proportions, Workload};
use super::sizes::Sizes;
use super::ycsb::Ycsb;

/// Records that a `seekrandom` goes on through: RocksDB's `--seek_nexts` in its usual benchmarks.
const SEEK_RECORDS: u32 = 50;
/// Records of one operation of `readseq`.
const READ_SEQ_RECORDS: u32 = 100;

/// A workload that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// Inserts all records in the order of their keys.
    FillSeq,
    /// One write for each record, of a random one: some are written several times, and more than a
    /// third never.
    FillRandom,
    /// Writes each record once, in random order.
    FillUniqueRandom,
    /// Writes random records of a filled store.
    Overwrite,
    /// Reads random records.
    ReadRandom,
    /// Goes through all records in order, a hundred to an operation.
    ReadSeq,
    /// Goes from random records on through fifty in order.
    SeekRandom,
    /// Reads random records and writes each.
    UpdateRandom,
    /// Nine of ten times reads a random record, else writes one.
    ReadRandomWriteRandom,
    /// Deletes random records.
    DeleteRandom,
    /// Seven of ten times writes a random record, else deletes one.
    OverwriteDelete,
    /// Inserts a record after all others, or deletes the oldest that is there: a queue, which stays
    /// about as long as it is.
    Queue,
    /// Nine of ten times inserts a record after all others, else writes a random one.
    FillSeqOverwrite,
    /// Seven of ten times scans from a random record on, through 1 to 100; else inserts a record or
    /// updates a random one (the mixes of Pitchumani's thesis, table 5.1).
    ScanInsertUpdate,
    /// One of YCSB.
    Ycsb(Ycsb),
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::FillSeq,
        Self::FillRandom,
        Self::FillUniqueRandom,
        Self::Overwrite,
        Self::ReadRandom,
        Self::ReadSeq,
        Self::SeekRandom,
        Self::UpdateRandom,
        Self::ReadRandomWriteRandom,
        Self::DeleteRandom,
        Self::OverwriteDelete,
        Self::Queue,
        Self::FillSeqOverwrite,
        Self::ScanInsertUpdate,
        Self::Ycsb(Ycsb::Load),
        Self::Ycsb(Ycsb::A),
        Self::Ycsb(Ycsb::B),
        Self::Ycsb(Ycsb::C),
        Self::Ycsb(Ycsb::D),
        Self::Ycsb(Ycsb::E),
        Self::Ycsb(Ycsb::F),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FillSeq => "fillseq",
            Self::FillRandom => "fillrandom",
            Self::FillUniqueRandom => "filluniquerandom",
            Self::Overwrite => "overwrite",
            Self::ReadRandom => "readrandom",
            Self::ReadSeq => "readseq",
            Self::SeekRandom => "seekrandom",
            Self::UpdateRandom => "updaterandom",
            Self::ReadRandomWriteRandom => "readrandomwriterandom",
            Self::DeleteRandom => "deleterandom",
            Self::OverwriteDelete => "overwritedelete",
            Self::Queue => "queue",
            Self::FillSeqOverwrite => "fillseqoverwrite",
            Self::ScanInsertUpdate => "scaninsertupdate",
            Self::Ycsb(ycsb) => ycsb.name(),
        }
    }

    /// Whether it begins with an empty store; the others want one that is filled.
    #[must_use]
    pub fn begins_empty(self) -> bool {
        let fills = [Self::FillSeq, Self::FillRandom, Self::FillUniqueRandom];
        fills.contains(&self) || self == Self::Ycsb(Ycsb::Load)
    }

    /// Whether any of its operations writes.
    #[must_use]
    pub fn writes(self) -> bool {
        let reads_only = [Self::ReadRandom, Self::ReadSeq, Self::SeekRandom, Self::Ycsb(Ycsb::C)];
        !reads_only.contains(&self)
    }

    /// Whether any of its operations reads.
    #[must_use]
    pub fn reads(self) -> bool {
        let writes_only = [
            Self::Overwrite,
            Self::DeleteRandom,
            Self::OverwriteDelete,
            Self::Queue,
            Self::FillSeqOverwrite,
        ];
        !self.begins_empty() && !writes_only.contains(&self)
    }

    /// Whether any of its operations is a scan.
    #[must_use]
    pub fn scans(self) -> bool {
        let of_ycsb = Self::Ycsb(Ycsb::E);
        [Self::ReadSeq, Self::SeekRandom, Self::ScanInsertUpdate, of_ycsb].contains(&self)
    }

    /// Workload that fills a store for this one.
    #[must_use]
    pub fn filled_by(self) -> Self {
        match self {
            Self::Ycsb(_) | Self::ScanInsertUpdate => Self::Ycsb(Ycsb::Load),
            _ => Self::FillUniqueRandom,
        }
    }

    /// How its keys lie: `db_bench` says where a record is by its number, YCSB scatters them, so
    /// that inserts are in random order.
    #[must_use]
    pub fn key_order(self) -> KeyOrder {
        match self {
            Self::Ycsb(_) | Self::ScanInsertUpdate => KeyOrder::Hashed,
            _ => KeyOrder::Numbered,
        }
    }

    /// The sequence of operations on `records` records. It has no end: one that begins empty has
    /// filled the store after one operation for each record, and the others usually run for the
    /// same number.
    #[must_use]
    pub fn workload(self, values: Sizes, records: u64, seed: u64) -> Workload {
        let none = Proportions::default();
        let uniform = Chooser::Uniform;
        let (proportions, chooser, records) = match self {
            Self::Ycsb(ycsb) => return ycsb.workload(values, records, seed),
            Self::FillSeq => (Proportions { insert: 1.0, ..none }, uniform, 0),
            Self::FillRandom | Self::Overwrite => {
                (Proportions { update: 1.0, ..none }, uniform, records)
            }
            Self::FillUniqueRandom => {
                let shuffled = Chooser::Shuffled { next: 0, seed };
                (Proportions { update: 1.0, ..none }, shuffled, records)
            }
            Self::ReadRandom => (Proportions { read: 1.0, ..none }, uniform, records),
            Self::ReadSeq => {
                let sequential = Chooser::Sequential { next: 0, step: READ_SEQ_RECORDS.into() };
                (Proportions { scan: 1.0, ..none }, sequential, records)
            }
            Self::SeekRandom => (Proportions { scan: 1.0, ..none }, uniform, records),
            Self::UpdateRandom => {
                (Proportions { read_modify_write: 1.0, ..none }, uniform, records)
            }
            Self::ReadRandomWriteRandom => {
                (Proportions { read: 0.9, update: 0.1, ..none }, uniform, records)
            }
            Self::DeleteRandom => (Proportions { delete: 1.0, ..none }, uniform, records),
            Self::OverwriteDelete => {
                (Proportions { update: 0.7, delete: 0.3, ..none }, uniform, records)
            }
            Self::Queue => {
                let oldest = Chooser::Sequential { next: 0, step: 1 };
                (Proportions { insert: 0.5, delete: 0.5, ..none }, oldest, records)
            }
            Self::FillSeqOverwrite => {
                (Proportions { insert: 0.9, update: 0.1, ..none }, uniform, records)
            }
            Self::ScanInsertUpdate => {
                let mix = Proportions { scan: 0.7, insert: 0.15, update: 0.15, ..none };
                return Workload::new(mix, uniform, values, records, seed);
            }
        };
        let length = if self == Self::ReadSeq { READ_SEQ_RECORDS } else { SEEK_RECORDS };
        let scans = Sizes::Constant(length);
        Workload::new(proportions, chooser, values, records, seed).with_scans(scans)
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no workload of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {}, found `{name}`", Preset::ALL.map(Preset::name).join(", "))]
pub struct UnknownWorkload {
    /// Name asked for.
    pub name: String,
}

impl FromStr for Preset {
    type Err = UnknownWorkload;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|preset| preset.name() == name);
        found.ok_or_else(|| UnknownWorkload { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::operation::{Kind, Operation};
    use super::*;

    #[test]
    fn every_workload_is_found_by_its_name_and_others_are_told_the_choices() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
            assert!(preset.filled_by().begins_empty());
        }
        let error = "ycsb-g".parse::<Preset>().unwrap_err().to_string();
        assert!(error.contains("fillseq, ") && error.contains("ycsb-f, found `ycsb-g`"), "{error}");
    }

    /// The records written by one operation for each record.
    fn written(preset: Preset) -> Vec<u64> {
        let mut workload = preset.workload(Sizes::Constant(100), 1_000, 7);
        let records = (0..1_000).map(|_| match workload.next_operation() {
            Operation::Insert(record, 100) | Operation::Update(record, 100) => record,
            other => panic!("{preset} does {other:?}"),
        });
        records.collect()
    }

    #[test]
    fn fills_write_what_their_names_say() {
        assert!(written(Preset::FillSeq).into_iter().eq(0..1_000));
        assert!(written(Preset::Ycsb(Ycsb::Load)).into_iter().eq(0..1_000));
        let unique = written(Preset::FillUniqueRandom);
        assert!(!unique.is_sorted());
        assert!(BTreeSet::from_iter(unique).into_iter().eq(0..1_000));
        // With one random write for each record, a share of 1/e of the records is missed.
        let random = BTreeSet::from_iter(written(Preset::FillRandom));
        assert!((600..665).contains(&random.len()), "{}", random.len());
    }

    #[test]
    fn a_workload_reads_or_writes_if_one_of_its_operations_does() {
        for preset in Preset::ALL {
            let mut workload = preset.workload(Sizes::Constant(100), 1_000, 7);
            let kinds: BTreeSet<Kind> =
                (0..1_000).map(|_| workload.next_operation().kind()).collect();
            let any = |of: &[Kind]| kinds.iter().any(|kind| of.contains(kind));
            let reads = any(&[Kind::Read, Kind::Scan, Kind::ReadModifyWrite]);
            let writes = any(&[Kind::Update, Kind::Insert, Kind::ReadModifyWrite, Kind::Delete]);
            assert_eq!((preset.reads(), preset.writes()), (reads, writes), "{preset}");
            assert_eq!(preset.scans(), kinds.contains(&Kind::Scan), "{preset}");
        }
    }

    #[test]
    fn seeks_go_through_fifty_and_deletes_delete() {
        let kinds = |preset: Preset| {
            let mut workload = preset.workload(Sizes::Constant(100), 1_000, 7);
            let drawn: BTreeSet<Kind> =
                (0..1_000).map(|_| workload.next_operation().kind()).collect();
            drawn.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(kinds(Preset::DeleteRandom), [Kind::Delete]);
        assert_eq!(kinds(Preset::OverwriteDelete), [Kind::Update, Kind::Delete]);
        assert_eq!(kinds(Preset::FillSeqOverwrite), [Kind::Update, Kind::Insert]);
        assert_eq!(kinds(Preset::UpdateRandom), [Kind::ReadModifyWrite]);
        assert_eq!(kinds(Preset::ReadRandomWriteRandom), [Kind::Read, Kind::Update]);
        let mut seeks = Preset::SeekRandom.workload(Sizes::Constant(100), 1_000, 7);
        assert!(matches!(seeks.next_operation(), Operation::Scan(_, 50)));
        let mut reads = Preset::ReadSeq.workload(Sizes::Constant(100), 1_000, 7);
        let read: Vec<Operation> = (0..3).map(|_| reads.next_operation()).collect();
        let expected = [0, 100, 200].map(|record| Operation::Scan(record, 100));
        assert_eq!(read, expected);
        let reads = Preset::ReadSeq.workload(Sizes::Constant(100), 1_000, 7);
        let mut reads = reads.with_scan_length(600);
        let read: Vec<Operation> = (0..3).map(|_| reads.next_operation()).collect();
        assert_eq!(read, [0, 600, 0].map(|record| Operation::Scan(record, 600)), "from its start");
    }
    #[test]
    fn a_queue_grows_at_its_end_and_is_deleted_at_its_front() {
        let mut queue = Preset::Queue.workload(Sizes::Constant(100), 1_000, 7);
        let drawn: Vec<Operation> = (0..1_000).map(|_| queue.next_operation()).collect();
        let deleted = drawn.iter().filter_map(|one| match one {
            Operation::Delete(record) => Some(*record),
            _ => None,
        });
        let inserted = drawn.iter().filter_map(|one| match one {
            Operation::Insert(record, _) => Some(*record),
            _ => None,
        });
        let (deleted, inserted): (Vec<u64>, Vec<u64>) = (deleted.collect(), inserted.collect());
        assert_eq!(deleted.len() + inserted.len(), 1_000);
        assert!((450..550).contains(&deleted.len()));
        assert!(deleted.into_iter().eq(0..1_000 - inserted.len() as u64));
        assert!(inserted.iter().copied().eq(1_000..1_000 + inserted.len() as u64));
    }
}
