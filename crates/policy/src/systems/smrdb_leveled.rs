//! `smrdb-leveled`: LevelDB's organisation with bands as tables, the baseline of `smrdb`
//! (Pitchumani, Hughes and Miller, "SMRDB: key-value data store for shingled magnetic recording
//! disks", SYSTOR '15, and the first author's thesis, section 3.2.3, where it is called "LOC").
//!
//! 1. A table is as large as a band, and a table of a level below level 0 lies in a band of its
//!    own. The thesis has a disk of bands with a random-access region. Here that is a zoned device:
//!    a band is a zone, and the region is its conventional zones. [`WholeZones`] has the rule for
//!    tables that are smaller than a band.
//! 2. Compaction is LevelDB's, see [`Leveled`](crate::Leveled) and [`leveldb`]. There are several
//!    levels, and tables of a level do not overlap, except in level 0. A compaction starts at four
//!    runs in level 0, and writers are slowed from eight on. A merge rewrites each band of the next
//!    level that it overlaps, even if it brings only one key to it.
//! 3. When a table that shares its band with no other is deleted, the band is free.
//!
//! # Where it departs from LevelDB
//! - Flushes go to level 0; LevelDB may put them into level 2 (`flush_level`). Tables of level 0
//!   follow one another from band to band, but a table of another level is whole in its band. In
//!   level 2, flushed tables of a little more than a quarter of a band each would leave nearly a
//!   quarter of it empty.
//! - Several moves are one commit (`moves_together`).
//!
//! # Where the thesis is silent
//! - The size of level 1. It is LevelDB's two and a half memtables, and each further level is ten
//!   times as large.
//! - Where bands are larger than 256 MiB, or too large for a small store, a band is divided evenly
//!   among tables. Where they have at most 8 MiB, a table may own several. Both as in `bluefs`.
//! - In the thesis the memtable is as large as a band. Here its size is an option of the store.
//!   With a `memtable_size` a little below the band's size, the table of a flush fits in a band.
//! - Without a free band, tables share bands. A greedy collector works as under `bluefs`.

use std::sync::Arc;

use super::{Row, RowParts, System, bluefs, leveldb};
use crate::{Greedy, WholeZones};

pub(super) const PARTS: RowParts = RowParts {
    name: "smrdb-leveled",
    summary: "LevelDB's compaction; a table owns a band, which is free when it is deleted",
    suits: "comparison: LevelDB on bands",
    costs: "merges rewrite level by level",
    live_max: 60,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    own: own(),
    parameters: &[leveldb::PARAMETERS],
    placement: |_| Arc::new(WholeZones::default()),
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: |_, store| bluefs::table_size(store),
};

const fn own() -> System {
    let leveldb = leveldb::row(Row::SmrdbLeveled);
    // The collector works when it must. The thesis names no merges for reads.
    System {
        free_min: 0,
        gain_min: 25,
        flush_level: 0,
        moves_together: None,
        seek_cost: None,
        ..leveldb
    }
}
