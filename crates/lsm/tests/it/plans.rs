//! Plans of any shape, under the operations of `operations`: those of every system's decider, and
//! of [`Arbitrary`], which chooses legal plans, routes of flushes and places at random, one at a
//! time or several at once. Legal plans change no key's value. A store goes on when its decider is
//! replaced by another one. A plan that is illegal is refused and stops the engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use terrace_env::random::{Random, RngCore};
use terrace_env::store::MemoryStore;
use terrace_env::{ByteCount, FileId, ZoneId, runner, test_seeds};
use terrace_lsm::{Durability, Engine, EngineOptions, Error, KeySpaceId};
use terrace_policy::{
    Choice, Compaction, Cut, ExtentView, Input, LoadRule, Merge, Move, Part, Place, Plan, Pressure,
    Route, Row, RunId, SegmentView, Span, StoreShape, System, TreeView, Urgency, ZoneView,
    ZonesSource, ZonesView,
};

use crate::arbitrary::{Arbitrary, choice};
use crate::model::{self, batch, contents};
use crate::operations::Run;

/// Arbitrary legal plans under random operations; returns the number of additional plans.
pub(crate) fn arbitrary(seed: u64, jobs: usize) -> u64 {
    let decider = Arbitrary::new(jobs);
    runner::simulate(seed, || {
        let mut run = Run::under(seed, vec![Arc::clone(&decider) as Arc<dyn Compaction>]);
        for _ in 0..1200 {
            run.step();
        }
        run.check();
        run.engine.verify().unwrap();
    });
    assert!(decider.below.load(Ordering::Relaxed) > 10, "flushes go below level 0");
    decider.beside.load(Ordering::Relaxed)
}

#[test]
fn whatever_is_legal_leaves_every_key_as_it_is() {
    for seed in test_seeds(25) {
        assert_eq!(arbitrary(seed, 1), 0, "one plan at a time");
    }
}

#[test]
fn plans_that_share_no_key_and_age_leave_every_key_as_it_is_side_by_side() {
    for jobs in [2, 4] {
        let beside: u64 = test_seeds(4).map(|seed| arbitrary(seed, jobs)).sum();
        assert!(beside > 4, "{beside} plans of {jobs} at once were chosen beside others");
    }
}

#[test]
fn an_option_keeps_a_decider_from_having_several_plans_under_way() {
    for (limit, expected) in [(0, true), (1, false)] {
        let decider = Arbitrary::new(4);
        runner::simulate(3, || {
            let store = Arc::new(model::slow_store(3));
            let of = Arc::clone(&decider) as Arc<dyn Compaction>;
            let options = EngineOptions { jobs: limit, ..model::options() };
            let engine = Engine::open(store, of, options).unwrap();
            for number in 0..2000_u32 {
                let key = number.wrapping_mul(0x9e37_79b1).to_be_bytes().to_vec();
                let write = (KeySpaceId::DEFAULT, key, Some(vec![7; 60]));
                engine.write(batch(&[write]), Durability::Gathered).unwrap();
            }
            assert!(engine.stats().compactions > 0);
            engine.close().unwrap();
        });
        let beside = decider.beside.load(Ordering::Relaxed);
        assert_eq!(beside > 0, expected, "{beside} plans with a limit of {limit}");
    }
}

const TABLE: ByteCount = ByteCount::kib(6);
/// Number of tables in a zone, for deciders.
const TABLES: u64 = 8;

/// Tables in zones in the order of their creation, and those of a zone that is being written.
#[derive(Debug)]
struct InOrder;

impl ZonesSource for InOrder {
    fn placed(&self, files: &[FileId]) -> ZonesView {
        let zone_of = |file: &FileId| ZoneId((file.0 / TABLES) as u32);
        let newest = files.iter().map(zone_of).max();
        let extents =
            files.iter().map(|file| ExtentView { file: *file, zone: zone_of(file), size: TABLE });
        let zones = files.iter().map(zone_of).map(|zone| {
            let capacity = ByteCount(TABLE.0 * TABLES);
            let full = Some(zone) != newest;
            ZoneView { zone, capacity, written: if full { capacity } else { TABLE } }
        });
        ZonesView::new(zones.collect(), extents.collect())
    }
}

