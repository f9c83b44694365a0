//! Power cuts at random moments: under clients and jobs, during recovery, and between the parts in
//! which a large log is read.
//!
//! A crash of the in-memory store gives a copy, in the state after the cut. The engine over the old
//! store is ended, and another one is opened over the copy. With clients at work, each client's
//! newest write that is found is whole, is not older than its last synced one, and had begun. In
//! the other tests everything is synced before, and all of it is found.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{CrashMode, FileKind, MemoryStore, Store};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, runner, test_seeds};
use terrace_lsm::{Batch, Bounds, Durability, Engine, EngineOptions, KeySpaceId, MemoryStats};

use crate::model::{self, Contents, Write, batch, contents, open};

const CLIENTS: u8 = 3;

/// A client's knowledge: each of its writes has a number, from 1 on.
#[derive(Clone, Copy, Default)]
struct Known {
    synced: u64,
    begun: u64,
}

/// Every write puts its number under all of the client's keys, so that a torn write shows.
fn write(client: u8, number: u64) -> Vec<Write> {
    let value = |key: u8| format!("{number}/{key}/").repeat(20).into_bytes();
    (0..3).map(|key| (KeySpaceId(0), vec![client, key], Some(value(key)))).collect()
}

fn run_client(engine: &Engine, client: u8, known: &Mutex<Known>, random: &mut Random) {
    for number in 1.. {
        known.lock().begun = number;
        let synced = random.random_bool(0.3);
        let durability = if synced { Durability::Synced } else { Durability::Gathered };
        if engine.write(batch(&write(client, number)), durability).is_err() {
            return;
        }
        if synced {
            known.lock().synced = number;
        }
    }
}

/// The number of the client's write that was found, whole.
fn found_number(found: &Contents, client: u8) -> u64 {
    let Some(value) = found.get(&(KeySpaceId(0), vec![client, 0])) else { return 0 };
    let text = String::from_utf8_lossy(value);
    let number = text.split('/').next().unwrap().parse().unwrap();
    for (space, key, value) in write(client, number) {
        assert_eq!(found.get(&(space, key)), value.as_ref(), "client {client}, write {number}");
    }
    number
}

/// Whether anything had been synced when the power was cut.
fn cut_under_load(seed: u64) -> bool {
    let mut random = Random::seeded(seed);
    let store = model::slow_store(seed);
    let jobs = [1, 2, 4][seed as usize % 3];
    let engine = Arc::new(model::open_with(&store, jobs));
    let known: Vec<Arc<Mutex<Known>>> = (0..CLIENTS).map(|_| Arc::default()).collect();
    let clients: Vec<_> = (0..CLIENTS)
        .zip(&known)
        .map(|(client, known)| {
            let (engine, known) = (Arc::clone(&engine), Arc::clone(known));
            let mut random = random.fork();
            runner::spawn("client", move || run_client(&engine, client, &known, &mut random))
        })
        .collect();
    runner::sleep(Duration::from_micros(random.random_range(0..200_000)));
    let modes = [CrashMode::DropUnsynced, CrashMode::TearUnsynced];
    let survivor = store.crash(modes[random.random_range(0..2)], &mut random);
    let then: Vec<Known> = known.iter().map(|known| *known.lock()).collect();
    engine.close().ok();
    clients.into_iter().for_each(runner::JoinHandle::join);

    let found = contents(&open(&survivor));
    for (client, Known { synced, begun }) in (0..CLIENTS).zip(&then) {
        let number = found_number(&found, client);
        assert!(
            (*synced..=*begun).contains(&number),
            "seed {seed}: client {client} synced {synced}, began {begun}, found {number}",
        );
    }
    then.iter().any(|known| known.synced > 0)
}

#[test]
fn what_was_synced_survives_and_no_batch_survives_in_part() {
    let seeds = test_seeds(40);
    let (count, mut loaded) = (seeds.end - seeds.start, 0);
    for seed in seeds {
        loaded += u64::from(runner::simulate(seed, || cut_under_load(seed)));
    }
    assert!(loaded * 2 >= count - 1, "only {loaded} of {count} cuts came under load");
}

