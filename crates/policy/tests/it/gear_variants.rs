//! Loads under the variants of gear compaction that are for comparisons: the authors' code, and
//! algorithm 1 as printed. [`Load::check`] holds after each flush, too: under neither does level 0
//! stay due, and the code keeps every level but the last within its limit. Under algorithm 1,
//! levels have no bound.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_policy::{
    ByteCount, Choice, Compaction, NoZones, Plan, StoreShape, System, Urgency, WriteRule,
};

use crate::compaction::tree;
use crate::gear_loads::{KEYS, Load};

const REPAIRED: &str = "geardb";
const CODE: &str = "geardb:variant=code";
const ALGORITHM_1: &str = "geardb:variant=algorithm-1";

fn count(load: &Load, what: &str) -> u64 {
    load.store.counts.get(what).copied().unwrap_or(0)
}

fn sizes(load: &Load) -> Vec<u64> {
    load.store.tree.levels.iter().map(|level| level.size().0).collect()
}

/// A store with this many random entries.
fn loaded(system: &str, entries: u32) -> (Load, Random) {
    let (mut load, mut random) = (Load::new(system), Random::seeded(1));
    load.random(entries, &mut random);
    (load, random)
}

/// The valid share of zones on average, over the last flushes.
fn valid(load: &Load) -> f64 {
    let last = &load.valid[load.valid.len() - 500..];
    last.iter().sum::<f64>() / last.len() as f64
}

fn shape(memtable_size: ByteCount) -> StoreShape {
    let (capacity, none) = (ByteCount(1 << 40), ByteCount(0));
    StoreShape { capacity, zone_capacity: None, guard: none, kept: none, memtable_size }
}

fn compaction(system: &str) -> Arc<dyn Compaction> {
    let system: System = system.parse().expect("a system");
    system.compaction(&shape(ByteCount(16)), Arc::new(NoZones))
}

#[test]
fn writers_are_slowed_as_by_leveldb_but_for_the_repaired_form() {
    let with_runs = |count: usize| {
        let runs: String = (0..count).map(|run| format!("level=0 run={run} a-m:10\n")).collect();
        tree(&runs)
    };
    for system in [CODE, ALGORITHM_1, "geardb:throttle=leveldb"] {
        let rules = [7, 8, 11, 12].map(|runs| compaction(system).write_rule(&with_runs(runs)));
        use WriteRule::{Delayed, Free, Stopped};
        assert_eq!(rules, [Free, Delayed, Delayed, Stopped], "{system}");
    }
    for system in [REPAIRED, "geardb:variant=code,throttle=paced"] {
        let rule = compaction(system).write_rule(&with_runs(12));
        assert!(matches!(rule, WriteRule::Paced(_)), "{system}: {rule:?}");
    }
    let early = compaction("geardb:level0_stop=9,variant=code").write_rule(&with_runs(9));
    assert_eq!(early, WriteRule::Stopped);
}

#[test]
fn the_code_has_smaller_tables_and_compactions_that_grow() {
    let table_size = |system: &str, memtable: u64| {
        let system: System = system.parse().expect("a system");
        system.table_size(&shape(ByteCount::mib(memtable))).0 >> 20
    };
    assert_eq!([2, 8].map(|memtable| table_size(CODE, memtable)), [2, 4]);
    assert_eq!([8, 64].map(|memtable| table_size(REPAIRED, memtable)), [8, 16]);
    let tree = tree("level=1 run=1 a-c:20 c-d:10 e-z:30\nlevel=2 run=1 a-d:10");
    let tables = |system: &str| match compaction(system).pick(&tree, &[], Urgency::Shape) {
        Some(Choice { plan: Plan::Merge(merge), .. }) => merge.inputs[0].parts.len(),
        other => panic!("{system}: {other:?}"),
    };
    assert_eq!((tables(CODE), tables("geardb:growth=0,variant=code")), (2, 1));
}

#[test]
fn by_the_code_dead_tables_lie_outside_of_windows() {
    let ((repaired, _), (code, _)) = (loaded(REPAIRED, 24_000), loaded(CODE, 24_000));
    let (ours, theirs) = (valid(&repaired), valid(&code));
    assert!(
        ours > theirs + 5.0,
        "{theirs:.1} % of zones is valid, {ours:.1} % where they keep to windows"
    );
}

