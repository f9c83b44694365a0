//! Tests of [`LoadAware`] around the deciders of all rows: which compactions are held back, the
//! legality of whole loads, the bound on written bytes, and goldens of single choices.

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_policy::{
    ByteCount, Choice, Compaction, Leveled, LeveledOptions, Load, LoadAware, LoadRule, NoZones,
    Plan, Row, StoreShape, System, Throttle, TreeView, Urgency,
};

use crate::compaction::{describe_plan, tree};
use crate::golden::{check, field, number};
use crate::replay::store::{Replay, Shape};

/// Tables and memtables of 16 entries.
const SHAPE: Shape = Shape { zones: 400, capacity: 64, memtable: 16, workers: 1 };

/// Enough scans to make any permitted rewrite pay.
const SCANS: Load = Load { written: ByteCount(1000), scans: 1000, seek: ByteCount(1000) };

/// The rows whose level 0 meets nothing in the next level.
const TIERED: [Row; 2] = [Row::Tiered, Row::Sliced];

fn aware(row: Row, rule: LoadRule) -> Arc<dyn Compaction> {
    let level1_size = Some(ByteCount(100_000));
    let system = System { load: rule, level1_size, tier_runs: 4, ..System::of(row) };
    let memtable_size = ByteCount(10);
    let (capacity, none) = (ByteCount(1 << 30), ByteCount(0));
    let store =
        StoreShape { capacity, zone_capacity: None, guard: none, kept: none, memtable_size };
    system.compaction(&store, Arc::new(NoZones))
}

/// `flushes` flushes over a level 1 that they would rewrite.
fn over_much(flushes: usize) -> TreeView {
    let runs = (0..flushes).rev().map(|run| format!("level=0 run={} a-z:10\n", run + 2));
    tree(&(runs.collect::<String>() + "level=1 run=1 a-z:1000\n"))
}

fn takes_level0(choice: &Choice) -> bool {
    match &choice.plan {
        Plan::Merge(merge) => merge.inputs.iter().any(|input| input.place.level == 0),
        Plan::TrivialMove(_) => false,
    }
}

#[test]
fn a_merge_that_rewrites_much_is_due_but_held_back_until_writers_would_wait() {
    for row in Row::ALL {
        let (own, held) = (aware(row, LoadRule::Off), aware(row, LoadRule::Aware));
        let pick = |decider: &Arc<dyn Compaction>, flushes, load: &Load| {
            decider.pick_under(&over_much(flushes), &[], Urgency::Shape, load)
        };
        let due = pick(&own, 5, &Load::default());
        assert!(due.as_ref().is_some_and(takes_level0), "{row:?}: {due:?}");
        // Tiers rewrite none of the next level.
        let expected = if TIERED.contains(&row) { due } else { None };
        for load in [Load::default(), SCANS] {
            assert_eq!(pick(&held, 5, &load), expected, "{row:?} under {load:?}");
        }
        let urgent = pick(&held, 6, &Load::default());
        assert_eq!(urgent, pick(&own, 6, &Load::default()), "{row:?}");
        assert!(urgent.as_ref().is_some_and(takes_level0), "{row:?}: {urgent:?}");
    }
}

#[test]
fn what_space_or_a_client_asks_for_is_the_rows_choice() {
    for row in Row::ALL {
        let (own, held) = (aware(row, LoadRule::Off), aware(row, LoadRule::Aware));
        for flushes in [1, 5] {
            let tree = over_much(flushes);
            let short = held.pick(&tree, &[], Urgency::Space);
            assert!(short.is_some(), "{row:?}");
            assert_eq!(short, own.pick(&tree, &[], Urgency::Space), "{row:?}");
            let whole = terrace_policy::Span::new(&b""[..], &b"\xff"[..]);
            let manual = own.manual_compaction(&tree, &[], &whole);
            assert_eq!(held.manual_compaction(&tree, &[], &whole), manual, "{row:?}");
        }
    }
}

#[test]
fn level_0_goes_before_overlapping_bands_where_writers_would_wait_and_only_there() {
    let letters: Vec<char> = ('a'..='z').collect();
    let narrow = letters.windows(2).map(|pair| format!(" {}-{}:90", pair[0], pair[1]));
    let bands = format!("level=1 run=2 a-z:10\nlevel=1 run=1{}\n", narrow.collect::<String>());
    let with = |flushes: usize| {
        let runs = (0..flushes).rev().map(|run| format!("level=0 run={} a-z:10\n", run + 3));
        tree(&(runs.collect::<String>() + &bands))
    };
    let (own, held) = (aware(Row::Smrdb, LoadRule::Off), aware(Row::Smrdb, LoadRule::Aware));
    let pick = |decider: &Arc<dyn Compaction>, flushes, urgency| {
        decider.pick_under(&with(flushes), &[], urgency, &SCANS).expect("a merge")
    };
    for flushes in [0, 6] {
        assert!(!takes_level0(&pick(&own, flushes, Urgency::Shape)), "bands have the higher score");
        let short = pick(&held, flushes, Urgency::Space);
        assert_eq!(short, pick(&own, flushes, Urgency::Space), "space is the row's");
    }
    assert!(takes_level0(&pick(&held, 6, Urgency::Shape)));
    // Nine older bytes for a newer one at least: not worth a slice.
    assert_eq!(held.pick_under(&with(0), &[], Urgency::Shape, &SCANS), None);
}

