//! `bluefs`: a table owns whole zones (Aghayev et al., "Reconciling LSM-Trees with Modern Hard
//! Drives using BlueFS", CMU-PDL-19-102).
//!
//! 1. Tables are as large as zones (section 2.3; 256 MiB in section 5.1), and a table is assigned
//!    complete zones (section 4, "Data placement"). See [`WholeZones`]. Exceptions are below.
//! 2. Compaction is that of the engine above, unmodified: leveled, see [`Leveled`].
//! 3. When a table is deleted, its zones hold nothing and are reset: there is no cleaning as long
//!    as free zones last and tables share none.
//! 4. Logs and the journal go to sequential zones of their own (section 3.3, section 4).
//!
//! # Where it departs from the paper
//! There, what is flushed is assigned complete zones as well. But a memtable of 256 MiB makes a
//! smaller table: it takes more memory than its entries have bytes, and tables compress. A quarter
//! or half of such a zone would be empty, and under a sequential load, whose tables only move down,
//! would stay so. Here tables of level 0 follow one another, across the ends of zones. Those that
//! share a zone die nearly together: level 0 is merged as a whole (section 2.1), and what has moved
//! down is merged in the order of its keys.
//!
//! # Where the paper is silent
//! - It has zones of 256 MiB and drives of 52,000. Where zones are small, a table owns several;
//!   where they are larger than 256 MiB, or too large for the merges of a small store, a zone is
//!   divided evenly among several tables, all of one level and each of them whole.
//! - Small tables of one level share zones, each of them whole. A zone is then empty when the last
//!   of them is deleted.
//! - Where no free zone is left, tables share whatever room there is, and a collector empties zones
//!   that give a quarter or more before writers have to wait, and any that give something while one
//!   waits: otherwise a store would be full that is not. It has nothing to do as long as the layout
//!   holds.
//! - Opened on what another system wrote, it leaves mixed zones as they are: they empty as their
//!   tables are compacted, or by the collector.
//!
//! # Where the rest of the paper is
//! Every system here has the properties that BlueFS has below its layout, because file system and
//! engine provide them:
//!
//! - The superblock in a conventional zone, if the drive has one, and a journal that has the only
//!   copy of all metadata and is compacted to a new place (section 4): `fs`, `superblock/` and
//!   `journal/`.
//! - Records of the log that have their length in line and are padded to 4 KiB, so that the log can
//!   be in sequential zones (sections 3.3 and 4): `fs`, `frame/` and `file/log_writer.rs`.
//! - A synchronous insert is one write (section 4, "Journaling"): `fs`, `file/log_writer.rs`.
//!   BlueFS recycles logs so that their size does not change; ours say their length themselves, and
//!   the journal has what they may take instead.
//! - Logs that are allocated before they are needed (there): `lsm`, `writing/preallocated_log.rs`.
//! - Asynchronous writes, in order (sections 3.2 and 5.4): `fs`, `file/log_writer.rs`, four of 1
//!   MiB at a time, smaller ones where memory is short; `file/data_writer.rs`, two.
//! - Compaction reads of 2 MiB (section 5.1), by default: `lsm`, `table/read_ahead.rs`.
//! - A write-through cache of tables, first in, first out by file (sections 4 and 5.5): `fs`,
//!   `cache/`, by block, and by what will be read next; the paper's way is a choice.
//!
//! Not here: 256 KiB extents in conventional zones for small files that are updated at random
//! (section 4, "Data placement"). RocksDB has such files beside tables and logs. Our engine has
//! none, since all that it must remember of a table is in the journal, and the files below it can
//! only be appended to. They come with a client that overwrites; until then, conventional zones
//! hold the superblock and are otherwise unused.
//!
//! Cost of its layout: the rest of the last zone of each table that a merge wrote. A merge ends
//! with a table that is half full on average, of about eleven. Small ones that share a zone leave
//! less than one of them takes. Flushed tables leave no rest: all zones of a sequential load are
//! valid, but for the rest of the last one.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, parameter};
use crate::{Compaction, Greedy, Leveled, WholeZones, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "bluefs",
    summary: "leveled; a merged table owns whole zones, which are empty when it is deleted",
    live_max: 70,
    // The collector works when it must.
    own: System::row(Row::Bluefs, (0, 25)),
    parameters: parameter::LEVELED,
    placement: |_| Arc::new(WholeZones),
    compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: |_, store| table_size(store),
};

/// The paper's tables and zones.
const TABLE_SIZE_MAX: ByteCount = ByteCount::mib(256);
/// Where zones are small, a table owns as many as make up this.
const TABLE_SIZE_GOOD: ByteCount = ByteCount::mib(16);

/// Level 1 is as large as level 0 when it is compacted, as RocksDB's guide advises.
fn compaction(system: &System, store: &StoreShape, _: Arc<dyn ZonesSource>) -> Arc<dyn Compaction> {
    let level0 = store.memtable_size.0.saturating_mul(system.level0_runs.into());
    Arc::new(Leveled::new(system.leveled(store, ByteCount(level0))))
}

/// As many zones as make a table of a good size, or, where zones are too large for the store, an
/// even part of one.
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

/// By how much a table may become larger than it should: its last entry, and the rest of a block.
/// Left free, it does not reach into another zone for a few bytes.
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
