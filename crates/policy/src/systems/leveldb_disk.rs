//! `leveldb-disk`: LevelDB on a device without zones, for comparison with papers that measure
//! LevelDB on a disk or on a drive-managed shingled drive (Yao et al., "SEALDB", MSST '18, section
//! IV; Pitchumani et al., "SMRDB", SYSTOR '15; Yao et al., "GearDB", FAST '19).
//!
//! 1. Compaction is LevelDB's, with the parameters of `leveldb-greedy`: see
//!    [`Leveled`](crate::Leveled) and [`leveldb`].
//! 2. On a device without zones, a table's place in free space follows from the parameter `fit`,
//!    and the blocks of a deleted table can be used again. There is no collector.
//! 3. On a device with zones, tables are placed and collected as in `leveldb-greedy`.
//!
//! An ordinary disk and a drive-managed shingled one have the same row, because LevelDB makes the
//! same choices on both. The row has a name of its own so that results on a disk do not name a
//! collector. `leveldb-smr` is read as the same row: the papers have it for LevelDB on a
//! drive-managed disk.

use std::sync::Arc;

use super::{Row, RowParts, leveldb, parameters};
use crate::Greedy;

pub(super) const PARTS: RowParts = RowParts {
    name: "leveldb-disk",
    summary: "leveled; for devices without zones, where the space of a table is free at once",
    suits: "drives without zones",
    costs: "merges rewrite level by level, as LevelDB's do",
    live_max: 55,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    own: leveldb::on_disk(Row::LeveldbDisk),
    parameters: &[leveldb::PARAMETERS, &[parameters::FIT]],
    placement: leveldb::fitted,
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};
