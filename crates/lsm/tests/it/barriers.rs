//! Tables that stay between two routes of one run: no output reaches over them.

use std::ops::Range;

use terrace_env::random::Random;
use terrace_env::{ByteCount, runner};
use terrace_lsm::Engine;
use terrace_policy::{Cut, FlushRoute, Place, Route, SegmentView, Span};

use crate::model::{Change, Model, contents};
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

/// One route for all that a flush has.
fn all_to(to: Option<Place>) -> Vec<FlushRoute> {
    FlushRoute::all_to(to)
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
fn tables_of_a_flush_end_at_the_ends_of_its_routes() {
    for ranges in [false, true] {
        runner::simulate(1, || {
            let last = Route { end: None, to: to(3), stream: 19, cut: Cut::at(ByteCount(1)) };
            let (decider, mut model) = (Routed::new(vec![last]), Model::default());
            let engine = open(&decider, options());
            *decider.flush.lock() = all_to(Some(to(2)));
            puts(&engine, &mut model, 100..200);
            engine.flush().unwrap();
            // Two routes lead to the run of that table, and what lies between them has no key.
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
