//! `geardb`: gear compaction over level-pure zones, which empty themselves (Yao et al., "GearDB: A
//! GC-free Key-Value Store on HM-SMR Drives with Gear Compaction", FAST '19).
//!
//! 1. A zone holds tables of one level, and each level writes to one zone (section 3.1), with the
//!    exceptions that are below. See [`LevelSeparated`].
//! 2. Compactions keep to compaction windows, 1/k of each level (`windows`; section 3.2 has 4), and
//!    go down level by level as far as windows overlap (section 3.3). [`Gear`] lists the
//!    compactions that do not keep to windows.
//! 3. When the last table of a window has been compacted, its zones are empty, but for the last
//!    one, of which the window may have had only a part, and for zones that another level shares.
//! 4. Tables and levels are LevelDB's (section 5), see [`leveldb`].
//!
//! # Variants
//! `variant=repaired`, which is the row's own, is all of the above, with what was found to be
//! missing in the paper. The other two are for comparisons; [`GearVariant`] has the differences.
//! - `variant=code` is gear compaction as the authors' code does it. Its tables are a memtable's,
//!   but of 4 MiB at most, and its compactions grow as LevelDB's do (`growth=25`).
//! - `variant=algorithm-1` is algorithm 1 as printed, without repairs. In a new store level 1 takes
//!   all data and is rewritten at every compaction, so it is for small stores and for stores that
//!   another variant has filled.
//!
//! Under both, writers are slowed by LevelDB's rule (`throttle=leveldb`) from 8 runs in level 0 on,
//! and stopped at 12, and each choice that only moves tables is a commit (`moves_together=1`),
//! unless parameters say otherwise: the authors built on LevelDB.
//!
//! The authors ran their code with memtables of 8 MiB, tables of 4 MiB and 20 MiB in level 1, which
//! is two and a half memtables, with about 990 whole tables - 4 GB - cached in memory, and only
//! tables on the drive. The cache and the place of the log are settings of an experiment; the
//! geardb experiments of the lab keep the settings of the paper's text, with memtables of 4 MiB.
//!
//! # Where the paper is silent
//! - The engine can write a merge by several workers, each to a zone of its own. Here one worker
//!   writes it, so that a level writes to one zone.
//! - If no free zone is left, or the device allows no further open zone, tables share a zone with
//!   another level. They leave it when they are compacted.
//! - As long as zones hold one level each, a level takes zones for its tables, three eighths more
//!   with `windows=4`, and four zones. A store may have less than that for all levels together, and
//!   be full although much of it is dead. Then writers wait for space, and a collector empties
//!   zones for them ([`LastResort`]). Before that it works only when a client asks for it. Zones
//!   that lost tables by range deletes are counted at the next merge.
//! - After another system's layout, tables in mixed zones are rewritten level by level, until no
//!   level spreads over more zones than that.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::parameter::{self, Parameter};
use super::{Row, RowParts, StoreShape, System, leveldb};
use crate::{
    Compaction, Gear, GearOptions, GearVariant, LastResort, LevelSeparated, LeveledOptions,
    MOVES_TOGETHER, Throttle, ZonesSource,
};

pub(super) const PARTS: RowParts = RowParts {
    name: "geardb",
    summary: "gear compaction; a zone holds tables of one level and empties with its window",
    live_max: 55,
    own: System::row(Row::Geardb, (0, 25)),
    parameters: PARAMETERS,
    placement: |_| Arc::new(LevelSeparated),
    compaction,
    reclaim: |_| Arc::new(LastResort),
    table_size,
};

const PARAMETERS: &[Parameter] = &[
    parameter::BOUND,
    parameter::BOUND_OF,
    parameter::FACTOR,
    parameter::FLUSH_LEVEL,
    parameter::GATHERED,
    parameter::GROWTH,
    parameter::LEVEL0_RUNS,
    parameter::LEVEL0_SLOW,
    parameter::LEVEL0_STOP,
    parameter::LEVEL1_SIZE,
    parameter::MOVES_TOGETHER,
    parameter::NEARLY_EMPTY,
    parameter::OVERFULL,
    parameter::SPREAD,
    parameter::TABLE_SIZE,
    parameter::THROTTLE,
    parameter::VARIANT,
    parameter::WINDOW_OF,
    parameter::WINDOWS,
];

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
