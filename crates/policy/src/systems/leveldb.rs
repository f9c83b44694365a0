//! Common parts of the systems around LevelDB, as the papers measure it (LevelDB 1.19): the sizes
//! of tables and levels, and a collector that begins below 20 % of free zones. Parameters that are
//! given replace these values.
//!
//! Tables are as large as a memtable, but at most 16 MiB. Level 1 is as large as two and a half
//! memtables, each further level ten times as large. With memtables of 4 MiB these are the papers'
//! 4 MiB and LevelDB's 10 MiB.
//!
//! Rows made by [`row`] also slow writers as LevelDB does, commit each move by itself, and have the
//! options that [`Leveled`] marks as LevelDB's (steps 2, 3, 4, 6 and 9).

use std::sync::Arc;

use terrace_env::ByteCount;

use super::parameter::Parameter;
use super::{Row, StoreShape, System, parameters};
use crate::{Compaction, Fit, Fitted, Leveled, LogStructured, Placement, Throttle, ZonesSource};

/// The papers' threshold: 20 % free (GearDB, section 2.3). The papers do not say how much a zone
/// must give; here it is 10 %.
pub(super) const COLLECTOR: (u8, u8) = (20, 10);

/// LevelDB's 25 tables' worth for a compaction that grows, and its level 2 for a flush
/// (`db/version_set.cc`, `ExpandedCompactionByteSizeLimit`; `db/dbformat.h`,
/// `kMaxMemCompactLevel`).
const GROWTH: u16 = 25;
const FLUSH_LEVEL: u8 = 2;

/// The bytes whose compaction costs LevelDB as much as a read that searched a table without success
/// (`db/version_set.cc`, `VersionSet::Builder::Apply`).
pub(super) const SEEK_COST: ByteCount = ByteCount::kib(16);

/// The parameters of a system of leveled compaction with a collector, and no other.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameters::ALIGNED_FROM,
    parameters::CARRY_OVERLAP,
    parameters::CHECK_MOVES,
    parameters::COLLECTOR,
    parameters::FACTOR,
    parameters::FLUSH_LEVEL,
    parameters::FREE_MIN,
    parameters::GAIN_MIN,
    parameters::GROWTH,
    parameters::JOBS,
    parameters::LEVEL0_RUNS,
    parameters::LEVEL0_SLOW,
    parameters::LEVEL0_STOP,
    parameters::LEVEL1_SIZE,
    parameters::LEVELS,
    parameters::MOVES_TOGETHER,
    parameters::SEEK_COST,
    parameters::TABLE_SIZE,
    parameters::THROTTLE,
];

/// A row that is LevelDB, over zones that a collector empties.
pub(super) const fn row(row: Row) -> System {
    let mut system = System::row(row, COLLECTOR);
    system.throttle = Some(Throttle::Leveldb);
    system.growth = Some(GROWTH);
    system.check_moves = true;
    system.seek_cost = Some(SEEK_COST);
    system.moves_together = Some(1);
    system.carry_overlap = true;
    system.flush_level = FLUSH_LEVEL;
    system
}

/// LevelDB on a disk, below a file system that goes on where it was, as ext4 does with large files
/// while it has space. SEALDB's drive writes 5.38 bytes for one (figure 3), as under a file system
/// that fills holes: `fit=first` gives 5.6, `fit=best` 5.8, and the next fit 1.2 to 2.7, the less
/// space there is (`sealdb/allocators`, 1/64).
pub(super) const fn on_disk(which: Row) -> System {
    let mut system = row(which);
    system.fit = Fit::Next;
    system
}

/// Where tables of all levels follow each other; on a disk, by the fit of the system.
pub(super) fn fitted(system: &System) -> Arc<dyn Placement> {
    Arc::new(Fitted { zones: Arc::new(LogStructured), fit: system.fit })
}

/// LevelDB's tables, at the most.
const TABLE_SIZE_MAX: ByteCount = ByteCount::mib(16);

/// A memtable's: 4 MiB at LevelDB's memtables.
pub(super) fn table_size(_: &System, store: &StoreShape) -> ByteCount {
    store.memtable_size.min(TABLE_SIZE_MAX)
}

/// LevelDB's proportion: 10 MiB at memtables of 4 MiB.
pub(super) fn level1_size(store: &StoreShape) -> ByteCount {
    ByteCount(store.memtable_size.0.saturating_mul(5) / 2)
}

/// LevelDB's compaction.
pub(super) fn compaction(
    system: &System,
    store: &StoreShape,
    _: Arc<dyn ZonesSource>,
) -> Arc<dyn Compaction> {
    Arc::new(Leveled::new(system.leveled(store, level1_size(store))))
}
