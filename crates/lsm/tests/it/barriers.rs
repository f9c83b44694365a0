//! Tests of barriers: tables that stay between two routes of one run; no output of a merge may
//! extend over one. With this rule broken, the merge fails before its commit. The tables of a flush
//! end where its routes end.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::store::MemoryStore;
use terrace_env::{ByteCount, runner};
use terrace_lsm::{Durability, Engine, EngineOptions};
use terrace_policy::{Compaction, Cut, FlushRoute, Place, Route, SegmentView, Span};

use crate::model::{Change, Model, batch, contents};
use crate::routed::{RUNS, Routed, SPACE, full_key, key, open, options, put, to, write};

/// Where each table begins.
fn starts(tables: &[SegmentView]) -> Vec<Vec<u8>> {
    tables.iter().map(|table| table.span.start.to_vec()).collect()
}

fn of_keys(keys: &[u32]) -> Vec<Vec<u8>> {
    keys.iter().map(|key| full_key(*key).to_vec()).collect()
}

fn puts(engine: &Engine, model: &mut Model, keys: Range<u32>) {
    let mut random = Random::seeded(1);
    for number in keys {
        write(engine, model, vec![put(&mut random, number, 100)]);
    }
}

/// One route for all of a flush.
fn all_to(to: Option<Place>) -> Vec<FlushRoute> {
    FlushRoute::all_to(to)
}

/// Routes to level 2, except for the range whose table stays.
fn around_what_stays() -> Vec<Route> {
    let cut = Cut::at(ByteCount::mib(8));
    let route = |end: Option<u32>, level: u8, stream: u16| Route {
        end: end.map(full_key),
        to: to(level),
        stream,
        cut: cut.clone(),
    };
    vec![route(Some(100), 2, 18), route(Some(200), 1, 17), route(None, 2, 18)]
}

#[test]
fn what_stays_ends_a_table_though_another_stream_of_its_run_has_no_key_in_between() {
    runner::simulate(1, || {
        let cut = Cut::at(ByteCount::mib(8));
        let route = |end: Option<u32>, level: u8, stream: u16| Route {
            end: end.map(full_key),
            to: to(level),
            stream,
            cut: cut.clone(),
        };
        // The table of keys from 100 on stays in level 2. No key is in the third route.
        let routes = vec![
            route(Some(100), 2, 18),
            route(Some(200), 1, 17),
            route(Some(300), 2, 19),
            route(None, 2, 18),
        ];
        let (decider, mut model) = (Routed::new(routes), Model::default());
        let engine = open(&decider, options());
        *decider.flush.lock() = all_to(Some(to(2)));
        puts(&engine, &mut model, 100..200);
        engine.flush().unwrap();
        *decider.flush.lock() = all_to(None);
        *decider.stays.lock() = Some(Span { start: full_key(100), end: full_key(200) });
        for _ in 0..RUNS {
            puts(&engine, &mut model, 0..150);
            puts(&engine, &mut model, 300..400);
            engine.flush().unwrap();
        }
        engine.wait_idle().unwrap();
        assert_eq!(starts(&decider.tables(to(2))), of_keys(&[0, 100, 300]));
        assert_eq!(starts(&decider.tables(to(1))), of_keys(&[100]));
        assert_eq!(contents(&engine), model.now);
        engine.verify().unwrap();
    });
}

#[test]
#[cfg(debug_assertions)]
fn a_merge_whose_table_would_reach_over_another_ends_before_its_commit() {
    use terrace_env::store::Store;
    use terrace_lsm::canary::{Rule, set};

    runner::simulate(1, || {
        let store = Arc::new(MemoryStore::new());
        let (decider, mut model) = (Routed::new(around_what_stays()), Model::default());
        let open = || {
            let decider = Arc::clone(&decider) as Arc<dyn Compaction>;
            Engine::open(Arc::clone(&store) as Arc<dyn Store>, decider, options()).unwrap()
        };
        let engine = open();
        *decider.flush.lock() = all_to(Some(to(2)));
        puts(&engine, &mut model, 100..200);
        engine.flush().unwrap();
        *decider.flush.lock() = all_to(None);
        *decider.stays.lock() = Some(Span { start: full_key(100), end: full_key(200) });
        set(Some(Rule::TablesEndAtBarriers));
        for _ in 0..RUNS {
            puts(&engine, &mut model, 0..100);
            puts(&engine, &mut model, 200..300);
            engine.flush().unwrap();
        }
        let error = engine.wait_idle().unwrap_err().to_string();
        set(None);
        assert!(error.contains("the tree, level 2") && error.contains("to begin after"), "{error}");
        drop(engine);
        // None of its output is in the store, and the merge is repeated.
        let engine = open();
        engine.wait_idle().unwrap();
        assert_eq!(starts(&decider.tables(to(2))), of_keys(&[0, 100, 200]));
        assert_eq!(contents(&engine), model.now);
        engine.verify().unwrap();
    });
}

