//! `geardb`: gear compaction over level-pure zones, which empty themselves (Yao et al., "GearDB: A
//! GC-free Key-Value Store on HM-SMR Drives with Gear Compaction", FAST '19).
//!
//! 1. A zone holds tables of one level, and each level writes to one zone (section 3.1). See
//!    [`LevelSeparated`].
//! 2. Compactions keep to compaction windows, 1/k of each level (`windows`; section 3.2 has 4), and
//!    go down level by level as far as windows overlap (section 3.3). [`Gear`] lists the
//!    compactions that do not keep to windows.
//! 3. When the last table of a window has been compacted, its zones are empty, but for the last
//!    one, of which the window may have had only a part. Nothing else has to clean them.
//! 4. Tables and levels are LevelDB's (section 5), see [`leveldb`].
//!
//! `published=on` is gear compaction as the paper prints it, with the additions of the authors'
//! code; [`Gear`] lists the differences.
//!
//! # Where the paper is silent
//! - The engine can write a merge by several workers, each to a zone of its own. Here one worker
//!   writes it, so that a level writes to one zone.
//! - If no free zone is left, or the device allows no further open zone, tables share a zone with
//!   another level. They leave it when they are compacted.
//! - As long as zones hold one level each, a level takes zones for its tables, three eighths more
//!   with `windows=4`, and four zones. A store may have less than that for all levels together, and
//!   be full although much of it is dead. Then writers wait for space, and a collector empties
//!   zones for them ([`LastResort`]). It does nothing before. Zones that lost tables by range
//!   deletes are counted at the next merge.
//! - After another system's layout, tables in mixed zones are rewritten level by level, until no
//!   level spreads over more zones than that.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::parameter::{self, Parameter};
use super::{Row, RowParts, StoreShape, System, leveldb};
use crate::{Compaction, Gear, GearOptions, LastResort, LevelSeparated, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "geardb",
    summary: "gear compaction; a zone holds tables of one level and empties with its window",
    live_max: 55,
    own: System::row(Row::Geardb, (0, 25)),
    parameters: PARAMETERS,
    placement: |_| Arc::new(LevelSeparated),
    compaction,
    reclaim: |_| Arc::new(LastResort),
    table_size: leveldb::table_size,
};

const PARAMETERS: &[Parameter] = &[
    parameter::FACTOR,
    parameter::LEVEL0_RUNS,
    parameter::LEVEL1_SIZE,
    parameter::PUBLISHED,
    parameter::TABLE_SIZE,
    parameter::WINDOWS,
];

fn compaction(
    system: &System,
    store: &StoreShape,
    zones: Arc<dyn ZonesSource>,
) -> Arc<dyn Compaction> {
    let level0 = store.memtable_size.0.saturating_mul(system.level0_runs.into());
    let options = GearOptions {
        leveled: system.leveled(store, leveldb::level1_size(store)),
        windows: u32::from(system.windows.max(1)),
        level0_size: ByteCount(level0),
        published: system.published,
    };
    Arc::new(Gear::new(options, zones))
}
