//! Compaction while writers are idle, with the option `compact_at_rest`: it begins when no write
//! has come for long enough, or at once if a client waits until the engine is idle. Concurrent
//! writers lose no write, and no table that was written is thrown away.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::runner;
use terrace_env::store::{MemoryStore, Store};
use terrace_lsm::{Bounds, Durability, Engine, EngineOptions, KeySpaceId};
use terrace_policy::{ByteCount, LoadAware, LoadRule};

use crate::model::{self, Model, batch, contents};

fn at_rest() -> EngineOptions {
    EngineOptions { compact_at_rest: true, ..model::options() }
}

fn open_at_rest(store: &MemoryStore) -> Engine {
    let store: Arc<dyn Store> = Arc::new(store.clone());
    Engine::open(store, model::decider(), at_rest()).expect("an engine")
}

/// Writes `count` memtables full, and returns the bytes in level 0 then.
fn write_memtables(engine: &Engine, count: u64, model: &mut Model) -> u64 {
    for memtable in 0..count {
        for number in 0..40_u64 {
            let key = (number * 7 % 40 + memtable).to_be_bytes().to_vec();
            let write = vec![(KeySpaceId(0), key, Some(vec![memtable as u8; 100]))];
            engine.write(batch(&write), Durability::Synced).unwrap();
            model.write(write);
        }
        engine.flush().unwrap();
    }
    engine.stats().levels[0].runs
}

#[test]
fn level_0_is_merged_down_once_writers_rest() {
    runner::simulate(1, || {
        let (engine, mut model) = (open_at_rest(&MemoryStore::new()), Model::default());
        assert_eq!(write_memtables(&engine, 1, &mut model), 1);
        // Writers pause, but not for long enough.
        runner::sleep(Duration::from_millis(200));
        assert_eq!(engine.stats().levels[0].runs, 1);
        runner::sleep(Duration::from_secs(2));
        let stats = engine.stats();
        assert_eq!((stats.levels[0].runs, stats.bytes_discarded), (0, 0), "{stats:?}");
        assert_eq!(contents(&engine), model.now);
    });
}

#[test]
fn chunks_of_flushed_memtables_are_kept_until_writers_rest() {
    runner::simulate(1, || {
        let (memtable_size, memory) = (ByteCount::mib(8), ByteCount::mib(64));
        let options = EngineOptions { memtable_size, memory, ..at_rest() };
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let engine = Engine::open(store, model::decider(), options).unwrap();
        for number in 0..80_u64 {
            let (key, value) = (number.to_be_bytes(), vec![7; 100_000]);
            let mut batch = engine.batch_for(key.len() + value.len());
            batch.put(KeySpaceId(0), &key, &value);
            engine.write(batch, Durability::Gathered).unwrap();
        }
        engine.flush().unwrap();
        runner::sleep(Duration::from_millis(10));
        let idle = |engine: &Engine| {
            let stats = engine.stats();
            (stats.memory.memtables - stats.memtable_bytes, stats.memory.batches)
        };
        let (chunks, buffers) = idle(&engine);
        assert!(chunks > 4 << 20 && chunks <= memtable_size.0, "{chunks} idle bytes");
        assert!((100_000..200_000).contains(&buffers), "{buffers} bytes of one buffer");
        runner::sleep(Duration::from_secs(2));
        assert_eq!(idle(&engine).0, 0);
    });
}

#[test]
fn a_load_aware_decider_merges_level_0_for_scans_alone() {
    runner::simulate(1, || {
        let row = model::decider();
        let decider = LoadAware::new(row, LoadRule::Aware, 4, ByteCount::gib(1));
        let engine = model::open_under(&MemoryStore::new(), Arc::new(decider));
        let mut model = Model::default();
        // What there is lies in level 1, and one memtable over it.
        write_memtables(&engine, 2, &mut model);
        engine.compact_all().unwrap();
        assert_eq!(write_memtables(&engine, 1, &mut model), 1);
        engine.wait_idle().unwrap();
        assert_eq!(engine.stats().levels[0].runs, 1, "nobody scans");
        for _ in 0..3_000 {
            engine.scan(KeySpaceId(0), &Bounds::all()).unwrap();
        }
        runner::sleep(Duration::from_secs(1));
        assert_eq!(engine.stats().levels[0].runs, 0, "scans would meet it");
        assert_eq!(contents(&engine), model.now);
    });
}

