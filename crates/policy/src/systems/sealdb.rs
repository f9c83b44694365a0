//! `sealdb`: leveled compaction by sets, on raw shingled tracks (Yao et al., "A Set-aware Key-Value
//! Store on Shingled Magnetic Recording Drives with Dynamic Band", MSST '18).
//!
//! 1. Compaction is LevelDB's, with two exceptions: a merge that writes a set ends where the next
//!    victim begins (`whole_inputs` off), and it may take along the remaining tables of mostly dead
//!    sets next before its keys (`victim=bounded`, `rest_max`). The tables that a merge writes into
//!    level 2 or a deeper level are a set, and a merge reads tables that lie one after the other by
//!    one request (`set_reads`). [`Sealdb`] tells the points that the paper leaves open, and their
//!    solutions here. Tables and levels have LevelDB's sizes (section IV; [`leveldb`]).
//! 2. The dynamic bands (section III-B) are made by the file system, which keeps a guard after a
//!    set where a write would destroy the data there. The parameter `fit` says into which free run
//!    a set goes. There is nothing to collect on such a device.
//! 3. On an ordinary disk, or one that hides fixed bands, the row is "LevelDB with sets" of figure
//!    14, with the two exceptions of point 1; `leveldb-sets` is without them.
//! 4. On a device of zones, tables go where those of `leveldb-greedy` go, and its collector empties
//!    zones.
//!
//! The paper's own row is `sealdb:victim=set,whole_inputs=on,fit=best`.
//!
//! # Why the next fit
//! The paper searches its list of free runs by size, which is a best fit. By the best fit, a hole
//! is filled as soon as a set fits in. The remainder of the hole is little more than a guard: a
//! fragment. By the next fit, a hole waits until the writer comes round, and by then neighbouring
//! holes have often become one. The table shows fragments in percent of the occupied space, and
//! bytes written for one byte of users, at scale 1/32:
//!
//! | load, device | best | next |
//! |---|---|---|
//! | 40 GB, 16 GiB (`sealdb/fig13`) | 19.6 %, 11.4 | 13.4 %, 11.4 |
//! | 16 GB, 5 GiB, 70 % used (`sealdb/fits`) | 15.8 %, 9.5 | 9.6 %, 9.5 |
//! | 16 GB, 3.75 GiB, 92 % used (`sealdb/fits`) | 19.4 %, 18.0 | 14.1 %, 9.8 |

use std::sync::Arc;

use super::parts::TABLES_OF_A_SET;
use super::{Row, RowParts, StoreShape, System, leveldb, parameters};
use crate::{Compaction, Fit, Greedy, Sealdb, SealdbOptions, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "sealdb",
    summary: "leveled by sets, each written as one stretch; for raw shingled tracks",
    suits: "raw shingled tracks",
    costs: "guards and pieces between sets take space",
    live_max: 55,
    tables_together: TABLES_OF_A_SET,
    io_size: RowParts::IO_SIZE,
    own: own(),
    parameters: &[
        leveldb::PARAMETERS,
        &[
            parameters::FIT,
            parameters::REST_MAX,
            parameters::SET_READS,
            parameters::VICTIM,
            parameters::WHOLE_INPUTS,
        ],
    ],
    placement: leveldb::fitted,
    compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};

const fn own() -> System {
    let mut system = leveldb::row(Row::Sealdb);
    system.whole_inputs = false;
    // The paper names no merges for reads, and here each would rewrite a set.
    system.seek_cost = None;
    system.fit = Fit::Next;
    system
}

fn compaction(system: &System, store: &StoreShape, _: Arc<dyn ZonesSource>) -> Arc<dyn Compaction> {
    let leveled = system.leveled(store, leveldb::level1_size(store));
    let (victim, rest_max) = (system.victim, system.rest_max);
    Arc::new(Sealdb::new(SealdbOptions { leveled, victim, rest_max }))
}