/// A merge that runs out of space after the last entry before a table that stays. After that table
/// there is a range tombstone, and then an entry at which the merge ends.
#[test]
fn range_tombstones_behind_what_stays_go_into_a_table_of_their_own() {
    let mut ended_early = 0;
    for capacity in (2_000..3_000).step_by(50) {
        runner::simulate(1, || {
            let store = MemoryStore::new().with_capacity(ByteCount::kib(capacity), ByteCount(0));
            let (decider, mut model) = (Routed::new(around_what_stays()), Model::default());
            let options = EngineOptions { memtable_size: ByteCount::mib(1), ..options() };
            let shared = Arc::clone(&decider) as Arc<dyn Compaction>;
            let engine = Engine::open(Arc::new(store), shared, options).unwrap();
            // Entries that the range tombstone hides, and that no merge takes.
            *decider.flush.lock() = all_to(Some(to(3)));
            puts(&engine, &mut model, 150..290);
            engine.flush().unwrap();
            *decider.flush.lock() = all_to(Some(to(2)));
            puts(&engine, &mut model, 100..200);
            engine.flush().unwrap();
            *decider.flush.lock() = all_to(None);
            *decider.stays.lock() = Some(Span { start: full_key(100), end: full_key(200) });
            let mut random = Random::seeded(1);
            puts(&engine, &mut model, 0..99);
            // Half of all bytes.
            write(&engine, &mut model, vec![put(&mut random, 99, 700 << 10)]);
            engine.flush().unwrap();
            puts(&engine, &mut model, 210..301);
            engine.flush().unwrap();
            let last = vec![
                Change::Range(SPACE, key(210), Some(key(300))),
                put(&mut random, 400, 650 << 10),
            ];
            if engine.write(batch(&last), Durability::Synced).is_err() {
                return;
            }
            model.write(last);
            // If the space is not enough for that, the merge is not made.
            let merged = engine.flush().and_then(|()| engine.wait_idle()).is_ok();
            if merged && engine.stats().compaction_steps_ended_early > 0 {
                ended_early += 1;
                assert_eq!(starts(&decider.tables(to(2)))[..2], of_keys(&[0, 100]));
            }
            assert_eq!(contents(&engine), model.now, "{capacity} KiB");
            engine.verify().unwrap();
        });
    }
    assert!(ended_early > 0);
}

#[test]
fn tables_of_a_flush_end_at_the_ends_of_its_routes() {
    for ranges in [false, true] {
        runner::simulate(1, || {
            let last = Route { end: None, to: to(3), stream: 19, cut: Cut::at(ByteCount(1)) };
            let (decider, mut model) = (Routed::new(vec![last]), Model::default());
            let engine = open(&decider, options());
            *decider.flush.lock() = all_to(Some(to(2)));
            puts(&engine, &mut model, 100..200);
            engine.flush().unwrap();
            // Two routes lead to the run of that table, and no key lies between them.
            let route = |end: Option<u32>, to: Option<Place>, stream: u16| FlushRoute {
                end: end.map(full_key),
                to,
                stream,
            };
            *decider.flush.lock() = vec![
                route(Some(100), Some(to(2)), 18),
                route(Some(200), None, 2),
                route(None, Some(to(2)), 18),
            ];
            puts(&engine, &mut model, 0..100);
            puts(&engine, &mut model, 200..300);
            if ranges {
                write(&engine, &mut model, vec![Change::Range(SPACE, key(205), Some(key(210)))]);
            }
            engine.flush().unwrap();
            engine.wait_idle().unwrap();
            assert_eq!(starts(&decider.tables(to(2))), of_keys(&[0, 100, 200]));
            assert_eq!(contents(&engine), model.now);
            engine.verify().unwrap();
        });
    }
}
