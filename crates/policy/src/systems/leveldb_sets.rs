//! `leveldb-sets`: LevelDB whose merges write sets, the second of three systems in figure 14 of
//! SEALDB (Yao et al., "A Set-aware Key-Value Store on Shingled Magnetic Recording Drives with
//! Dynamic Band", MSST '18). Between `leveldb-disk` and `sealdb`, it shows the gain of sets by
//! themselves.
//!
//! 1. Compaction is LevelDB's, see [`Leveled`] and [`leveldb`].
//! 2. The tables that a merge writes into level 2 or a deeper level are a set (section III-A): they
//!    are to be written one after the other ([`Merge::set`](crate::Merge::set)). There are no sets
//!    in levels 0 and 1.
//! 3. A merge reads tables that lie one after the other by one request (`set_reads`).
//! 4. Placement and collector are those of `leveldb-disk`.
//!
//! The paper does not say whether LevelDB with sets prefers sets with dead tables as victims. Here
//! it does not.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::parts::TABLES_OF_A_SET;
use super::{Row, RowParts, StoreShape, System, leveldb, parameters};
use crate::{Compaction, Greedy, Leveled, LeveledOptions, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "leveldb-sets",
    summary: "leveled; a merge writes its tables as one set; for devices without zones",
    suits: "drives without zones, on disks: a merge writes one long stretch",
    costs: "free space breaks into pieces between sets",
    live_max: 55,
    tables_together: TABLES_OF_A_SET,
    io_size: RowParts::IO_SIZE,
    own: own(),
    parameters: &[leveldb::PARAMETERS, &[parameters::FIT, parameters::SET_READS]],
    placement: leveldb::fitted,
    compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};

const fn own() -> System {
    let mut system = leveldb::on_disk(Row::LeveldbSets);
    // As `sealdb`: a merge for reads would rewrite a set.
    system.seek_cost = None;
    system
}

fn compaction(system: &System, store: &StoreShape, _: Arc<dyn ZonesSource>) -> Arc<dyn Compaction> {
    Arc::new(Leveled::new(options(system, store)))
}

/// LevelDB's compaction, with sets.
pub(super) fn options(system: &System, store: &StoreShape) -> LeveledOptions {
    let level1_size: ByteCount = leveldb::level1_size(store);
    LeveledOptions { sets: true, ..system.leveled(store, level1_size) }
}
