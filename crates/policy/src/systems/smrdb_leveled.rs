//! `smrdb-leveled`: LevelDB's organisation with bands as tables (Pitchumani, Hughes and Miller,
//! "SMRDB: key-value data store for shingled magnetic recording disks", SYSTOR '15, and the first
//! author's thesis, section 3.2.3, where it is called "LOC"). The baseline of `smrdb`.
//!
//! 1. Each table is as large as a band, and lies in a band of its own. A disk of bands with a
//!    random-access region is a zoned device here: a band is a zone, and the random-access region
//!    is its conventional zones. See [`WholeZones`] for tables that are smaller than a band.
//! 2. Compaction is LevelDB's, see [`Leveled`](crate::Leveled) and [`leveldb`]: several levels, all
//!    but level 0 without overlap; a compaction starts at four runs in level 0, and writers are
//!    slowed from eight on. A compaction reads and writes every band of the next level that it
//!    overlaps, though it may bring only one key to it.
//! 3. When a band's table is deleted, the band is free.
//!
//! The log is the engine's: every write goes to a log band first, as in the thesis.
//!
//! # Where it departs from LevelDB
//! - Flushes go to level 0 and not, where nothing of their keys is on the way, to level 2
//!   (`flush_level`). Tables of level 0 follow one another from band to band, but a table of
//!   another level is whole in its band: flushes that make a little more than a quarter of a band
//!   would leave a quarter of it empty.
//! - Several moves are one commit (`moves_together`).
//!
//! # Where the thesis is silent
//! - The size of level 1. It is LevelDB's two and a half memtables, and each further level is ten
//!   times as large.
//! - Where bands are too large for a small store, a band is divided evenly among tables; where they
//!   are smaller than 16 MiB, a table owns several, see `bluefs`.
//! - The memtable is as large as a band there. Here its size is an option of the store and not of
//!   the system: with `memtable_size` a little below the band, a flush fills a band. A memtable
//!   takes more memory than its table takes of a band.
//! - Without a free band, tables share bands and a collector empties some, as under `bluefs`.

use std::sync::Arc;

use super::{Row, RowParts, System, bluefs, leveldb, parameter};
use crate::{Greedy, WholeZones};

pub(super) const PARTS: RowParts = RowParts {
    name: "smrdb-leveled",
    summary: "LevelDB's compaction; a table owns a band, which is free when it is deleted",
    live_max: 60,
    own: own(),
    parameters: parameter::LEVELED,
    placement: |_| Arc::new(WholeZones),
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: |_, store| bluefs::table_size(store),
};

const fn own() -> System {
    let leveldb = leveldb::row(Row::SmrdbLeveled);
    // The collector works when it must.
    System { free_min: 0, gain_min: 25, flush_level: 0, moves_together: None, ..leveldb }
}
