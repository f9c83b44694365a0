//! Leaders that panic in a sync of the log: the other batches of the leader's group get an error,
//! later writers are refused, and nobody waits for ever. Reads go on, the engine cannot be resumed,
//! and the next opening finds all acknowledged writes. In simulations and on real threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, Layer, MemoryStore, Store, StoreError,
};
use terrace_env::{FileId, runner, test_seeds};
use terrace_lsm::{Batch, Durability, Engine, Error, KeySpaceId};

use crate::model::{decider, open, options, slow_store};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

/// A store in which the next sync of a log panics, once armed.
struct Mined {
    store: MemoryStore,
    armed: Arc<AtomicBool>,
}

impl Layer for Mined {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let writer = self.store.create(options)?;
        let armed = Arc::clone(&self.armed);
        let is_log = options.kind == FileKind::Log;
        Ok(if is_log { Box::new(MinedLog { writer, armed }) } else { writer })
    }
}

struct MinedLog {
    writer: Box<dyn FileWriter>,
    armed: Arc<AtomicBool>,
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
    let armed = Arc::new(AtomicBool::new(false));
    let mined = Mined { store: store.clone(), armed: Arc::clone(&armed) };
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
