//! `leveldb-disk`: LevelDB on a device that is written anywhere, the comparator of the papers that
//! measure LevelDB on a disk or on a drive-managed shingled drive (Yao et al., "SEALDB", MSST '18,
//! section IV; Pitchumani et al., "SMRDB", SYSTOR '15; Yao et al., "GearDB", FAST '19).
//!
//! 1. Compaction is LevelDB's, see [`Leveled`](crate::Leveled) and [`leveldb`]: the same choices
//!    and the same parameters as in `leveldb-greedy`.
//! 2. On a device without zones, the file system chooses where a table lies, as a file system
//!    below LevelDB does; the blocks of a deleted table are free at once. Nothing is collected.
//!    Placement and collector of this row have no say there.
//! 3. On a device of zones, it is `leveldb-greedy`: one log of zones, emptied by a greedy
//!    collector. So every store can be opened under it.
//!
//! # One row for disks and for fixed bands
//! SEALDB measures LevelDB on fixed bands, where an overwrite within a band costs a rewrite of the
//! band. LevelDB makes the same choices there. The device alone tells the two apart: an ordinary
//! disk, or a drive-managed one. Therefore there is no second row.
//!
//! # Why not `leveldb-greedy`
//! Reports and stores name the row. A figure of LevelDB on a disk must not name a collector that
//! does not exist there; and parameters of how space is found on a disk belong to this row.

use std::sync::Arc;

use super::{Row, RowParts, leveldb, parameter};
use crate::Greedy;

pub(super) const PARTS: RowParts = RowParts {
    name: "leveldb-disk",
    summary: "leveled; for devices without zones, where the space of a table is free at once",
    live_max: 55,
    own: leveldb::on_disk(Row::LeveldbDisk),
    parameters: parameter::LEVELED_ON_DISKS,
    placement: leveldb::fitted,
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};