#[test]
fn an_idle_checker_empties_every_buffer_once_writers_rest_and_none_before() {
    runner::simulate(1, || {
        let decider = LoadAware::new(model::decider(), LoadRule::Idle, 4, ByteCount::gib(1));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let engine = Engine::open(store, Arc::new(decider), at_rest()).expect("an engine");
        let mut model = Model::default();
        for _ in 0..3 {
            write_memtables(&engine, 12, &mut model);
            let held = |engine: &Engine| {
                let levels = engine.stats().levels;
                levels.iter().filter(|level| level.runs > 0).count()
            };
            assert!(held(&engine) > 1, "{:?}", engine.stats().levels);
            runner::sleep(Duration::from_secs(3));
            assert_eq!(held(&engine), 1, "{:?}", engine.stats().levels);
            assert_eq!(contents(&engine), model.now);
        }
    });
}

/// Overwrites all that a snapshot sees, merges both versions into one run, and ends the snapshot.
pub(crate) fn a_snapshot_ends(seed: u64) {
    runner::simulate(seed, || {
        let (engine, mut model) = (open_at_rest(&MemoryStore::new()), Model::default());
        write_memtables(&engine, 1, &mut model);
        let snapshot = engine.snapshot();
        write_memtables(&engine, 1, &mut model);
        engine.compact_all().unwrap();
        let entries = || engine.stats().levels.iter().map(|level| level.entries).sum::<u64>();
        assert_eq!(entries(), 80);
        let kept = engine.stats();
        let kept = kept.levels.iter().fold((0, 0), |(old, droppable), level| {
            (old + level.old_version_bytes, droppable + level.droppable_bytes)
        });
        assert!(kept.0 > 0 && kept.1 == 0, "{kept:?}");
        drop(snapshot);
        engine.wait_idle().unwrap();
        assert_eq!(entries(), 40, "{:?}", engine.stats().levels);
        assert_eq!(contents(&engine), model.now);
    });
}

#[test]
fn what_a_snapshot_kept_in_one_run_goes_at_rest_once_it_has_ended() {
    a_snapshot_ends(1);
}

#[test]
fn waiting_until_idle_does_not_wait_for_the_rest_to_be_long_enough() {
    runner::simulate(1, || {
        let (engine, mut model) = (open_at_rest(&MemoryStore::new()), Model::default());
        write_memtables(&engine, 3, &mut model);
        let before = runner::now();
        engine.wait_idle().unwrap();
        assert!(runner::now().since(before) < Duration::from_millis(100));
        assert_eq!(engine.stats().levels[0].runs, 0);
        assert_eq!(contents(&engine), model.now);
    });
}

#[test]
fn a_merge_at_rest_beside_writers_loses_no_write_and_throws_nothing_away() {
    runner::simulate(1, || {
        let store = model::slow_store(1);
        let (engine, mut model) = (Arc::new(open_at_rest(&store)), Model::default());
        for _ in 0..4 {
            write_memtables(&engine, 5, &mut model);
            let waiting = Arc::clone(&engine);
            let waiter = runner::spawn("waiter", move || waiting.wait_idle());
            runner::sleep(Duration::from_millis(1));
            write_memtables(&engine, 3, &mut model);
            waiter.join().unwrap();
        }
        let stats = engine.stats();
        assert_eq!(stats.bytes_discarded, 0, "{stats:?}");
        assert_eq!(contents(&engine), model.now);
        engine.wait_idle().unwrap();
        assert_eq!(engine.stats().levels[0].runs, 0);
    });
}