/// The decider of each row, with small levels, and its name; `jobs` plans at once, if it can.
fn rows(jobs: u16) -> Vec<(&'static str, Arc<dyn Compaction>)> {
    rows_under(jobs, LoadRule::Off)
}

/// The same, carried out by another rule.
fn rows_under(jobs: u16, load: LoadRule) -> Vec<(&'static str, Arc<dyn Compaction>)> {
    let decider = |own: System| {
        let own = System { jobs, load, ..own };
        let (level1_size, table_size) = (Some(ByteCount::kib(12)), Some(TABLE));
        let system =
            System { level0_runs: 2, level1_size, factor: 3, table_size, tier_runs: 3, ..own };
        let shape = StoreShape {
            capacity: ByteCount::mib(1),
            zone_capacity: Some(ByteCount(TABLE.0 * TABLES)),
            guard: ByteCount(0),
            kept: ByteCount(0),
            memtable_size: TABLE,
        };
        (own.name(), system.compaction(&shape, Arc::new(InOrder)))
    };
    let along = System { along_max: 3, ..System::of(Row::Tiered) };
    System::all().into_iter().chain([along]).map(decider).collect()
}

#[test]
fn the_decider_of_every_row_agrees_with_an_ordered_map() {
    agrees_with_an_ordered_map(rows(1));
}

#[test]
fn so_does_it_where_merges_are_held_back_or_never_end() {
    for rule in [LoadRule::Aware, LoadRule::Eager, LoadRule::Idle] {
        agrees_with_an_ordered_map(rows_under(2, rule));
    }
}

#[test]
fn so_does_every_decider_that_can_tell_what_is_free_beside_others() {
    for jobs in [2, 4] {
        let mut deciders = rows(jobs);
        deciders.retain(|(_, decider)| decider.jobs_max() > 1);
        assert!(deciders.len() > 3, "leveled ones and the tiered one: {deciders:?}");
        agrees_with_an_ordered_map(deciders);
    }
}

fn agrees_with_an_ordered_map(deciders: Vec<(&'static str, Arc<dyn Compaction>)>) {
    for (name, decider) in deciders {
        for seed in test_seeds(3) {
            runner::simulate(seed, || {
                let mut run = Run::under(seed, vec![Arc::clone(&decider)]);
                // Operands are small, and trees of them have few levels.
                run.merging = run.merging.min(0.1);
                for _ in 0..1400 {
                    run.step();
                }
                run.check();
                let depth = run.engine.stats().levels.len();
                let least = if name == "smrdb" { 2 } else { 3 };
                assert!(depth >= least, "{name}: {depth} levels show little of a decider");
                run.engine.compact_all().unwrap();
                run.check();
                let runs: u64 = run.engine.stats().levels.iter().map(|level| level.runs).sum();
                // In a tree by levels, tables without overlap may stay in place.
                let is_whole = name == "tiered" || name == "smrdb";
                assert!(runs <= 1 || !is_whole, "{name}: {runs} runs are left");
                run.engine.verify().unwrap();
            });
        }
    }
}

#[test]
fn a_store_goes_on_under_another_decider_and_comes_back() {
    for seed in test_seeds(10) {
        runner::simulate(seed, || {
            let mut random = Random::seeded(seed);
            let mut rows = rows(1);
            rows.sort_by_cached_key(|_| random.next_u64());
            // Between two rows: trees that no row would make.
            let of_rows = rows.into_iter().flat_map(|(_, row)| [Arbitrary::new(1) as _, row]);
            let deciders: Vec<Arc<dyn Compaction>> = of_rows.collect();
            let mut run = Run::under(seed, deciders);
            for _ in 0..1200 {
                run.step();
            }
            run.check();
            run.engine.compact_all().unwrap();
            run.check();
        });
    }
}

/// A decider that wants the newest run below the oldest.
#[derive(Debug)]
struct Overtaking;

impl Compaction for Overtaking {
    fn name(&self) -> &'static str {
        "overtaking"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], _: Urgency) -> Option<Choice> {
        let [newest, .., _] = tree.runs(0) else { return None };
        let segment = &newest.segments[0];
        let part = Part { file: segment.file, span: segment.span.clone() };
        let (from, to) = (Place { level: 0, run: newest.id }, Place { level: 3, run: RunId(1) });
        Some(choice(Plan::TrivialMove(vec![Move { part, from, to: Some(to) }]), &[]))
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }
}

