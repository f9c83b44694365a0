//! Merges whose routes alternate between destinations: the tables of a destination continue across
//! the routes of others. Other tests are of the reasons to end a table early: a lack of memory,
//! another stream of its run, tables that stay, cuts, grandparents, and a budget that is used up.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::MemoryStore;
use terrace_env::{ByteCount, runner, test_seeds};
use terrace_lsm::{
    Bounds, Compression, Durability, Engine, EngineOptions, Error, LevelCompression, Snapshot,
    TableOptions,
};
use terrace_policy::{Compaction, Cut, Grandparent, Key, Place, Route, SegmentView, Span};

use crate::model::{Change, Contents, Model, batch, contents};
use crate::routed::{RUNS, Routed, SPACE, full_key, key, open, options, put, to, write};

/// Routes of `band` keys each, to these destinations in turn.
fn bands(count: u32, band: u32, cut: &Cut, destinations: &[(Place, u16)]) -> Vec<Route> {
    let route = |at: u32| {
        let (to, stream) = destinations[at as usize % destinations.len()];
        let end = (at + 1 < count).then(|| full_key((at + 1) * band));
        Route { end, to, stream, cut: cut.clone() }
    };
    (0..count).map(route).collect()
}

/// Writes a value of zeros, except for the last eighth of the keys. A compressed table has nearly
/// all its bytes there: a subcompaction's share of the bytes says little about its share of the
/// values, so the budgets of most are too small.
fn uneven(random: &mut Random, number: u32, keys: u32, size: usize) -> Change {
    let mut change = put(random, number, size);
    if let Change::Key((.., Some(value))) = &mut change
        && number < keys / 8 * 7
    {
        value.fill(0);
    }
    change
}

/// Writes all keys below a number, in the number of runs that are merged at once.
fn fill(engine: &Engine, model: &mut Model, keys: u32) {
    let mut random = Random::seeded(1);
    for run in 0..RUNS as u32 {
        for number in (0..keys).filter(|number| number % RUNS as u32 == run) {
            write(engine, model, vec![put(&mut random, number, 100)]);
        }
        engine.flush().unwrap();
    }
    engine.wait_idle().unwrap();
}

fn seen(snapshot: &Snapshot) -> Contents {
    let scan = snapshot.scan(SPACE, &Bounds::all()).unwrap().map(Result::unwrap);
    scan.map(|(key, value)| ((SPACE, key.to_vec()), value.to_vec())).collect()
}

const BAND: u32 = 40;
const BANDS: u32 = 40;
/// More than three bands.
const TABLE: ByteCount = ByteCount::kib(16);

/// At most one table of each destination is smaller than its cut.
fn check_sizes(tables: &[SegmentView], case: &str) {
    let bytes: u64 = tables.iter().map(|table| table.size.0).sum();
    let most = bytes.div_ceil(TABLE.0) + 1;
    assert!(bytes > 2 * TABLE.0, "{case}: {bytes} bytes");
    assert!(tables.len() as u64 <= most, "{case}: {} tables of {bytes} bytes", tables.len());
}

#[test]
fn tables_of_two_destinations_in_turns_are_as_large_as_those_of_one() {
    runner::simulate(1, || {
        for levels in [vec![1, 2], vec![1, 2, 3], vec![3, 2, 4, 1]] {
            let destinations: Vec<(Place, u16)> =
                levels.iter().map(|level| (to(*level), 16 + u16::from(*level))).collect();
            let routes = bands(BANDS, BAND, &Cut::at(TABLE), &destinations);
            let (decider, mut model) = (Routed::new(routes), Model::default());
            let engine = open(&decider, options());
            fill(&engine, &mut model, BANDS * BAND);
            for level in levels {
                check_sizes(&decider.tables(to(level)), &format!("level {level}"));
            }
            assert_eq!(contents(&engine), model.now);
            assert_eq!(engine.stats().bytes_discarded, 0);
            engine.verify().unwrap();
        }
    });
}

#[test]
fn without_memory_for_a_second_table_each_change_of_destination_ends_one() {
    runner::simulate(1, || {
        let routes = bands(BANDS, BAND, &Cut::at(TABLE), &[(to(1), 17), (to(2), 18)]);
        let (decider, mut model) = (Routed::new(routes), Model::default());
        // Half of the jobs' share is not enough for one.
        let memory = ByteCount::mib(20);
        let engine =
            open(&decider, EngineOptions { memory, io_size: ByteCount::mib(16), ..options() });
        fill(&engine, &mut model, BANDS * BAND);
        for level in [1, 2] {
            assert_eq!(decider.tables(to(level)).len() as u32, BANDS / 2, "level {level}");
        }
        assert_eq!(contents(&engine), model.now);
        engine.verify().unwrap();
    });
}