#[test]
fn a_second_cut_during_recovery_loses_nothing_either() {
    for seed in test_seeds(10) {
        runner::simulate(seed, || {
            let mut random = Random::seeded(seed);
            let store = model::slow_store(seed);
            let engine = open(&store);
            for number in 0..200 {
                engine.write(batch(&write(0, number)), Durability::Gathered).unwrap();
            }
            engine.sync().unwrap();
            let expected = contents(&engine);
            let mut survivor = store.crash(CrashMode::DropUnsynced, &mut random);
            for _ in 0..5 {
                let opened = open(&survivor);
                runner::sleep(Duration::from_micros(random.random_range(0..3000)));
                let next = survivor.crash(CrashMode::TearUnsynced, &mut random);
                drop(opened);
                survivor = next;
                assert_eq!(contents(&open(&survivor)), expected, "seed {seed}");
            }
        });
    }
}

/// Options under which a log of megabytes is read in a dozen parts, and such under which it comes
/// to be.
fn small_and_large() -> (EngineOptions, EngineOptions) {
    let small = EngineOptions {
        memtable_size: ByteCount::kib(32),
        memory: ByteCount::mib(1),
        ..model::options()
    };
    let (memtable_size, memory) = (ByteCount::mib(16), ByteCount::mib(64));
    let large = EngineOptions { memtable_size, memory, ..model::options() };
    (small, large)
}

fn open_with(store: &MemoryStore, options: &EngineOptions) -> Engine {
    Engine::open(Arc::new(store.clone()), model::decider(), options.clone()).expect("an engine")
}

/// Puts, deletes and range deletes, by which a part that was left out or read twice would show.
fn fill_log(engine: &Engine, random: &mut Random) {
    for number in 0..3000_u32 {
        let key = |random: &mut Random| vec![random.random(), random.random_range(0..8)];
        let mut batch = Batch::new();
        match random.random_range(0..30) {
            0 => {
                let (one, other) = (key(random), key(random));
                let range = Bounds::from(one.clone().min(other.clone())..one.max(other));
                batch.delete_range(KeySpaceId(0), &range);
            }
            1..4 => {
                batch.delete(KeySpaceId(0), &key(random));
            }
            _ => {
                let value = number.to_le_bytes().repeat(random.random_range(1..400));
                batch.put(KeySpaceId(0), &key(random), &value);
            }
        }
        engine.write(batch, Durability::Gathered).unwrap();
    }
}

fn tables(store: &MemoryStore) -> usize {
    store.list().iter().filter(|file| file.kind == FileKind::Table).count()
}

/// Each opening goes on with the part of the log that the one before it was cut in.
#[test]
fn a_log_that_is_read_in_parts_survives_cuts_in_between() {
    let (mut parts, mut cuts) = (0, 0);
    for seed in test_seeds(6) {
        runner::simulate(seed, || {
            let (small, large) = small_and_large();
            let mut random = Random::seeded(seed);
            let store = model::slow_store(seed);
            let engine = open_with(&store, &large);
            fill_log(&engine, &mut random);
            engine.sync().unwrap();
            assert_eq!(engine.stats().flushes, 0, "all of it is in the log");
            let expected = contents(&engine);
            let mut survivor = store.crash(CrashMode::DropUnsynced, &mut random);
            let begun = runner::now();
            let copy = survivor.crash(CrashMode::DropUnsynced, &mut random);
            let whole = open_with(&model::slowed(copy, seed), &small);
            let takes = runner::now().since(begun);
            parts += whole.stats().flushes;
            let MemoryStats { budget, peak, .. } = whole.stats().memory;
            assert!(peak <= budget, "{peak} of {budget} bytes");
            assert_eq!(contents(&whole), expected, "seed {seed}");
            for _ in 0..4 {
                survivor = model::slowed(survivor, seed);
                let before = tables(&survivor);
                let opening = runner::spawn("opening", {
                    let (survivor, small) = (survivor.clone(), small.clone());
                    move || drop(open_with(&survivor, &small))
                });
                runner::sleep(takes.mul_f64(random.random_range(0.0..0.6)));
                let next = survivor.crash(CrashMode::TearUnsynced, &mut random);
                opening.join();
                cuts += usize::from((before + 1..tables(&survivor)).contains(&tables(&next)));
                survivor = next;
                let copy = survivor.crash(CrashMode::DropUnsynced, &mut random);
                assert_eq!(contents(&open_with(&copy, &small)), expected, "seed {seed}");
                let copy = survivor.crash(CrashMode::DropUnsynced, &mut random);
                assert_eq!(contents(&open_with(&copy, &large)), expected, "seed {seed}");
            }
        });
    }
    assert!(parts > 0 && cuts > 0, "{parts} parts, {cuts} cuts between them");
}