#[test]
fn by_the_code_a_sequential_load_is_copied_once_and_goes_down_by_zones() {
    let mut load = Load::new(CODE);
    (0..KEYS).for_each(|key| load.put(key));
    // A run of level 0 that meets nothing is copied; of the next tables one was, while level 2 was
    // empty and had no range.
    let (flushed, merged) = (count(&load, "flushed"), count(&load, "merged"));
    assert_eq!(merged, flushed - sizes(&load)[0] + 16, "{:?}", load.store.counts);
    assert!(count(&load, "trivially moved") > flushed, "{:?}", load.store.counts);
    assert_eq!(load.shared_zones(), 0);
}

#[test]
fn by_algorithm_1_a_new_store_keeps_all_in_level_1_at_a_growing_price() {
    let (mut load, mut random) = (Load::new(ALGORITHM_1), Random::seeded(1));
    let mut prices = Vec::new();
    for _ in 0..4 {
        let before = count(&load, "merged");
        load.random(4_000, &mut random);
        prices.push(count(&load, "merged") - before);
    }
    let sizes = sizes(&load);
    assert!(sizes.len() == 2 && sizes[1] > 100 * 40, "level 1 has a limit of 40: {sizes:?}");
    assert!(prices.is_sorted() && prices[3] > 3 * prices[0], "{prices:?}");
}

#[test]
fn by_algorithm_1_a_sequential_load_stays_in_level_1_too() {
    let mut load = Load::new(ALGORITHM_1);
    (0..KEYS).for_each(|key| load.put(key));
    assert_eq!(sizes(&load), [48, u64::from(KEYS) - 48]);
    assert!(!load.store.counts.contains_key("trivially moved"), "{:?}", load.store.counts);
}

#[test]
fn by_algorithm_1_levels_grow_behind_a_window_that_nothing_meets_until_it_is_repaired() {
    let (mut load, mut random) = loaded(REPAIRED, 20_000);
    let before = sizes(&load);
    load.reopen(ALGORITHM_1);
    load.random(12_000, &mut random);
    let after = sizes(&load);
    // Of level 3's window a few keys are left that nothing meets: it is not renewed.
    assert!(after[3] < before[3] + before[3] / 20, "level 3: {before:?}, {after:?}");
    assert_eq!(before[4..], after[4..], "below it");
    assert!(after[2] > 10 * 400, "level 2 has a limit of 400: {after:?}");
    assert_eq!(load.shared_zones(), 0);
    load.reopen(REPAIRED);
    load.random(4_000, &mut random);
    let repaired = sizes(&load);
    assert!(repaired[2] < 2 * 400 && repaired[3] < 4_000, "{repaired:?}");
}

#[test]
fn deletes_take_all_data_with_them_but_by_algorithm_1_only_as_far_as_merges_go() {
    for (system, gone) in [(REPAIRED, true), (CODE, true), (ALGORITHM_1, false)] {
        let (mut load, _) = loaded(REPAIRED, 20_000);
        load.reopen(system);
        (0..KEYS).for_each(|key| load.delete(key));
        let left: u64 = sizes(&load).iter().sum();
        assert_eq!(left < 100, gone, "{system}: {left} entries are left");
    }
}

#[test]
fn a_store_is_opened_under_one_variant_after_the_other() {
    let (mut load, mut random) = loaded(REPAIRED, 16_000);
    for system in [CODE, ALGORITHM_1, REPAIRED, ALGORITHM_1, CODE, REPAIRED] {
        load.reopen(system);
        load.random(2_000, &mut random);
        let start = random.random_range(0..KEYS - 500);
        (start..start + 500).for_each(|key| load.put(key));
        (start..start + 500).step_by(3).for_each(|key| load.delete(key));
    }
}

#[test]
fn a_store_that_is_opened_anew_goes_on_as_if_it_had_been_open() {
    for system in [REPAIRED, CODE, ALGORITHM_1] {
        let after = |reopens: bool| {
            let (mut load, mut random) = loaded(REPAIRED, 16_000);
            load.reopen(system);
            for _ in 0..4 {
                load.random(500, &mut random);
                if reopens {
                    load.reopen(system);
                }
            }
            (load.store.tree, load.store.counts)
        };
        assert_eq!(after(true), after(false), "{system}");
    }
}

#[test]
fn without_zones_the_variants_windows_are_ranges_of_tables() {
    for system in [CODE, ALGORITHM_1] {
        let (mut load, mut random) = loaded(REPAIRED, 16_000);
        load.store.blind = true;
        load.reopen(system);
        let before = sizes(&load);
        load.random(4_000, &mut random);
        assert_ne!(sizes(&load)[3..], before[3..], "{system}");
    }
}
