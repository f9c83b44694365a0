//! `sliced`: tiers over one last level, which is merged with them in slices. It is our own system.
//!
//! 1. Levels collect runs. A level with `tier_runs` runs or more goes down as a whole, and becomes
//!    one run of the next level. Of the deepest of these *tiers*, slices go down into the last
//!    level, at a pointer that sweeps the keys. See [`Sliced`].
//! 2. Each level has its own open zones, see [`LevelSeparated`]. Zones of the last level and of
//!    large runs die whole after the pointer, those of small runs with the next merge of their
//!    tier.
//! 3. The tiers together hold `tier_share` percent of the last level, or less where fewer zones are
//!    free. The number of levels is the smallest at which that is at most twice `tier_runs` runs of
//!    the deepest tier, in a store that is full.
//! 4. The sweep gives zones back, so there is no collector as a rule. A greedy one works when space
//!    is wanted all the same ([`OnDemand`]).
//! 5. Data that meets nothing older goes straight to the last level.
//!
//! Cost: a read may have to look into many runs, and tiers hide entries that take space.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, leveldb, parameters};
use crate::{
    Compaction, Greedy, LEVELS_MAX, LevelSeparated, OnDemand, Sliced, SlicedOptions, TieredOptions,
    ZonesSource,
};

pub(super) const PARTS: RowParts = RowParts {
    name: "sliced",
    summary: "tiers over one last level, into which they go in slices, by a sweep",
    suits: "many writes that must not wait long, few scans",
    costs: "reads search most runs; more space than `tiered` by default",
    live_max: 70,
    tables_together: 1,
    io_size: ByteCount::mib(4),
    own: own(),
    parameters: &[&[
        parameters::FREE_MIN,
        parameters::GAIN_MIN,
        parameters::TABLE_SIZE,
        parameters::TIER_RUNS,
        parameters::TIER_SHARE,
    ]],
    placement: |_| Arc::new(LevelSeparated),
    compaction,
    reclaim: |system| Arc::new(OnDemand(Greedy::of(system))),
    table_size: leveldb::table_size,
};

/// Runs of a tier. More would be fewer rewrites and more runs to read.
const TIER_RUNS: u16 = 8;

/// The number of tables in a slice where there are no zones.
const TABLES_OF_A_SLICE: u64 = 16;

const fn own() -> System {
    let mut system = System::row(Row::Sliced, (0, 25));
    system.tier_runs = TIER_RUNS;
    system
}

fn compaction(
    system: &System,
    store: &StoreShape,
    zones: Arc<dyn ZonesSource>,
) -> Arc<dyn Compaction> {
    let runs = usize::from(system.tier_runs.max(2));
    let share = u64::from(system.tier_share.max(1));
    let table_size = system.table_size(store);
    let tiers = TieredOptions {
        runs,
        level0_slow: runs * 2,
        level0_stop: runs * 3,
        levels: levels(store, runs as u64, share),
        table_size,
        ..TieredOptions::default()
    };
    let zone_capacity = store.zone_capacity.unwrap_or(ByteCount(0));
    let slice = zone_capacity.max(ByteCount(table_size.0.saturating_mul(TABLES_OF_A_SLICE)));
    let tier_most = runs * 2;
    let memtable_size = store.memtable_size;
    let options = SlicedOptions { tiers, share, tier_most, slice, zone_capacity, memtable_size };
    Arc::new(Sliced::new(options, zones))
}

/// Level 0, as many further tiers as the deepest needs to be of few runs, and the last level.
fn levels(store: &StoreShape, runs: u64, share: u64) -> usize {
    let tier = u128::from(store.capacity.0) * u128::from(share) / u128::from(100 + share);
    let mut most = u128::from(store.memtable_size.0.max(1)) * 2 * u128::from(runs);
    let mut levels = 2;
    while most < tier && levels < LEVELS_MAX {
        most *= u128::from(runs);
        levels += 1;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_tier_of_a_full_store_has_at_most_twice_the_runs_of_a_tier() {
        let of = StoreShape::without_zones;
        // A fifth of 70 GiB is 14 GiB: more than 16 runs of 256 MiB, so that runs are of 2 GiB.
        assert_eq!(levels(&of(ByteCount::gib(70), ByteCount::mib(4)), 8, 25), 5);
        assert_eq!(levels(&of(ByteCount::gib(70), ByteCount::mib(64)), 8, 25), 4);
        assert_eq!(levels(&of(ByteCount::mib(1), ByteCount::mib(64)), 8, 25), 2);
        assert_eq!(levels(&of(ByteCount(u64::MAX), ByteCount(0)), 2, 400), LEVELS_MAX);
    }
}
