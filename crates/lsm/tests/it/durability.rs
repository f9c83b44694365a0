//! Tests of each durability when the process ends: written and synced writes survive at once,
//! gathered ones when their time is over, when the engine is dropped or closed, or before a writer
//! waits for room. A write is never lost without all newer ones. (Power cuts are in `crash`; writes
//! that go to no log are in `unlogged`.)

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::store::{
    CrashMode, CreateOptions, FileWriter, Latency, Layer, MemoryStore, Store, StoreError,
};
use terrace_env::sync::Mutex;
use terrace_env::{FileId, runner};
use terrace_lsm::{Batch, Durability, Engine, EngineOptions, KeySpaceId};
use terrace_policy::{Choice, Compaction, Pressure, Span, TreeView, Urgency, WriteRule};

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

fn check_what_is_written(open: fn(&MemoryStore) -> Engine) {
    for durability in [Durability::Written, Durability::Synced] {
        runner::simulate(1, || {
            let store = MemoryStore::new();
            let engine = open(&store);
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
fn what_is_written_is_there_when_the_process_ends() {
    check_what_is_written(|store| opened(store, Duration::from_millis(100)));
}

#[test]
fn what_is_written_does_not_rely_on_a_write_out_that_was_begun() {
    check_what_is_written(|store| opened_begun(store, Duration::from_millis(100)));
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

/// A store whose begun write-outs end only when they are waited for, or with a sync.
struct Begun(MemoryStore);

impl Layer for Begun {
    fn below(&self) -> &dyn Store {
        &self.0
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        Ok(Box::new(BegunWriter(self.0.create(options)?)))
    }
}

struct BegunWriter(Box<dyn FileWriter>);

impl FileWriter for BegunWriter {
    fn id(&self) -> FileId {
        self.0.id()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.append(bytes)
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.0.write_out()
    }

    fn begin_write_out(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.0.sync()
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.0.finish()
    }
}

fn opened_begun(store: &MemoryStore, gather_time: Duration) -> Engine {
    let options = EngineOptions { gather_time, ..model::options() };
    Engine::open(Arc::new(Begun(store.clone())), model::decider(), options).expect("an engine")
}

#[test]
fn a_batch_without_entries_waits_for_a_write_out_that_was_begun() {
    runner::simulate(1, || {
        for durability in [Durability::Written, Durability::Synced] {
            let store = MemoryStore::new();
            let engine = opened_begun(&store, Duration::ZERO);
            for number in 0..WRITES {
                assert!(put(&engine, number, Durability::Gathered));
                assert!(least_found(&store) <= number as usize, "a wait: this test cannot fail");
                engine.write(Batch::new(), durability).expect("room");
                assert_eq!(least_found(&store), number as usize + 1, "{durability:?}");
            }
        }
    });
}

/// A decider that delays each group, and never merges.
#[derive(Debug)]
struct Delaying;

impl Compaction for Delaying {
    fn name(&self) -> &'static str {
        "delaying"
    }

    fn pick(&self, _: &TreeView, _: &[u8], _: Urgency) -> Option<Choice> {
        None
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }

    fn write_rule(&self, _: &TreeView) -> WriteRule {
        WriteRule::Delayed
    }
}

/// A leader that is delayed sleeps in the lead, so the actor that writes the log would wait for it.
#[test]
fn a_delayed_leader_does_not_keep_gathered_bytes_beyond_their_time() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let gather_time = WriteRule::DELAY / 4;
        let options = EngineOptions { gather_time, ..model::options() };
        let engine = Engine::open(Arc::new(store.clone()), Arc::new(Delaying), options);
        let engine = Arc::new(engine.expect("an engine"));
        let acknowledged = Arc::new(Mutex::new(Vec::new()));
        let client = runner::spawn("client", {
            let (engine, acknowledged) = (Arc::clone(&engine), Arc::clone(&acknowledged));
            move || {
                for number in 0..WRITES {
                    assert!(put(&engine, number, Durability::Gathered));
                    acknowledged.lock().push(runner::now());
                }
            }
        });
        let mut kept = 0;
        while acknowledged.lock().len() < WRITES as usize {
            runner::sleep(WriteRule::DELAY / 8);
            let (now, found) = (runner::now(), least_found(&store));
            let acknowledged = acknowledged.lock();
            let due = acknowledged.iter().filter(|at| now.since(**at) > gather_time * 3 / 2);
            assert!(found >= due.count(), "only {found} writes are there");
            kept += acknowledged.len().saturating_sub(found);
        }
        client.join();
        assert!(engine.stats().groups >= u64::from(WRITES), "{kept} were in memory");
    });
}
