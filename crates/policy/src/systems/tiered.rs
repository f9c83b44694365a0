//! `tiered`: tiers of runs over one last run, with a zone for each level.
//!
//! Not a system of the papers: it is what few rewrites look like at their simplest, for comparison.
//!
//! 1. Levels collect runs. A level with `tier_runs` runs or more goes down whole, merged into one
//!    run or, where nothing overlaps, moved as one. The last level is one run. See [`Tiered`].
//! 2. Each level has its own open zones, see [`LevelSeparated`]. The runs of a tier come one after
//!    the other and go at once. So the zones of a tier die whole, but for the last one that each
//!    worker wrote, as long as no table is moved and each level finds zones of its own.
//! 3. There are as many levels as keep the deepest tier, when it is full, within an eighth of the
//!    store; two at least. With a smaller deepest tier, the last run would be rewritten more often.
//!    With a larger one, more of the space would hold entries that tiers hide.
//! 4. A collector works when it must: where zones are few, or after another system's layout.
//!
//! Cost: as many runs to consult as there are, and the space of the entries that the tiers hide.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, leveldb, parameter};
use crate::{Compaction, Greedy, LEVELS_MAX, LevelSeparated, Tiered, TieredOptions, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "tiered",
    summary: "tiers of runs over one last run; a zone holds tables of one level",
    live_max: 70,
    own: System::row(Row::Tiered, (0, 25)),
    parameters: &[
        parameter::FREE_MIN,
        parameter::GAIN_MIN,
        parameter::JOBS,
        parameter::TABLE_SIZE,
        parameter::TIER_RUNS,
    ],
    placement: |_| Arc::new(LevelSeparated),
    compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};

/// The share of the store that the tiers may take.
const TIERS_SHARE: u64 = 8;

fn compaction(system: &System, store: &StoreShape, _: Arc<dyn ZonesSource>) -> Arc<dyn Compaction> {
    let runs = usize::from(system.tier_runs.max(2));
    Arc::new(Tiered::new(TieredOptions {
        runs,
        level0_slow: runs * 2,
        level0_stop: runs * 3,
        levels: levels(store, runs as u64),
        table_size: system.table_size(store),
        jobs: usize::from(system.jobs.max(1)),
    }))
}

/// Level 0, as many further tiers as there is room for, and the last level.
fn levels(store: &StoreShape, runs: u64) -> usize {
    let most = ByteCount(store.capacity.0 / TIERS_SHARE);
    let mut tier = store.memtable_size.0.max(1).saturating_mul(runs);
    let mut levels = 2;
    while tier.saturating_mul(runs) <= most.0 && levels < LEVELS_MAX {
        tier *= runs;
        levels += 1;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_take_an_eighth_of_the_store_at_most() {
        let of =
            |capacity, memtable_size| StoreShape { capacity, zone_capacity: None, memtable_size };
        // 4 x 64 MiB, 1 GiB, 4 GiB, 16 GiB, and the last level.
        assert_eq!(levels(&of(ByteCount::gib(200), ByteCount::mib(64)), 4), 5);
        assert_eq!(levels(&of(ByteCount::gib(100), ByteCount::mib(64)), 4), 4);
        assert_eq!(levels(&of(ByteCount::mib(1), ByteCount::mib(64)), 4), 2);
        assert_eq!(levels(&of(ByteCount(u64::MAX), ByteCount(0)), 2), 61);
    }
}
