//! `lifetime`: LL-compaction (Jung and Shin, "Lifetime-Leveling LSM-tree Compaction for ZNS SSD",
//! HotStorage '22).
//!
//! 1. A pointer sweeps each level between level 0 and the last one in key order, so that tables die
//!    in the order in which they were written. See [`Sweep`] for the steps, and for compactions
//!    that ignore the pointer.
//! 2. Each level has its own open zone, which merges fill with one interval of keys after the
//!    other. Tables that the next compaction will consume go to the T-zone. See [`ByLifetime`].
//! 3. Most zones die whole after the pointer, so there is no regular collector. When space is
//!    wanted, the zone with the fewest live bytes is emptied ([`LastResort`]).
//!
//! Dead data stays in a zone until the pointer has passed all tables of the zone. In replays of
//! uniform, skewed and mixed loads this is at most a quarter of the live data, and four zones for
//! each level (`tests/it/lifetime_loads.rs`). With a load that stays with few keys for long, it may
//! be more.
//!
//! # Where the slides are silent
//! - The limit of step 3 of [`Sweep`]: one further table (`extra_tables`).
//! - One worker writes a merge (`in_order`). With `in_order=off`, several workers each write to a
//!   zone of their own. An interval of keys is then spread over several zones, and more zones are
//!   partly dead.
//! - Zones that another system has mixed stay as they are, and become empty as the pointers pass
//!   over their tables.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, leveldb, parameters};
use crate::{ByLifetime, Compaction, LastResort, LeveledOptions, Sweep, SweepOptions, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "lifetime",
    summary: "leveled by sweeps in key order; zones die whole after them, without a collector",
    suits: "drives that are to hold much, under random writes",
    costs: "writes more than `tiered`; lags where the drive is nearly full",
    // At 65, zones that die whole are too few, and each put pays for the collector of last resort.
    live_max: 60,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    own: System::row(Row::Lifetime, (0, 25)),
    parameters: &[&[
        parameters::EXTRA_TABLES,
        parameters::FACTOR,
        parameters::IN_ORDER,
        parameters::LEVEL0_RUNS,
        parameters::LEVEL1_SIZE,
        parameters::TABLE_SIZE,
        parameters::TZONE,
    ]],
    placement: |_| Arc::new(ByLifetime),
    compaction,
    reclaim: |_| Arc::new(LastResort),
    table_size: leveldb::table_size,
};

fn compaction(system: &System, store: &StoreShape, _: Arc<dyn ZonesSource>) -> Arc<dyn Compaction> {
    let levels = LeveledOptions::default().levels;
    let leveled = system.leveled(store, leveldb::level1_size(store));
    Arc::new(Sweep::new(SweepOptions {
        leveled: LeveledOptions { levels, ..leveled },
        extra_tables: usize::from(system.extra_tables),
        tzone: system.tzone,
        in_order: system.in_order,
        zone_capacity: store.zone_capacity.unwrap_or(ByteCount(0)),
    }))
}