#[test]
fn two_streams_of_one_run_have_tables_that_do_not_overlap() {
    runner::simulate(1, || {
        let destinations = [(to(2), 18), (to(1), 17), (to(2), 19)];
        let routes = bands(BANDS, BAND, &Cut::at(TABLE), &destinations);
        let (decider, mut model) = (Routed::new(routes), Model::default());
        let engine = open(&decider, options());
        fill(&engine, &mut model, BANDS * BAND);
        // Level 2 changes its stream with each of its bands, across those of level 1.
        check_sizes(&decider.tables(to(1)), "level 1");
        assert_eq!(decider.tables(to(2)).len() as u32, BANDS - BANDS / 3);
        assert_eq!(contents(&engine), model.now);
        engine.verify().unwrap();
    });
}

#[test]
fn what_stays_between_two_routes_of_a_run_ends_a_table() {
    runner::simulate(1, || {
        // First a table for each band, in level 3.
        let mut routes = bands(BANDS, BAND, &Cut::at(TABLE), &[(to(3), 19), (to(3), 20)]);
        let (decider, mut model) = (Routed::new(routes.clone()), Model::default());
        let engine = open(&decider, options());
        fill(&engine, &mut model, BANDS * BAND);
        assert_eq!(decider.tables(to(3)).len() as u32, BANDS);
        // Then every other band goes to level 2; in that range one table of level 3 stays.
        for (at, route) in (0..).zip(&mut routes) {
            (route.to, route.stream) = if at % 2 == 0 { (to(3), 19) } else { (to(2), 18) };
        }
        *decider.routes.lock() = routes;
        let stays = Span { start: full_key(9 * BAND), end: full_key(10 * BAND) };
        *decider.stays.lock() = Some(stays.clone());
        fill(&engine, &mut model, BANDS * BAND);
        let tables = decider.tables(to(3));
        let kept: Vec<_> = tables.iter().filter(|table| table.span.overlaps(&stays)).collect();
        assert!(kept.len() == 1 && kept[0].span.start == stays.start, "{kept:?}");
        let (before, behind) =
            tables.split_at(tables.partition_point(|t| t.span.start < stays.start));
        assert_eq!(before.len(), 2, "{tables:?}");
        check_sizes(&behind[1..], "level 3");
        check_sizes(&decider.tables(to(2)), "level 2");
        assert_eq!(contents(&engine), model.now);
        engine.verify().unwrap();
    });
}

#[test]
fn cuts_and_grandparents_between_two_routes_of_a_destination_count() {
    runner::simulate(1, || {
        const BETWEEN: u32 = 21;
        let cut = Cut { overlap_max: ByteCount(4_000), ..Cut::at(ByteCount::mib(8)) };
        let mut routes = bands(BANDS, BAND, &cut, &[(to(1), 17), (to(2), 18)]);
        for (at, route) in (0..).zip(&mut routes).filter(|(at, _)| at % 2 == 0) {
            // Those of the band before, and of its own.
            let ends = [at * BAND, (at + 1) * BAND];
            let of = |end: u32| Grandparent { end: full_key(end), size: ByteCount(1_000) };
            route.cut.grandparents =
                ends.map(of).into_iter().filter(|g| g.end != full_key(0)).collect();
            if at == BETWEEN + 1 {
                route.cut.keys = vec![full_key(BETWEEN * BAND + BAND / 2)];
            }
        }
        for ranges in [false, true] {
            let (decider, mut model) = (Routed::new(routes.clone()), Model::default());
            let engine = open(&decider, options());
            let snapshot = ranges.then(|| {
                write(&engine, &mut model, vec![Change::Range(SPACE, key(5), Some(key(7)))]);
                // All of the tombstone stays, and lies after the last table's keys.
                let end = BANDS * BAND;
                write(
                    &engine,
                    &mut model,
                    vec![Change::Range(SPACE, key(end), Some(key(end + 9)))],
                );
                engine.snapshot()
            });
            fill(&engine, &mut model, BANDS * BAND);
            let tables = decider.tables(to(1));
            let over = |table: &SegmentView| {
                let ends = (1..BANDS).map(|at| full_key(at * BAND));
                ends.filter(|end| table.span.start < *end && *end < table.span.end).count()
            };
            let over: Vec<usize> = tables.iter().map(over).collect();
            assert!(over.iter().all(|over| *over <= 4), "{over:?}");
            assert!(over.iter().filter(|over| **over >= 3).count() >= 6, "{over:?}");
            let cut = full_key(BETWEEN * BAND);
            assert!(tables.iter().all(|table| !table.span.contains(&cut)), "{tables:?}");
            assert_eq!(decider.tables(to(2)).len(), 1, "nothing cuts it");
            assert_eq!(contents(&engine), model.now);
            drop(snapshot);
            engine.verify().unwrap();
        }
    });
}