#[test]
fn a_small_merge_is_carried_out_for_scans_alone() {
    let small = tree("level=0 run=2 a-z:10\nlevel=1 run=1 a-z:30\n");
    for row in Row::ALL {
        let decider = aware(row, LoadRule::Aware);
        let pick = |load: &Load| decider.pick_under(&small, &[], Urgency::Shape, load);
        assert_eq!(pick(&Load::default()), None, "{row:?}");
        let paid = pick(&SCANS);
        // Tiers would only move it.
        let expected = !TIERED.contains(&row);
        assert_eq!(paid.as_ref().is_some_and(takes_level0), expected, "{row:?}: {paid:?}");
    }
}

/// A random load with scans in every other quarter of it; bytes written for one.
fn play(system: &str, rule: LoadRule) -> f64 {
    let system = System { load: rule, rewrite_max: 4, ..system.parse().expect("a system") };
    let mut store = Replay::new(&system, SHAPE);
    store.checks_choices = true;
    let (mut memtable, mut random) = (BTreeSet::new(), Random::seeded(1));
    for n in 0..3_000 {
        store.load = if n / 750 % 2 == 0 { Load::default() } else { SCANS };
        memtable.insert(random.random_range(0..3_000));
        if memtable.len() as u64 == SHAPE.memtable {
            store.flush(&mut memtable);
        }
    }
    assert!(store.checked > 100, "{system}: {} choices", store.checked);
    let count = |what| store.counts.get(what).copied().unwrap_or(0);
    (count("flushed") + count("merged")) as f64 / count("flushed") as f64
}

#[test]
fn under_any_row_plans_are_legal_and_an_eager_one_writes_most() {
    for row in Row::ALL {
        let [own, aware, eager, idle] = LoadRule::ALL.map(|rule| play(row.name(), rule));
        println!("{row:?}: {own:.1}, aware {aware:.1}, eager {eager:.1}, idle {idle:.1}");
        assert!(eager > 2.0 * own && eager > 4.0 * aware, "{row:?}: {own} {aware} {eager}");
        assert_eq!(idle.to_bits(), own.to_bits(), "{row:?}: the store is never at rest");
        // Five for each of four levels, and one for the flush.
        assert!(aware < 1.0 + 4.0 * 5.0, "{row:?}: {aware}");
    }
}

#[test]
fn what_tiers_take_along_is_legal_under_any_limit() {
    for along_max in [0, 1, 4, 20, 100] {
        for rule in [LoadRule::Off, LoadRule::Aware] {
            let written = play(&format!("tiered:along_max={along_max}"), rule);
            println!("along_max={along_max}, {rule:?}: {written:.1}");
            assert!(written < 1.0 + 4.0 * 5.0, "{along_max}, {rule:?}: {written}");
        }
    }
}

fn leveled() -> Arc<dyn Compaction> {
    Arc::new(Leveled::new(LeveledOptions {
        level0_runs: 2,
        level0_slow: 5,
        level0_stop: 7,
        throttle: Throttle::Leveldb,
        level1_size: ByteCount(400),
        table_size: ByteCount(10),
        levels: 4,
        ..LeveledOptions::default()
    }))
}

#[test]
fn leveled_compaction_is_carried_out_once_it_pays() {
    check("compaction-load-aware", |input| {
        let first = input.lines().next().unwrap_or_default();
        let seek = ByteCount(10);
        let written = ByteCount(number(first, "written").unwrap_or(100));
        let load = Load { written, scans: number(first, "scans").unwrap_or(0), seek };
        let rule = match field(first, "load") {
            Some("eager") => LoadRule::Eager,
            Some("idle") => LoadRule::Idle,
            _ => LoadRule::Aware,
        };
        let capacity = ByteCount(number(first, "capacity").unwrap_or(100_000));
        let decider = LoadAware::new(leveled(), rule, 4, capacity);
        let urgency = if first.contains("rest") { Urgency::Rest } else { Urgency::Shape };
        let choice = decider.pick_under(&tree(input), &[], urgency, &load);
        choice.map_or("nothing".into(), |choice| describe_plan(&choice.plan))
    });
}

#[test]
fn merges_after_point_reads_are_the_rows_unless_merges_have_to_pay() {
    let options = LeveledOptions { seek_cost: ByteCount(1 << 14), ..LeveledOptions::default() };
    let row: Arc<dyn Compaction> = Arc::new(Leveled::new(options));
    let tree = tree("level=1 run=5 a-d:10\nlevel=2 run=2 a-c:10\n");
    let searched = tree.runs(1)[0].segments[0].file;
    let table = ByteCount(4 << 20);
    let own = row.pick_after_seeks(&tree, &[], searched);
    assert!(own.is_some() && row.seeks_allowed(table) == Some(256));
    for rule in LoadRule::ALL {
        let decider = LoadAware::new(Arc::clone(&row), rule, 4, ByteCount::gib(1));
        let after = decider.pick_after_seeks(&tree, &[], searched);
        let (choice, allowed) = match rule {
            LoadRule::Aware => (None, None),
            LoadRule::Off | LoadRule::Eager | LoadRule::Idle => (own.clone(), Some(256)),
        };
        assert_eq!((after, decider.seeks_allowed(table)), (choice, allowed), "{rule:?}");
    }
}