#[test]
fn an_illegal_plan_is_refused_and_stops_the_engine_before_it_does_harm() {
    runner::simulate(1, || {
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::new());
        let engine = Engine::open(store, Arc::new(Overtaking), model::options()).unwrap();
        for value in [b"old", b"new"] {
            let write: model::Write = (KeySpaceId(0), b"key".to_vec(), Some(value.to_vec()));
            engine.write(batch(&[write]), Durability::Gathered).unwrap();
            engine.flush().ok();
        }
        let stopped = engine.wait_idle().unwrap_err();
        let Error::Stopped { cause, .. } = &stopped else { panic!("{stopped}") };
        assert!(matches!(&**cause, Error::IllegalPlan { decider: "overtaking", .. }), "{stopped}");
        assert_eq!(contents(&engine).into_values().next().unwrap(), b"new");
    });
}

/// A decider that sends the first flush into the last level, and merges the next two into level 1.
#[derive(Debug)]
struct TwoOverOne;

impl Compaction for TwoOverOne {
    fn name(&self) -> &'static str {
        "two over one"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], _: Urgency) -> Option<Choice> {
        let part = |s: &SegmentView| Part { file: s.file, span: s.span.clone() };
        let place = |run| Place { level: 0, run };
        match tree.runs(0) {
            [only] if tree.runs(3).is_empty() => {
                let (from, to) = (place(only.id), Some(Place { level: 3, run: RunId(1) }));
                let moves = only.segments.iter().map(|s| Move { part: part(s), from, to });
                Some(choice(Plan::TrivialMove(moves.collect()), &[]))
            }
            runs @ [_, _] => {
                let inputs = runs.iter().map(|run| Input {
                    place: place(run.id),
                    parts: run.segments.iter().map(part).collect(),
                });
                let (to, cut) = (Place { level: 1, run: RunId(1) }, Cut::at(ByteCount(300)));
                let routes = vec![Route { end: None, to, stream: 17, cut }];
                let merge =
                    Merge { inputs: inputs.collect(), routes, moves: Vec::new(), set: false };
                Some(choice(Plan::Merge(merge), &[]))
            }
            _ => None,
        }
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }
}

#[test]
fn a_delete_stays_though_the_newest_input_ended_with_an_earlier_subcompaction() {
    runner::simulate(1, || {
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::new());
        let engine = Engine::open(store, Arc::new(TwoOverOne), model::options()).unwrap();
        let write = |writes: Vec<model::Write>| {
            engine.write(batch(&writes), Durability::Gathered).unwrap();
            engine.flush().unwrap();
            engine.wait_idle().unwrap();
        };
        let key = |first: u8, number: u8| (KeySpaceId(0), vec![first, number]);
        let put = |(space, key): (KeySpaceId, Vec<u8>)| {
            let mut value = vec![0; 200];
            Random::seeded(u64::from(key[1])).fill_bytes(&mut value);
            (space, key, Some(value))
        };
        let delete = |(space, key): (KeySpaceId, Vec<u8>)| (space, key, None);
        write((0..40).map(|n| put(key(b'z', n))).collect());
        let filler = (0..40).map(|n| put(key(b'm', n)));
        write(filler.chain((0..40).map(|n| delete(key(b'z', n)))).collect());
        write(vec![put(key(b'a', 0))]);
        let stats = engine.stats();
        assert!(stats.compactions == 1 && stats.compaction_steps > 2, "{stats:?}");
        assert_eq!(contents(&engine).len(), 41);
    });
}