#[test]
fn range_tombstones_go_where_their_keys_go() {
    runner::simulate(1, || {
        let routes = bands(BANDS, BAND, &Cut::at(TABLE), &[(to(1), 17), (to(2), 18)]);
        let (decider, mut model) = (Routed::new(routes), Model::default());
        let engine = open(&decider, options());
        fill(&engine, &mut model, BANDS * BAND);
        let before = (engine.snapshot(), model.now.clone());
        // Across many bands, within one, over the end of one, and after all.
        let half = BANDS / 2 * BAND;
        for (start, end) in [(3, half), (half + 5, half + 9), (half + 35, half + 45), (1590, 9999)]
        {
            let range = Change::Range(SPACE, key(start), Some(key(end)));
            write(&engine, &mut model, vec![range]);
            engine.flush().unwrap();
        }
        engine.wait_idle().unwrap();
        // With the snapshot, everything stays, and has the same cuts.
        for level in [1, 2] {
            check_sizes(&decider.tables(to(level)), &format!("level {level}"));
        }
        assert_eq!(contents(&engine), model.now);
        assert_eq!(seen(&before.0), before.1);
        engine.verify().unwrap();
        drop(before);
        let mut random = Random::seeded(2);
        // The last of the four is still in level 0.
        for number in 1..RUNS as u32 {
            write(&engine, &mut model, vec![put(&mut random, number, 100)]);
            engine.flush().unwrap();
        }
        engine.wait_idle().unwrap();
        assert_eq!(contents(&engine), model.now);
        let entries: u64 = engine.stats().levels.iter().map(|level| level.entries).sum();
        assert_eq!(entries, model.now.len() as u64, "nothing hidden is left");
    });
}

#[test]
fn a_budget_that_is_used_up_ends_the_tables_of_all_destinations() {
    runner::simulate(1, || {
        const KEYS: u32 = 4_400;
        for workers in [1, 2, 4] {
            let cut = Cut::at(ByteCount::kib(32));
            let routes = bands(KEYS / 10, 10, &cut, &[(to(1), 17), (to(2), 18)]);
            let (decider, mut model) = (Routed::new(routes), Model::default());
            let tables = TableOptions {
                block_size: Some(ByteCount::kib(4)),
                compression: Some(LevelCompression {
                    upper: Compression::Lz4,
                    last: Compression::None,
                }),
                ..TableOptions::default()
            };
            let options = EngineOptions { workers, tables, ..options() };
            let engine = open(&decider, options);
            let mut random = Random::seeded(1);
            for run in 0..RUNS as u32 {
                for number in (0..KEYS).filter(|number| number % RUNS as u32 == run) {
                    let change = uneven(&mut random, number, KEYS, 1_000);
                    write(&engine, &mut model, vec![change]);
                }
                engine.flush().unwrap();
            }
            engine.wait_idle().unwrap();
            let stats = engine.stats();
            assert!(stats.compaction_steps_ended_early > 0, "{workers} workers: {stats:?}");
            assert_eq!((stats.compactions, stats.bytes_discarded), (1, 0), "{workers} workers");
            for level in [1, 2] {
                let (bytes, segments) = (stats.levels[level].bytes, stats.levels[level].segments);
                let most = bytes / (32 << 10) + stats.compaction_steps;
                assert!(segments <= most, "{segments} tables, expected {most} at most: {stats:?}");
            }
            assert_eq!(contents(&engine), model.now);
            engine.verify().unwrap();
        }
    });
}

