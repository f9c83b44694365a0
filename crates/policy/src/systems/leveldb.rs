//! Common parts of the systems around LevelDB, as the papers measure it (LevelDB 1.19): tables of a
//! memtable's size, but of 16 MiB at most; level 1 as large as two and a half memtables, each
//! further one ten times - 4 MiB and 10 MiB at memtables of 4 MiB - and, for rows that take it, a
//! collector that starts at 20 % free. These are what a system has of its own: parameters of the
//! system that are given come before them.
//!
//! The rows that are LevelDB ([`row`]) also slow and stop writers, grow compactions, cut tables,
//! check and commit moves and place flushes as LevelDB does ([`Leveled`], steps 3, 4 and 6). The
//! other rows keep the engine's own ways; of these, two variants of `geardb` slow and stop writers
//! and commit moves as LevelDB does, and one of them grows compactions as it does.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, StoreShape, System};
use crate::{Compaction, Fit, Fitted, Leveled, LogStructured, Placement, Throttle, ZonesSource};

/// The papers' threshold: 20 % free (GearDB, section 2.3). The papers do not say how much a zone
/// must give; here it is 10 %.
pub(super) const COLLECTOR: (u8, u8) = (20, 10);

/// LevelDB's 25 tables' worth for a compaction that grows, and its level 2 for a flush
/// (`db/version_set.cc`, `ExpandedCompactionByteSizeLimit`; `db/dbformat.h`,
/// `kMaxMemCompactLevel`).
const GROWTH: u16 = 25;
const FLUSH_LEVEL: u8 = 2;

/// A row that is LevelDB, over zones that a collector empties.
pub(super) const fn row(row: Row) -> System {
    let mut system = System::row(row, COLLECTOR);
    system.throttle = Some(Throttle::Leveldb);
    system.growth = Some(GROWTH);
    system.check_moves = true;
    system.moves_together = Some(1);
    system.carry_overlap = true;
    system.flush_level = FLUSH_LEVEL;
    system
}

/// The same on a disk, below a file system that goes on where it was. SEALDB's figure of the
/// drive's own write amplification, 5.38, is that of a next fit; a first fit gives about twice as
/// much.
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
