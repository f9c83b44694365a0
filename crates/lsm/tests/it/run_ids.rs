//! The age of a flush's run is its id, which is the sequence after the run's last entry. So the
//! next sequence of an opened store must not be before the ids of the runs of level 0, even if the
//! entries with the newest sequences were dropped. A delete that hides nothing is dropped, for
//! example.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::store::{CrashMode, FileKind, MemoryStore, Store};
use terrace_env::{ByteCount, runner};
use terrace_lsm::{Batch, Bounds, Durability, Engine, EngineOptions};

use crate::model;
use crate::routed::{Routed, SPACE};

fn open(store: &MemoryStore) -> Engine {
    let options = EngineOptions { memtable_size: ByteCount::kib(64), ..model::options() };
    let store: Arc<dyn Store> = Arc::new(store.clone());
    Engine::open(store, Routed::new(Vec::new()), options).unwrap()
}

fn write(engine: &Engine, key: &[u8], value: Option<&[u8]>) {
    let mut batch = Batch::new();
    match value {
        Some(value) => batch.put(SPACE, key, value),
        None => batch.delete(SPACE, key),
    };
    engine.write(batch, Durability::Gathered).unwrap();
}

/// A store whose only run has an id after its sequences, in level 0: 200 puts and 100 deletes were
/// flushed, and then the deletes were dropped. The next log was preallocated.
fn store_without_its_newest_entries() -> (MemoryStore, Engine) {
    let store = MemoryStore::new();
    let engine = open(&store);
    for number in 0..200_u32 {
        let value: Vec<u8> = (0..200_u32).map(|at| ((at * number * 37) >> 3) as u8).collect();
        write(&engine, format!("a{number:03}").as_bytes(), Some(&value));
    }
    (0..100_u32).for_each(|number| write(&engine, format!("z{number:03}").as_bytes(), None));
    engine.flush().unwrap();
    engine.compact(SPACE, &Bounds::starting_at(b"z")).unwrap();
    let level0 = &engine.stats().levels[0];
    assert_eq!((level0.runs, level0.tombstones), (1, 0), "{level0:?}");
    assert!(level0.entries < 300, "{level0:?}");
    (store, engine)
}

/// Overwrites a key, and flushes it.
fn check_overwrite(engine: &Engine) {
    write(engine, b"a000", Some(b"new"));
    assert_eq!(engine.get(SPACE, b"a000").unwrap().as_deref(), Some(&b"new"[..]));
    engine.flush().unwrap();
    assert_eq!(engine.stats().levels[0].runs, 2);
    assert_eq!(engine.get(SPACE, b"a000").unwrap().as_deref(), Some(&b"new"[..]));
}

#[test]
fn an_overwrite_after_a_reopening_is_newer_than_a_run_whose_newest_entries_are_gone() {
    runner::simulate(1, || {
        let (store, engine) = store_without_its_newest_entries();
        engine.close().unwrap();
        drop(engine);
        check_overwrite(&open(&store));
    });
}

#[test]
fn an_overwrite_in_a_checkpoint_is_newer_than_a_run_whose_newest_entries_are_gone() {
    runner::simulate(1, || {
        let (_store, engine) = store_without_its_newest_entries();
        let target = MemoryStore::new();
        engine.checkpoint(&target, &mut |_, _| {}).unwrap();
        check_overwrite(&open(&target));
        engine.close().unwrap();
    });
}

#[test]
fn the_sequence_does_not_go_back_if_the_newest_entries_are_gone_and_the_log_was_preallocated() {
    runner::simulate(1, || {
        let (store, engine) = store_without_its_newest_entries();
        engine.compact(SPACE, &Bounds::all()).unwrap();
        let before = engine.stats();
        assert_eq!(before.sequence, 300);
        engine.close().unwrap();
        drop(engine);
        for _ in 0..2 {
            let engine = open(&store);
            assert_eq!(engine.stats().sequence, before.sequence);
            engine.close().unwrap();
        }
        let engine = open(&store);
        write(&engine, b"a000", Some(b"new"));
        assert_eq!(engine.stats().sequence, before.sequence + 1);
    });
}

/// The first sequence of the preallocated log is that after writes that were in no log.
#[test]
fn a_preallocated_log_that_an_opening_deletes_does_not_count() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        let put = |number: u32, durability| {
            let mut batch = Batch::new();
            batch.put(SPACE, &number.to_be_bytes(), &[7; 300]);
            engine.write(batch, durability).unwrap();
        };
        put(0, Durability::Synced);
        (1..100).for_each(|number| put(number, Durability::Unlogged));
        runner::sleep(Duration::from_secs(1));
        let logs = store.list().iter().filter(|file| file.kind == FileKind::Log).count();
        assert_eq!(logs, 2, "the next log was preallocated");
        let survivor = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
        engine.close().unwrap();
        for _ in 0..3 {
            let engine = open(&survivor);
            assert_eq!(engine.stats().sequence, 1);
            engine.close().unwrap();
        }
    });
}

#[test]
fn the_sequence_of_a_store_does_not_go_back_at_a_reopening_if_all_entries_are_gone() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        write(&engine, b"k", Some(b"value"));
        write(&engine, b"k", None);
        engine.flush().unwrap();
        engine.compact(SPACE, &Bounds::all()).unwrap();
        let before = engine.stats();
        assert!(before.levels.is_empty(), "{:?}", before.levels);
        engine.close().unwrap();
        drop(engine);
        assert_eq!(open(&store).stats().sequence, before.sequence);
    });
}
