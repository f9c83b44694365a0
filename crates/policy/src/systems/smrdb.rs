//! `smrdb`: two levels of overlapping bands (Pitchumani, Hughes and Miller, "SMRDB: key-value data
//! store for shingled magnetic recording disks", SYSTOR '15, and the first author's thesis, chapter
//! 3, where it is called "SOC").
//!
//! 1. A table is a band, with its filter and its index inside (section 3.2.2). The thesis has a
//!    disk of bands with a random-access region. Here that is a zoned device: a band is a zone, and
//!    the region is its conventional zones, of which the superblock takes the
//!    first; the journal lies in bands. [`WholeZones`] has the rule for tables that are smaller
//!    than a band.
//! 2. Level 0 holds flushed tables, level 1 is mostly ordered, and bands of either may overlap.
//!    [`Bands`] decides which are merged, by how sequential they are.
//! 3. When a table that shares its band with no other is deleted, the band is free.
//! 4. A compaction of level 0 starts at four runs, and writers are slowed from eight on, as in
//!    LevelDB (section 3.3.2). `level0_runs` and `level0_slow` trade inserts against scans (section
//!    3.2.3): with higher values, less is rewritten, and reads meet more bands. `overlap_bands`
//!    does the same for level 1.
//!
//! # Where the thesis is silent
//! - In the thesis the memtable is as large as a band. Here its size is an option of the store.
//!   With a `memtable_size` a little below the band's size, the table of a flush fits in a band.
//! - Where bands are too large for a small store, a band is divided evenly among tables. Where they
//!   have at most 8 MiB, a table may own several; see `bluefs`. Without zones, as over a plain
//!   directory, a table is as large as a memtable, but 16 MiB at most.
//! - Without a free band, tables share bands. A greedy collector works as under `bluefs`.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, bluefs, parameters};
use crate::{Bands, BandsOptions, Compaction, Greedy, Throttle, WholeZones, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "smrdb",
    summary: "two levels of overlapping bands; those least in order are merged",
    suits: "comparison: SMRDB on bands",
    costs: "merges are long; reads search bands that overlap",
    live_max: 45,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    // The collector works when it must.
    own: System { throttle: Some(Throttle::Leveldb), ..System::row(Row::Smrdb, (0, 25)) },
    parameters: &[&[
        parameters::FREE_MIN,
        parameters::GAIN_MIN,
        parameters::LEVEL0_RUNS,
        parameters::LEVEL0_SLOW,
        parameters::LEVEL0_STOP,
        parameters::OVERLAP_BANDS,
        parameters::TABLE_SIZE,
        parameters::THROTTLE,
    ]],
    placement: |_| Arc::new(WholeZones::default()),
    compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: |_, store| bluefs::table_size(store),
};

fn compaction(system: &System, store: &StoreShape, _: Arc<dyn ZonesSource>) -> Arc<dyn Compaction> {
    let leveled = system.leveled(store, store.memtable_size);
    Arc::new(Bands::new(BandsOptions {
        level0_runs: leveled.level0_runs,
        level0_slow: leveled.level0_slow,
        level0_stop: leveled.level0_stop,
        throttle: leveled.throttle,
        overlap_bands: system.overlap_bands.map(|bands| usize::from(bands.max(1))),
        table_size: leveled.table_size,
        capacity: store.capacity.max(ByteCount(1)),
    }))
}
