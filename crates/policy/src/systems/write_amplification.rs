//! [`System::write_amplification`]: about how many bytes compactions write for one that is flushed,
//! in closed form, by the shape of the tree, for random overwrites of a store of `live` bytes.
//!
//! - *Levels.* Level 0 is merged as a whole, which writes it and level 1. A byte then goes down
//!   level by level, and meets in each older bytes in the ratio of that level to the one above: the
//!   sum over levels of `1 + size of the level / size of the one above`. The last level is as large
//!   as the live data.
//! - *Tiers.* Each tier writes a byte once. The last level is written whole when the deepest tier
//!   goes down: `tiers + 1 + live / deepest tier`.
//! - *Slices* ([`Row::Sliced`]): `tiers + 1 / (2 share) + 1`, where the deepest tier is held at a
//!   share of the last level.
//! - *Overlapping bands* ([`Row::Smrdb`]): a band goes through two levels, and meets at most the
//!   bands that may overlap, twice the square root of their number: `2 + 2 sqrt(bands)`.
//! - *Load.* Compactions that pay for scans write at most `rewrite_max` older bytes for each newer
//!   one of a level. Eager ones rewrite everything for each memtable.
//!
//! It counts neither the log and flushes, which write a byte once each, nor reclaim. Sets, windows
//! and gears are taken as levels; alignment and moves write less. So it is an estimate, of the size
//! that a healthy store has, and no bound: bytes many times beyond it have another cause than the
//! shape.

use terrace_env::ByteCount;

use super::{Row, StoreShape, System, leveldb};
use crate::LoadRule;

impl System {
    /// About how many bytes compactions write for one that is flushed, with `live` live bytes in
    /// the store: an estimate from the shape of the tree alone. At least 1.
    #[must_use]
    pub fn write_amplification(&self, store: &StoreShape, live: ByteCount) -> f64 {
        let live = (live.0 as f64).max(1.0);
        let memtable = (store.memtable_size.0 as f64).max(1.0);
        let shape = match self.row {
            Row::Sliced => self.of_slices(memtable, live),
            Row::Tiered => self.of_tiers(memtable, live),
            Row::Smrdb => self.of_bands(store, live),
            _ => self.of_levels(store, memtable, live),
        };
        match self.load {
            LoadRule::Off | LoadRule::Idle => shape,
            LoadRule::Aware => shape * (1.0 + f64::from(self.rewrite_max)),
            LoadRule::Eager => shape + live / memtable,
        }
    }

    fn of_levels(&self, store: &StoreShape, memtable: f64, live: f64) -> f64 {
        let level0 = memtable * f64::from(self.level0_runs.max(1));
        let own = match self.row {
            Row::Bluefs => level0,
            _ => leveldb::level1_size(store).0 as f64,
        };
        let level1 = self.level1_size.map_or(own, |size| size.0 as f64).max(1.0);
        let (mut above, mut target, mut cost) = (level0, level1, 0.0);
        for level in 1..self.levels.max(2) {
            // The last level takes the rest.
            let is_last = level + 1 == self.levels.max(2) || target >= live;
            let size = if is_last { live } else { target };
            cost += 1.0 + size / above;
            if is_last {
                break;
            }
            (above, target) = (target, target * f64::from(self.factor.max(2)));
        }
        cost.max(1.0)
    }

    fn of_tiers(&self, memtable: f64, live: f64) -> f64 {
        let (tiers, deepest) = self.tiers(memtable, live / 8.0);
        tiers + 1.0 + live / deepest
    }

    fn of_slices(&self, memtable: f64, live: f64) -> f64 {
        let share = f64::from(self.tier_share.max(1)) / 100.0;
        let (tiers, _) = self.tiers(memtable, live * share);
        tiers + 1.0 / (2.0 * share) + 1.0
    }

    /// How many tiers there are below level 0 where the deepest takes `most` bytes, and its size.
    fn tiers(&self, memtable: f64, most: f64) -> (f64, f64) {
        let runs = f64::from(self.tier_runs.max(2));
        let (mut tiers, mut deepest) = (0.0, memtable * runs);
        while deepest * runs <= most {
            (tiers, deepest) = (tiers + 1.0, deepest * runs);
        }
        (tiers, deepest)
    }

    fn of_bands(&self, store: &StoreShape, live: f64) -> f64 {
        let bands = (live / self.table_size(store).0 as f64).max(1.0);
        let most = self.overlap_bands.map_or(2.0 * bands.sqrt(), f64::from);
        2.0 + most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> StoreShape {
        StoreShape::without_zones(ByteCount::gib(4), ByteCount::mib(4))
    }

    fn written(system: &str, live: ByteCount) -> f64 {
        system.parse::<System>().unwrap().write_amplification(&shape(), live)
    }

    #[test]
    fn levels_are_met_one_after_the_other() {
        // 16 MiB into 16, then 160, then 1600 of which 1000 are there.
        let whole = written("bluefs", ByteCount::mib(1000));
        assert!((whole - (2.0 + 11.0 + 7.25)).abs() < 1e-9, "{whole}");
        assert_eq!(written("bluefs", ByteCount::mib(8)), 1.5);
        assert!(written("bluefs:factor=4", ByteCount::mib(1000)) < whole);
    }

    #[test]
    fn tiers_write_less_and_eager_merges_write_most() {
        let live = ByteCount::gib(1);
        let [leveled, tiered, sliced] =
            ["bluefs", "tiered", "sliced"].map(|row| written(row, live));
        assert!(sliced < tiered && tiered < leveled, "{sliced} {tiered} {leveled}");
        assert!(written("bluefs:load=eager", live) > 256.0);
    }

    #[test]
    fn every_row_has_a_number_that_grows_with_what_is_live() {
        for system in System::all() {
            let of = |mib| system.write_amplification(&shape(), ByteCount::mib(mib));
            let all = [of(0), of(10), of(100), of(1000), of(4000)];
            assert!(all[0] >= 1.0 && all.is_sorted(), "{}: {all:?}", system.name());
            assert!(all[4] < 200.0, "{}: {all:?}", system.name());
        }
    }
}
