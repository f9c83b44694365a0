//! `tiered`: tiers of runs over one last run, with a zone for each level. It is not a system of a
//! paper, but a simple case of few rewrites, for comparison.
//!
//! 1. Levels collect runs. A level with `tier_runs` runs or more goes down as a whole, and becomes
//!    one run of the next level. The last level is one run. See [`Tiered`].
//! 2. Each level has its own open zones, see [`LevelSeparated`]. A *tier* is a level above the
//!    last. Its runs are written one after the other and die together, so most zones of a tier die
//!    whole.
//! 3. The number of levels is the largest at which the deepest tier, when it is full, is at most an
//!    eighth of the store, but at least two. A smaller tier would cause more rewrites of the last
//!    run. A larger one would hide more entries.
//! 4. A greedy collector works when space is wanted, or few zones are spare ([`Greedy`]).
//!
//! Cost: a read may have to look into many runs, and tiers hide entries that take space.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::{Row, RowParts, StoreShape, System, leveldb, parameters};
use crate::{Compaction, Greedy, LEVELS_MAX, LevelSeparated, Tiered, TieredOptions, ZonesSource};

pub(super) const PARTS: RowParts = RowParts {
    name: "tiered",
    summary: "tiers of runs over one last run; a zone holds tables of one level",
    suits: "many writes, few scans",
    costs: "reads search more runs; a put can wait for a merge of the last level",
    live_max: 70,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    own: System::row(Row::Tiered, (0, 25)),
    parameters: &[&[
        parameters::ALONG_MAX,
        parameters::FREE_MIN,
        parameters::GAIN_MIN,
        parameters::JOBS,
        parameters::TABLE_SIZE,
        parameters::TIER_RUNS,
    ]],
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
        along_max: system.along_max.into(),
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
        let of = StoreShape::without_zones;
        // 4 x 64 MiB, 1 GiB, 4 GiB, 16 GiB, and the last level.
        assert_eq!(levels(&of(ByteCount::gib(200), ByteCount::mib(64)), 4), 5);
        assert_eq!(levels(&of(ByteCount::gib(100), ByteCount::mib(64)), 4), 4);
        assert_eq!(levels(&of(ByteCount::mib(1), ByteCount::mib(64)), 4), 2);
        assert_eq!(levels(&of(ByteCount(u64::MAX), ByteCount(0)), 2), 61);
    }
}
