//! `geardb`: gear compaction over zones that hold tables of one level (Yao et al., "GearDB: A
//! GC-free Key-Value Store on HM-SMR Drives with Gear Compaction", FAST '19).
//!
//! 1. As long as zones can be opened, a table goes to a zone of its level, and each level writes to
//!    one zone (section 3.1). See [`LevelSeparated`].
//! 2. Compactions keep to compaction windows, 1/k of each level (`windows`; 4 in section 3.2), and
//!    go down level by level as far as windows overlap (section 3.3). See [`Gear`].
//! 3. When the tables of a window have been compacted, zones that were wholly in the window are
//!    nearly or wholly empty.
//! 4. Tables and levels have LevelDB's sizes (section 5), see [`leveldb`].
//!
//! # Variants
//! The head of [`Gear`]'s module has the differences between the variants ([`GearVariant`]):
//!
//! - `variant=repaired` is the row's own: the paper, with repairs.
//! - `variant=code` is the authors' code. Its tables are as large as a memtable, but at most 4 MiB.
//!   Its compactions grow as LevelDB's do (`growth`), and tables that reads search without success
//!   are merged (`seek_cost`). The other variants have nothing merged for reads.
//! - `variant=algorithm-1` is algorithm 1 as printed. As long as level 2 is empty, its compactions
//!   go no deeper than level 1, and each rewrites the tables that it overlaps there. So this
//!   variant is for small stores, and for stores that another variant has filled.
//!
//! The last two also slow writers and commit moves as LevelDB does (`throttle=leveldb`,
//! `moves_together=1`). Parameters that are given replace these values.
//!
//! # Where the paper is silent
//! - One worker writes a merge, so that a level writes to one zone.
//! - Without a free zone, or where the device allows no further open zone, a table goes to a zone
//!   of another level.
//! - A level needs more zones than its tables fill: for its window, for parts of zones, and for the
//!   zone that is written. A small store may be full although much of it is dead. Then writers
//!   wait, and a collector empties zones for them ([`LastResort`]).
//! - `repaired` rewrites tables in zones that another system has mixed, where a level lies in too
//!   many zones. The other variants do not.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, gear_parameters, leveldb, parameters};
use crate::{
    Compaction, Gear, GearOptions, GearVariant, LastResort, LevelSeparated, LeveledOptions,
    MOVES_TOGETHER, Throttle, ZonesSource,
};

pub(super) const PARTS: RowParts = RowParts {
    name: "geardb",
    summary: "gear compaction; a zone holds tables of one level and empties with its window",
    suits: "random writes on drives that are at most half full",
    costs: "holds less: zones wait for their window",
    live_max: 55,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    own: System::row(Row::Geardb, (0, 25)),
    parameters: &[
        gear_parameters::ALL,
        &[
            parameters::FACTOR,
            parameters::FLUSH_LEVEL,
            parameters::GROWTH,
            parameters::LEVEL0_RUNS,
            parameters::LEVEL0_SLOW,
            parameters::LEVEL0_STOP,
            parameters::LEVEL1_SIZE,
            parameters::MOVES_TOGETHER,
            parameters::SEEK_COST,
            parameters::TABLE_SIZE,
            parameters::THROTTLE,
        ],
    ],
    placement: |_| Arc::new(LevelSeparated),
    compaction,
    reclaim: |_| Arc::new(LastResort),
    table_size,
};

/// The tables of the authors' code, at the most.
const CODE_TABLE_SIZE_MAX: ByteCount = ByteCount::mib(4);

/// LevelDB's growth of compactions, in tables.
const LEVELDB_GROWTH: u16 = 25;

fn table_size(system: &System, store: &StoreShape) -> ByteCount {
    let size = leveldb::table_size(system, store);
    match system.variant {
        GearVariant::Code => size.min(CODE_TABLE_SIZE_MAX),
        GearVariant::Repaired | GearVariant::Algorithm1 => size,
    }
}

fn compaction(
    system: &System,
    store: &StoreShape,
    zones: Arc<dyn ZonesSource>,
) -> Arc<dyn Compaction> {
    let level0 = store.memtable_size.0.saturating_mul(system.level0_runs.into());
    let (throttle, growth, moves_together) = match system.variant {
        GearVariant::Repaired => (Throttle::Paced, 0, MOVES_TOGETHER),
        GearVariant::Code => (Throttle::Leveldb, LEVELDB_GROWTH, 1),
        GearVariant::Algorithm1 => (Throttle::Leveldb, 0, 1),
    };
    let leveled = LeveledOptions {
        throttle: system.throttle.unwrap_or(throttle),
        growth: system.growth.unwrap_or(growth).into(),
        moves_together: system.moves_together.map_or(moves_together, usize::from),
        levels: LeveledOptions::default().levels,
        ..system.leveled(store, leveldb::level1_size(store))
    };
    let options = GearOptions {
        leveled,
        windows: u32::from(system.windows.max(1)),
        level0_size: ByteCount(level0),
        variant: system.variant,
        repairs: system.repairs,
    };
    Arc::new(Gear::new(options, zones))
}
