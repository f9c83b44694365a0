//! Tests of each durability when the process ends: written and synced writes survive at once,
//! gathered ones when their time is over, when the engine is dropped or closed, or before a writer
//! waits for room. A write is never lost without all newer ones. (Power cuts are in `crash`; writes
//! that go to no log are in `unlogged`.)

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::runner;
use terrace_env::store::{CrashMode, Latency, MemoryStore};
use terrace_env::sync::Mutex;
use terrace_lsm::{Durability, Engine, EngineOptions, KeySpaceId};

use crate::model::{self, batch, contents, open};

const SPACE: KeySpaceId = KeySpaceId(0);
const WRITES: u32 = 30;

fn put(engine: &Engine, number: u32, durability: Durability) -> bool {
    let write = (SPACE, number.to_be_bytes().to_vec(), Some(vec![number as u8; 100]));
    engine.write(batch(&[write]), durability).is_ok()
}

fn opened(store: &MemoryStore, gather_time: Duration) -> Engine {
    let options = EngineOptions { gather_time, ..model::options() };
    Engine::open(Arc::new(store.clone()), model::decider(), options).expect("an engine")
}

/// The fewest writes that are found when the process ends now, in several ways.
fn least_found(store: &MemoryStore) -> usize {
    let ends = (0..16).map(|seed| {
        let left = store.crash(CrashMode::EndProcess, &mut Random::seeded(seed));
        let found = contents(&open(&left));
        let numbers: Vec<Vec<u8>> = found.into_keys().map(|(_, key)| key).collect();
        let expected: Vec<Vec<u8>> =
            (0..numbers.len() as u32).map(|number| number.to_be_bytes().to_vec()).collect();
        assert_eq!(numbers, expected, "no write is lost without all newer ones");
        numbers.len()
    });
    ends.min().unwrap_or(0)
}

#[test]
fn what_is_written_is_there_when_the_process_ends() {
    for durability in [Durability::Written, Durability::Synced] {
        runner::simulate(1, || {
            let store = MemoryStore::new();
            let engine = opened(&store, Duration::from_millis(100));
            for number in 0..WRITES {
                // Gathered writes of others are written with them.
                let own = if number % 2 == 1 { durability } else { Durability::Gathered };
                assert!(put(&engine, number, own));
                let written = number as usize + number as usize % 2;
                assert!(least_found(&store) >= written, "{durability:?}, write {number}");
            }
        });
    }
}

#[test]
fn what_is_gathered_is_there_once_its_time_is_over() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = opened(&store, Duration::from_millis(100));
        let mut begun = Vec::new();
        let mut lost = false;
        for number in 0..WRITES {
            begun.push(runner::now());
            assert!(put(&engine, number, Durability::Gathered));
            runner::sleep(Duration::from_millis(7));
            let found = least_found(&store);
            lost |= found <= number as usize;
            let now = runner::now();
            let due = begun.iter().filter(|at| now.since(**at) > Duration::from_millis(101));
            assert!(found >= due.count(), "write {number}: only {found} writes are there");
        }
        assert!(lost, "the newest writes are only in memory: this test could not fail");
        runner::sleep(Duration::from_millis(101));
        assert_eq!(least_found(&store), WRITES as usize);
    });
}

#[test]
fn nothing_is_written_and_nobody_wakes_while_nothing_has_gathered() {
    let run = |idle: Duration| {
        runner::simulate(1, || {
            let store = MemoryStore::new();
            let engine = opened(&store, Duration::from_millis(1));
            assert!(put(&engine, 0, Durability::Gathered));
            runner::sleep(Duration::from_millis(5));
            let (operations, history) = (store.operations(), runner::history());
            // Only this actor runs: the history of a sleep is that of one step.
            for _ in 0..3 {
                runner::sleep(idle);
            }
            assert_eq!(store.operations(), operations);
            drop(engine);
            (history, runner::history())
        })
    };
    let (before, after) = run(Duration::from_secs(3600));
    assert_eq!((before, after), run(Duration::from_secs(3600)));
    assert_ne!(before, after);
}

#[test]
fn an_engine_that_is_dropped_or_closed_writes_out_what_has_gathered() {
    for close in [false, true] {
        runner::simulate(1, || {
            let store = MemoryStore::new();
            let engine = opened(&store, Duration::from_secs(3600));
            (0..WRITES).for_each(|number| assert!(put(&engine, number, Durability::Gathered)));
            assert!(least_found(&store) < WRITES as usize, "they have gathered");
            if close {
                engine.close().expect("a close");
            } else {
                drop(engine);
            }
            assert_eq!(least_found(&store), WRITES as usize, "closed: {close}");
        });
    }
}

#[test]
fn a_zero_gather_time_writes_each() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = opened(&store, Duration::ZERO);
        for number in 0..WRITES {
            assert!(put(&engine, number, Durability::Gathered));
            assert_eq!(least_found(&store), number as usize + 1);
        }
    });
}

/// Flushes are so slow that the writer waits for them; it has written out the gathered bytes
/// before.
#[test]
fn a_writer_that_waits_has_written_out_before() {
    runner::simulate(1, || {
        let slow = Latency { commit: Duration::from_secs(30), ..Latency::default() };
        let store = MemoryStore::new().with_latency(1, slow);
        let engine = Arc::new(opened(&store, Duration::from_secs(3600)));
        let acknowledged = Arc::new(Mutex::new(0_u32));
        let client = runner::spawn("client", {
            let (engine, acknowledged) = (Arc::clone(&engine), Arc::clone(&acknowledged));
            move || {
                for number in 0..2000 {
                    if !put(&engine, number, Durability::Gathered) {
                        return;
                    }
                    *acknowledged.lock() = number + 1;
                }
            }
        });
        let (mut waits, mut last, mut since) = (0, 0, runner::now());
        for _ in 0..2000 {
            runner::sleep(Duration::from_millis(100));
            let now = *acknowledged.lock();
            if now != last {
                (last, since) = (now, runner::now());
            }
            // Shorter delays come from the throttle: gathered bytes keep their time over these.
            if runner::now().since(since) > Duration::from_millis(1100) && now < 2000 {
                waits += 1;
                assert!(least_found(&store) >= now as usize, "a wait after {now} writes");
            }
        }
        assert!(waits > 2, "{waits} waits");
        client.join();
    });
}
