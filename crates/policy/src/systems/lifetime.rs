//! `lifetime`: LL-compaction (Jung and Shin, "Lifetime-Leveling LSM-tree Compaction for ZNS SSD",
//! HotStorage '22).
//!
//! 1. A pointer sweeps each level in key order, taking whatever lies between it and its next place
//!    in the level below along; so tables die in the order in which they were written. The steps,
//!    and the compactions that ignore the pointer, are those of [`Sweep`].
//! 2. Each level has its own open zone, and a zone holds one interval of keys in that order. What
//!    the very next compaction will consume goes to the T-zone. See [`ByLifetime`].
//! 3. Zones die whole behind the pointer. There is no collector: only when somebody waits for
//!    space, or a client asks for it, the zone with the fewest live bytes is emptied
//!    ([`LastResort`]).
//!
//! Space that it takes under loads that come to all keys: its tables, a quarter of them that is
//! dead between the pointers, and four zones for each level. A load that stays with few keys at a
//! time leaves dead data where no pointer comes for long, up to as much as there is live data. A
//! store that has less room than that needs step 3's exception.
//!
//! # Where the slides are silent
//! - Step 3's limit: one further table. With the ten that each of them meets that is what LevelDB
//!   takes for a compaction that it enlarges, 25 tables (`extra_tables`).
//! - How many write at once: one, as in LevelDB. The engine can carry out a large merge by several
//!   workers, and each of them writes to a zone of its own. An interval of keys is then spread over
//!   as many zones, and so many instead of one are partly dead behind the pointer that writes them,
//!   partly dead behind the one that takes from them, and partly written: with four workers some
//!   four zones more for each level, whatever the size of the store. Where zones are plenty and
//!   processors are what is short, `in_order=off` is the better choice.
//! - After another system's layout, it leaves mixed zones as they are: they become empty as the
//!   pointers pass over their tables.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, leveldb, parameter};
use crate::{ByLifetime, Compaction, LastResort, Sweep, SweepOptions, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "lifetime",
    summary: "leveled by sweeps in key order; zones die whole behind them, without a collector",
    // At 65, zones that die whole are too few, and each put pays for the collector of last resort.
    live_max: 60,
    own: System::row(Row::Lifetime, (0, 25)),
    parameters: &[
        parameter::EXTRA_TABLES,
        parameter::FACTOR,
        parameter::IN_ORDER,
        parameter::LEVEL0_RUNS,
        parameter::LEVEL1_SIZE,
        parameter::TABLE_SIZE,
        parameter::TZONE,
    ],
    placement: |_| Arc::new(ByLifetime),
    compaction,
    reclaim: |_| Arc::new(LastResort),
    table_size: leveldb::table_size,
};

fn compaction(system: &System, store: &StoreShape, _: Arc<dyn ZonesSource>) -> Arc<dyn Compaction> {
    Arc::new(Sweep::new(SweepOptions {
        leveled: system.leveled(store, leveldb::level1_size(store)),
        extra_tables: usize::from(system.extra_tables),
        tzone: system.tzone,
        in_order: system.in_order,
        zone_capacity: store.zone_capacity.unwrap_or(ByteCount(0)),
    }))
}
