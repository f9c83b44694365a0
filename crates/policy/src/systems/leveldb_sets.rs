//! `leveldb-sets`: LevelDB whose merges write sets, the middle one of three systems in figure 14 of
//! SEALDB (Yao et al., "A Set-aware Key-Value Store on Shingled Magnetic Recording Drives with
//! Dynamic Band", MSST '18). With `leveldb-disk` and `sealdb`, it says what sets bring, and what
//! dynamic bands bring.
//!
//! 1. Compaction is LevelDB's, see [`Leveled`] and [`leveldb`]: the victim is the
//!    table at the level's pointer.
//! 2. What a merge writes into level 2 or a deeper level is a set (section III-A): its tables are
//!    written one behind the other, as one placement group ([`Merge::set`](crate::Merge::set)). So
//!    one worker writes it. The next merge of these keys reads them as one stretch. There are no
//!    sets in levels 0 and 1.
//! 3. Space comes back by table, when the table is deleted. Where tables lie, and what a collector
//!    does on a device of zones, is as in `leveldb-disk`.
//!
//! # Where the paper is silent
//! Whether LevelDB with sets prefers sets with dead tables. Here it does not: `sealdb` on fixed
//! bands, without dynamic bands, does.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, leveldb, parameter};
use crate::{Compaction, Greedy, Leveled, LeveledOptions, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "leveldb-sets",
    summary: "leveled; a merge writes its tables as one set; for devices without zones",
    live_max: 55,
    own: leveldb::on_disk(Row::LeveldbSets),
    parameters: parameter::LEVELED_ON_DISKS,
    placement: leveldb::fitted,
    compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};

fn compaction(system: &System, store: &StoreShape, _: Arc<dyn ZonesSource>) -> Arc<dyn Compaction> {
    Arc::new(Leveled::new(options(system, store)))
}

/// LevelDB's compaction, with sets.
pub(super) fn options(system: &System, store: &StoreShape) -> LeveledOptions {
    let level1_size: ByteCount = leveldb::level1_size(store);
    LeveledOptions { sets: true, ..system.leveled(store, level1_size) }
}
