//! `bluefs`: a table owns whole zones (Aghayev et al., "Reconciling LSM-Trees with Modern Hard
//! Drives using BlueFS", CMU-PDL-19-102).
//!
//! 1. Tables are about as large as zones (section 2.3). A table is assigned complete zones (section
//!    4, "Data placement"). See [`WholeZones`].
//! 2. Compaction is leveled, see [`Leveled`]. In the paper it is RocksDB's.
//! 3. When a table that shares no zone is deleted, its zones hold nothing and are free. As long as
//!    enough zones are free, nothing is moved.
//!
//! # Where it departs from the paper
//! Flushed tables follow one another across zones here. In the paper they get complete zones as
//! well. But a memtable as large as a zone makes a smaller table, so part of each such zone would
//! be empty. Tables of level 0 that share a zone often die nearly together, because a compaction of
//! level 0 takes those that overlap. `level0_apart=on` is the paper's way.
//!
//! # Where the paper is silent
//! - On a device without zones, the [fit](crate::Fit) of the row says in which free run of blocks a
//!   table begins. The rules for zones have no part in it.
//! - The paper has zones of 256 MiB. Where zones have at most 8 MiB, a table owns several, if the
//!   store is large enough. Where zones are larger than the paper's, or too large for a small
//!   store, a zone is divided evenly among several tables of one level.
//! - Small tables of one level share a zone, each of them whole. The zone is empty when the last of
//!   them is deleted.
//! - Without a free zone, tables share the remaining room. A greedy collector works when space is
//!   wanted, or few zones are spare ([`Greedy`]).
//! - Tables that another system wrote stay where they are, until they are compacted or collected.
//!
//! # Not in this row
//! The rest of the paper is a file system: its superblock, journal, logs and cache. `fs` and `lsm`
//! have such parts for all systems.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, leveldb, parameters};
use crate::{Compaction, Fitted, Greedy, Leveled, WholeZones, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "bluefs",
    summary: "leveled; a merged table owns whole zones, which are empty when it is deleted",
    suits: "reads and writes mixed; the default",
    costs: "writes more than `tiered`: every level is rewritten",
    live_max: 70,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    // The collector works when it must.
    own: System::row(Row::Bluefs, (0, 25)),
    parameters: &[leveldb::PARAMETERS, &[parameters::FIT, parameters::LEVEL0_APART]],
    placement: |system| {
        let zones = Arc::new(WholeZones { level0_apart: system.level0_apart });
        Arc::new(Fitted { zones, fit: system.fit })
    },
    compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: |_, store| table_size(store),
};

/// The paper's tables and zones.
const TABLE_SIZE_MAX: ByteCount = ByteCount::mib(256);
/// Where zones are small, a table owns several, which make up this size.
const TABLE_SIZE_GOOD: ByteCount = ByteCount::mib(16);

/// Level 1 is as large as level 0 when it is compacted, as RocksDB's guide advises.
fn compaction(system: &System, store: &StoreShape, _: Arc<dyn ZonesSource>) -> Arc<dyn Compaction> {
    let level0 = store.memtable_size.0.saturating_mul(system.level0_runs.into());
    Arc::new(Leveled::new(system.leveled(store, ByteCount(level0))))
}

/// The zones that make a table of a good size, or, where zones are too large for the store, an even
/// part of one.
pub(super) fn table_size(store: &StoreShape) -> ByteCount {
    let Some(zone) = store.zone_capacity.filter(|zone| zone.0 > 0) else {
        return store.memtable_size.min(TABLE_SIZE_GOOD);
    };
    let most = store.table_size_max().min(TABLE_SIZE_MAX).0;
    let room = if zone.0 <= most {
        zone.0 * (TABLE_SIZE_GOOD.0 / zone.0).clamp(1, most / zone.0)
    } else {
        zone.0 / zone.0.div_ceil(most)
    };
    ByteCount(room - slack(ByteCount(room)).0)
}

/// The bytes by which a table may become larger than planned: its last entry, and the rest of a
/// block. They are left free, so that the table does not reach into another zone for a few bytes.
fn slack(room: ByteCount) -> ByteCount {
    ByteCount((room.0 / 32).clamp(8 << 10, 1 << 20).min(room.0 / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(zone: ByteCount, zones: u64) -> ByteCount {
        table_size(&StoreShape {
            capacity: ByteCount(zone.0 * zones),
            zone_capacity: Some(zone),
            guard: ByteCount(0),
            kept: ByteCount(0),
            memtable_size: ByteCount::mib(64),
        })
    }

    #[test]
    fn tables_fill_zones_and_leave_the_store_room_to_merge_them() {
        // The paper's drive: 14 TB in zones of 256 MiB, as large as a table.
        assert_eq!(fitted(ByteCount::mib(256), 52_156), ByteCount::mib(255));
        // Larger zones are shared evenly, small ones taken by the dozen.
        assert_eq!(fitted(ByteCount::mib(1077), 2000), ByteCount(1077 * (1 << 20) / 5 - (1 << 20)));
        assert_eq!(fitted(ByteCount::mib(1), 10_000), ByteCount(16 * (1 << 20) - (1 << 19)));
        // A store of few zones has tables that share them.
        assert_eq!(fitted(ByteCount::mib(16), 32), ByteCount(8 * (1 << 20) - (1 << 18)));
        assert_eq!(fitted(ByteCount::mib(1), 64), ByteCount((1 << 20) - (1 << 15)));
        assert!(fitted(ByteCount(4096), 1) > ByteCount(0));
    }
}