/// Random routes, which return to the same few destinations.
fn routes_by_chance(random: &mut Random, keys: u32) -> Vec<Route> {
    let places: Vec<(Place, u16)> = (0..random.random_range(1..6))
        .map(|_| (to(random.random_range(1..5)), random.random_range(16..18)))
        .collect();
    let mut ends: Vec<u32> =
        (0..random.random_range(0..30)).map(|_| random.random_range(1..keys)).collect();
    ends.sort_unstable();
    ends.dedup();
    let ends = ends.into_iter().map(|end| Some(full_key(end))).chain([None]);
    let some_keys = |random: &mut Random| {
        let mut some: Vec<Key> = (0..random.random_range(0..6))
            .map(|_| full_key(random.random_range(0..keys)))
            .collect();
        some.sort_unstable();
        some
    };
    let route = |end| {
        let (to, stream) = places[random.random_range(0..places.len())];
        let mut cut = Cut::at(ByteCount(random.random_range(500..20_000)));
        if random.random_bool(0.2) {
            cut.keys = some_keys(random);
        }
        if random.random_bool(0.2) {
            let size = ByteCount(random.random_range(1..6_000));
            let of = |end| Grandparent { end, size };
            cut.grandparents = some_keys(random).into_iter().map(of).collect();
            cut.overlap_max = ByteCount(random.random_range(1..12_000));
            cut.aligned_from = ByteCount(random.random_range(1..12_000));
        }
        Route { end, to, stream, cut }
    };
    ends.map(route).collect()
}

/// Whether the call succeeded, or found no space.
fn is_done(result: Result<(), Error>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) if error.is_space() => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn whatever_the_routes_and_budgets_every_snapshot_sees_what_it_saw() {
    const KEYS: u32 = 400;
    let (mut merges, mut early) = (0, 0);
    for seed in test_seeds(250) {
        let of_seed = runner::simulate(seed, || {
            let mut random = Random::seeded(seed);
            let (decider, mut model) =
                (Routed::new(routes_by_chance(&mut random, KEYS)), Model::default());
            let capacity = ByteCount::kib(random.random_range(200..700));
            let store = MemoryStore::new().with_capacity(capacity, ByteCount::kib(5));
            let options = EngineOptions {
                memory: ByteCount::mib([2, 8, 64][random.random_range(0..3)]),
                memtable_size: ByteCount::kib(12),
                table_size: ByteCount::kib(random.random_range(2..20)),
                workers: random.random_range(1..4),
                tables: TableOptions {
                    compression: Some(LevelCompression {
                        upper: Compression::Lz4,
                        last: Compression::None,
                    }),
                    ..options().tables
                },
                ..options()
            };
            let of = Arc::clone(&decider) as Arc<dyn Compaction>;
            let engine = Engine::open(Arc::new(store), of, options).unwrap();
            let ranges = [0.0, 0.02, 0.2][random.random_range(0..3)];
            let mut snapshots: Vec<(Snapshot, Contents)> = Vec::new();
            for _ in 0..900 {
                let number = random.random_range(0..KEYS);
                let change = if random.random_bool(ranges) {
                    let end = number + random.random_range(1..60);
                    Change::Range(SPACE, key(number), Some(key(end)))
                } else if random.random_bool(0.2) {
                    Change::Key((SPACE, key(number), None))
                } else {
                    uneven(&mut random, number, KEYS, 200)
                };
                let change = vec![change];
                if is_done(engine.write(batch(&change), Durability::Synced)) {
                    model.write(change);
                }
                match random.random_range(0..100) {
                    0 => snapshots.push((engine.snapshot(), model.now.clone())),
                    1..4 if !snapshots.is_empty() => {
                        let (snapshot, expected) = snapshots.swap_remove(0);
                        assert_eq!(seen(&snapshot), expected, "seed {seed}");
                    }
                    4 => *decider.routes.lock() = routes_by_chance(&mut random, KEYS),
                    5 => drop(is_done(engine.flush())),
                    _ => {}
                }
            }
            is_done(engine.wait_idle());
            assert_eq!(contents(&engine), model.now, "seed {seed}");
            for (snapshot, expected) in snapshots {
                assert_eq!(seen(&snapshot), expected, "seed {seed}");
            }
            engine.verify().unwrap();
            let stats = engine.stats();
            (stats.compactions, stats.compaction_steps_ended_early)
        });
        (merges, early) = (merges + of_seed.0, early + of_seed.1);
    }
    assert!(merges > 1_000 && early > 4, "{merges} merges, {early} budgets used up");
}
