//! Leaders that panic in a sync of the log: the other batches of the leader's group get an error,
//! later writers are refused, and no writer waits for ever. Reads go on, the engine cannot be
//! resumed, and the next opening finds all acknowledged writes. In simulations and on real threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, Layer, MemoryStore, Store, StoreError,
};
use terrace_env::{FileId, runner, test_seeds};
use terrace_lsm::{Batch, Durability, Engine, Error, KeySpaceId};

use crate::model::{decider, open, options, slow_store};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

/// A store in which the next sync of a log panics, once armed, and syncs wait while they are held.
struct Mined {
    store: MemoryStore,
    armed: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
}

impl Mined {
    fn of(store: &MemoryStore) -> Self {
        Self { store: store.clone(), armed: Arc::default(), held: Arc::default() }
    }
}

impl Layer for Mined {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let writer = self.store.create(options)?;
        let (armed, held) = (Arc::clone(&self.armed), Arc::clone(&self.held));
        let is_log = options.kind == FileKind::Log;
        Ok(if is_log { Box::new(MinedLog { writer, armed, held }) } else { writer })
    }
}

struct MinedLog {
    writer: Box<dyn FileWriter>,
    armed: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
}

impl FileWriter for MinedLog {
    fn id(&self) -> FileId {
        self.writer.id()
    }

    fn len(&self) -> u64 {
        self.writer.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.writer.append(bytes)
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.writer.write_out()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        assert!(!self.armed.swap(false, Ordering::Relaxed), "the mine goes off");
        while self.held.load(Ordering::Relaxed) {
            runner::sleep(Duration::from_micros(1));
        }
        self.writer.sync()
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.writer.finish()
    }
}

/// Results of a writer's batches.
#[derive(Default)]
struct Met {
    acknowledged: Vec<[u8; 8]>,
    refused: u32,
    panics: u32,
}

/// Writes synced entries until one is refused, and three more.
fn write(engine: &Engine, writer: u32, armed: &AtomicBool) -> Met {
    let mut met = Met::default();
    for number in 0..10_000_u32 {
        let mut key = [0; 8];
        key[..4].copy_from_slice(&writer.to_be_bytes());
        key[4..].copy_from_slice(&number.to_be_bytes());
        let mut batch = Batch::new();
        batch.put(SPACE, &key, b"value");
        if writer == 0 && number == 20 {
            armed.store(true, Ordering::Relaxed);
        }
        match catch_unwind(AssertUnwindSafe(|| engine.write(batch, Durability::Synced))) {
            Ok(Ok(())) => {
                assert_eq!(met.refused + met.panics, 0, "a write after the panic succeeds");
                met.acknowledged.push(key);
            }
            Ok(Err(Error::Panicked | Error::Stopped { .. })) => met.refused += 1,
            Ok(Err(other)) => panic!("a bug in the log, not {other}"),
            Err(_) => met.panics += 1,
        }
        if met.refused + met.panics == 4 {
            return met;
        }
    }
    panic!("no write was refused")
}

fn crowd(store: MemoryStore) {
    let mined = Mined::of(&store);
    let armed = Arc::clone(&mined.armed);
    let engine = Arc::new(Engine::open(Arc::new(mined), decider(), options()).expect("an engine"));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (engine, armed) = (Arc::clone(&engine), Arc::clone(&armed));
            runner::spawn("writer", move || write(&engine, writer, &armed))
        })
        .collect();
    let met: Vec<Met> = writers.into_iter().map(runner::JoinHandle::join).collect();
    assert_eq!(met.iter().map(|met| met.panics).sum::<u32>(), 1, "the leader panics, nobody else");
    let all = || met.iter().flat_map(|met| &met.acknowledged);
    for key in all() {
        assert!(engine.get(SPACE, key).expect("a read").is_some(), "reads go on");
    }
    let refused = engine.resume().expect_err("what is in memory cannot be trusted");
    assert!(refused.to_string().contains("panicked"), "{refused}");
    drop(engine.close());
    drop(engine);
    let engine = open(&store);
    for key in all() {
        assert!(engine.get(SPACE, key).expect("a read").is_some(), "an acknowledged write is lost");
    }
}

/// While a writer syncs, three others queue: they are one group, and one of them leads it. The
/// leader panics in its sync.
pub(crate) fn a_leader_of_others_panics(seed: u64) {
    runner::simulate(seed, || {
        let store = slow_store(seed);
        let mined = Mined::of(&store);
        let (armed, held) = (Arc::clone(&mined.armed), Arc::clone(&mined.held));
        let engine = Engine::open(Arc::new(mined), decider(), options()).expect("an engine");
        let engine = Arc::new(engine);
        let writer = |key: u8| {
            let engine = Arc::clone(&engine);
            runner::spawn("writer", move || {
                let mut batch = Batch::new();
                batch.put(SPACE, &[key], b"value");
                catch_unwind(AssertUnwindSafe(|| engine.write(batch, Durability::Synced)))
            })
        };
        held.store(true, Ordering::Relaxed);
        let first = writer(0);
        // It begins its sync, and stays there until the others have queued.
        runner::sleep(Duration::from_secs(1));
        let group: Vec<_> = (1..4).map(writer).collect();
        runner::sleep(Duration::from_secs(1));
        armed.store(true, Ordering::Relaxed);
        held.store(false, Ordering::Relaxed);
        first.join().expect("no panic").expect("the first write");
        let mut met = (0, 0);
        for writer in group {
            match writer.join() {
                Err(_) => met.0 += 1,
                // Writers after the panic get the error of a stopped log instead.
                Ok(Err(Error::Panicked)) => met.1 += 1,
                Ok(other) => panic!("a batch of a leader that panicked: {other:?}"),
            }
        }
        assert_eq!(met, (1, 2), "one leader of a group of three");
        assert!(engine.get(SPACE, &[0]).expect("a read").is_some());
        for key in 1..4 {
            assert_eq!(engine.get(SPACE, &[key]).expect("a read"), None, "a batch that failed");
        }
        drop(engine.close());
        drop(engine);
        // One append: found as a whole or not at all.
        let engine = open(&store);
        let there = (1..4).filter(|key| engine.get(SPACE, &[*key]).expect("a read").is_some());
        assert!([0, 3].contains(&there.count()), "a part of a group");
    });
}

#[test]
fn a_group_of_several_fails_whole_when_its_leader_panics() {
    for seed in test_seeds(10) {
        a_leader_of_others_panics(seed);
    }
}

#[test]
fn a_leader_that_panics_fails_its_group_and_nobody_waits_for_it_in_simulations() {
    for seed in test_seeds(20) {
        runner::simulate(seed, || crowd(slow_store(seed)));
    }
}

#[test]
fn a_leader_that_panics_fails_its_group_and_nobody_waits_for_it_on_threads() {
    for _ in 0..5 {
        crowd(MemoryStore::new());
    }
}
