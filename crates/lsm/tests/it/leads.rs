//! Leaders that panic in a sync of the log: the other batches of the leader's group get an error,
//! later writers are refused, and no writer waits for ever. Reads go on, the engine cannot be
//! resumed, and the next opening finds all acknowledged writes. In simulations and on real threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::store::{
    CrashMode, CreateOptions, FileKind, FileWriter, Layer, MemoryStore, Store, StoreError,
};
use terrace_env::{FileId, runner, test_seeds};
use terrace_lsm::{Batch, Durability, Engine, Error, KeySpaceId};

use crate::model::{decider, open, options, slow_store};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

/// A store in which one sync of a log panics, and syncs wait while they are held.
struct Mined {
    store: MemoryStore,
    /// Syncs that are spared before the one that panics; none does if there are none of these.
    spared: Arc<AtomicI64>,
    held: Arc<AtomicBool>,
}

impl Mined {
    /// A store whose mine goes off after `spared` syncs of logs; never, if that is negative.
    fn of(store: &MemoryStore, spared: i64) -> Self {
        let spared = Arc::new(AtomicI64::new(spared));
        Self { store: store.clone(), spared, held: Arc::default() }
    }
}

impl Layer for Mined {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let writer = self.store.create(options)?;
        let (spared, held) = (Arc::clone(&self.spared), Arc::clone(&self.held));
        let is_log = options.kind == FileKind::Log;
        Ok(if is_log { Box::new(MinedLog { writer, spared, held }) } else { writer })
    }
}

struct MinedLog {
    writer: Box<dyn FileWriter>,
    spared: Arc<AtomicI64>,
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
        let spared = self.spared.fetch_sub(1, Ordering::Relaxed);
        assert_ne!(spared, 0, "the mine goes off");
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
    /// Batches of the leader's group, without the leader's; in `refused`, too.
    followed: u32,
    panics: u32,
}

/// Writes synced entries until one is refused, and three more.
fn write(engine: &Engine, writer: u32) -> Met {
    let mut met = Met::default();
    for number in 0..10_000_u32 {
        let mut key = [0; 8];
        key[..4].copy_from_slice(&writer.to_be_bytes());
        key[4..].copy_from_slice(&number.to_be_bytes());
        let mut batch = Batch::new();
        batch.put(SPACE, &key, b"value");
        match catch_unwind(AssertUnwindSafe(|| engine.write(batch, Durability::Synced))) {
            Ok(Ok(())) => {
                assert_eq!(met.refused + met.panics, 0, "a write after the panic succeeds");
                met.acknowledged.push(key);
            }
            Ok(Err(error @ (Error::Panicked | Error::Stopped { .. }))) => {
                met.refused += 1;
                met.followed += u32::from(matches!(error, Error::Panicked));
            }
            Ok(Err(other)) => panic!("a bug in the log, not {other}"),
            Err(_) => met.panics += 1,
        }
        if met.refused + met.panics == 4 {
            return met;
        }
    }
    panic!("no write was refused")
}

/// Four writers, of whom one panics in its lead, after `spared` syncs. Returns the number of the
/// batches that it led in addition to its own.
pub(crate) fn crowd(store: MemoryStore, spared: i64) -> u32 {
    let mined = Mined::of(&store, spared);
    let engine = Arc::new(Engine::open(Arc::new(mined), decider(), options()).expect("an engine"));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let engine = Arc::clone(&engine);
            runner::spawn("writer", move || write(&engine, writer))
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
    let survivor = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(0));
    let engine = open(&survivor);
    for key in all() {
        assert!(engine.get(SPACE, key).expect("a read").is_some(), "an acknowledged write is lost");
    }
    met.iter().map(|met| met.followed).sum()
}

/// While a writer syncs, three others queue: they are one group, and one of them leads it. The
/// leader panics in its sync.
pub(crate) fn a_leader_of_others_panics(seed: u64) {
    runner::simulate(seed, || {
        let store = slow_store(seed);
        let mined = Mined::of(&store, -1);
        let (spared, held) = (Arc::clone(&mined.spared), Arc::clone(&mined.held));
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
        spared.store(0, Ordering::Relaxed);
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
    // Writers of a simulation are in step, so groups of one and of several take turns: the mine
    // goes off at a different sync for each seed.
    let (mut alone, mut followers) = (0, 0);
    for seed in test_seeds(20) {
        let spared = 20 + seed as i64 % 20;
        let followed = runner::simulate(seed, || crowd(slow_store(seed), spared));
        followers += followed;
        alone += u32::from(followed == 0);
    }
    if test_seeds(20).count() >= 20 {
        assert!(followers >= 20, "leaders of others: {followers} followers in all");
        assert!(alone > 0, "no leader was alone");
    }
}

#[test]
fn a_leader_that_panics_fails_its_group_and_nobody_waits_for_it_on_threads() {
    for spared in 20..25 {
        crowd(MemoryStore::new(), spared);
    }
}
