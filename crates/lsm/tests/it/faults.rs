//! Operations of the store that fail, once or from some operation on. A failure under a write or a
//! job stops all writes, and reads go on; `resume` makes the engine go on if the store works again,
//! unless a commit could not be shown to readers. A failure under a reader is an error for the
//! reader, and stops nothing. After any failure, the next opening finds a prefix of the batches,
//! with all that were synced. (Lack of space is in `full`.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::store::{
    Change, CrashMode, CreateOptions, Failure, FileKind, FileReader, FileWriter, Layer,
    MemoryStore, Rank, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, FileId, runner, test_seeds};
use terrace_lsm::{Durability, Engine, Error, KeySpaceId};

use crate::model::{self, Model, Write, batch, contents, try_open};

fn write(number: u64) -> Vec<Write> {
    let key = |n: u64| (n * 7919 % 300).to_be_bytes().to_vec();
    let value = format!("{number}").repeat(30).into_bytes();
    vec![
        (KeySpaceId(0), key(number), Some(value.clone())),
        (KeySpaceId(0), key(number + 1), None),
        (KeySpaceId(0), key(number + 2), Some(value)),
    ]
}

/// Writes until a batch fails or `count` batches are written.
fn write_until_failure(engine: &Engine, model: &mut Model, count: u64) -> Option<Error> {
    for number in 0..count {
        let synced = number % 5 == 0;
        let durability = if synced { Durability::Synced } else { Durability::Gathered };
        let result = engine.write(batch(&write(number)), durability);
        // Even if it was refused, it may be found after a power cut.
        model.write(write(number));
        if let Err(error) = result {
            return Some(error);
        }
        if synced {
            model.synced();
        }
    }
    engine.wait_idle().err()
}

/// Whether the failure occurred.
fn survive(seed: u64, nth: u64, failure: Failure) -> bool {
    let store = MemoryStore::new();
    store.fail_at(nth, failure);
    let mut model = Model::default();
    let mut failed = false;
    if let Ok(engine) = try_open(&store)
        && let Some(error) = write_until_failure(&engine, &mut model, 400)
    {
        failed = true;
        assert!(!error.is_space(), "{error}");
        let again = engine.write(batch(&write(1)), Durability::Gathered).unwrap_err();
        assert!(matches!(again, Error::Stopped { .. }), "{again}");
        assert!(engine.stats().failure.is_some());
        // Reads go on.
        contents(&engine);
    }
    let survivor = store.crash(CrashMode::TearUnsynced, &mut Random::seeded(seed));
    let engine = try_open(&survivor).expect("an engine after the failure");
    model.recovered(contents(&engine));
    assert!(write_until_failure(&engine, &mut model, 50).is_none());
    assert_eq!(contents(&engine), model.now);
    failed
}

#[test]
fn a_failure_stops_writes_and_loses_nothing() {
    let seeds = test_seeds(60);
    let (count, mut failures) = (seeds.end - seeds.start, 0);
    for seed in seeds {
        let failure = if seed % 2 == 0 { Failure::Sticky } else { Failure::Once };
        let failed = runner::simulate(seed, || survive(seed, seed * 37 % 700, failure));
        failures += u64::from(failed);
    }
    assert!(failures * 3 >= count - 1, "only {failures} of {count} runs met a failure");
}

/// Goes on after the failure; returns whether it occurred.
fn go_on(seed: u64, nth: u64, failure: Failure) -> bool {
    let store = MemoryStore::new();
    store.fail_at(nth, failure);
    let mut model = Model::default();
    let Ok(engine) = try_open(&store) else { return false };
    let Some(error) = write_until_failure(&engine, &mut model, 400) else {
        engine.resume().expect("nothing to be done");
        return false;
    };
    if failure == Failure::Sticky {
        let again = engine.resume().expect_err("a store that goes on failing");
        assert!(!error.is_space() && !again.is_space(), "{error}; {again}");
        let refused = engine.compact_all().unwrap_err();
        assert!(matches!(refused, Error::Stopped { .. }), "{refused}");
        return true;
    }
    engine.resume().unwrap_or_else(|again| panic!("{again} after {error}"));
    assert!(engine.stats().failure.is_none());
    // The write that failed has taken effect as a whole, or not at all.
    model.recovered(contents(&engine));
    let mut random = Random::seeded(seed);
    for mode in [CrashMode::DropUnsynced, CrashMode::KeepUnsynced] {
        let survivor = try_open(&store.crash(mode, &mut random)).expect("an engine");
        assert_eq!(contents(&survivor), model.now, "{mode:?}");
    }
    assert!(write_until_failure(&engine, &mut model, 100).is_none());
    engine.compact_all().unwrap();
    assert_eq!(contents(&engine), model.now);
    true
}

#[test]
fn an_engine_goes_on_after_a_failure_and_what_was_written_is_durable() {
    let seeds = test_seeds(60);
    let (count, mut failures) = (seeds.end - seeds.start, 0);
    for seed in seeds {
        let failure = if seed % 4 == 0 { Failure::Sticky } else { Failure::Once };
        let failed = runner::simulate(seed, || go_on(seed, seed * 41 % 700, failure));
        failures += u64::from(failed);
    }
    assert!(failures * 3 >= count - 1, "only {failures} of {count} runs met a failure");
}

#[test]
fn who_waits_for_a_compaction_is_told_of_its_failure_and_may_ask_again() {
    let mut told: u64 = 0;
    for nth in 0..30 {
        runner::simulate(nth, || {
            let store = model::slow_store(nth);
            let engine = model::open(&store);
            let mut model = Model::default();
            assert!(write_until_failure(&engine, &mut model, 120).is_none());
            store.fail_at(store.operations() + nth, Failure::Once);
            if let Err(error) = engine.compact_all() {
                assert!(!error.is_space() && engine.stats().failure.is_some(), "{error}");
                told += u64::from(matches!(error, Error::Stopped { .. }));
                engine.resume().unwrap();
                engine.compact_all().unwrap();
            }
            assert_eq!(contents(&engine), model.now);
        });
    }
    assert!(told > 10, "only {told} failures were met");
}

#[test]
fn a_failed_read_is_told_and_stops_nothing() {
    runner::simulate(1, || {
        let store = model::slow_store(1);
        let engine = model::open(&store);
        let mut model = Model::default();
        assert!(write_until_failure(&engine, &mut model, 200).is_none());
        engine.compact_all().unwrap();
        drop(engine);
        let engine = model::open(&store);
        engine.wait_idle().unwrap();
        let ((space, key), value) = model.now.first_key_value().unwrap();
        store.fail_at(store.operations(), Failure::Once);
        assert!(engine.get(*space, key).is_err());
        assert_eq!(engine.get(*space, key).unwrap().as_deref(), Some(&value[..]));
        engine.write(batch(&write(1)), Durability::Synced).unwrap();
    });
}

/// A store in which the next opening of a table fails, once armed.
struct FailsOpens {
    store: MemoryStore,
    told: AtomicBool,
}

impl Layer for FailsOpens {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        if self.told.swap(false, Ordering::Relaxed) {
            return Err(StoreError::io("open", std::io::Error::other("an injected failure")));
        }
        self.store.open(id)
    }
}

#[test]
fn a_committed_change_that_cannot_be_shown_stops_the_engine_until_the_next_opening() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let layer = FailsOpens { store: store.clone(), told: AtomicBool::new(false) };
        let (layer, decider) = (Arc::new(layer), model::decider());
        let engine = Engine::open(Arc::clone(&layer) as _, decider, model::options()).unwrap();
        let mut model = Model::default();
        assert!(write_until_failure(&engine, &mut model, 4).is_none());
        layer.told.store(true, Ordering::Relaxed);
        engine.flush().and_then(|()| engine.wait_idle()).unwrap_err();
        assert!(!layer.told.load(Ordering::Relaxed));
        for _ in 0..2 {
            let error = engine.resume().unwrap_err().to_string();
            assert!(error.contains("an injected failure"), "{error}");
        }
        engine.write(batch(&write(1)), Durability::Gathered).unwrap_err();
        assert_eq!(contents(&engine), model.now);
        drop(engine);
        let engine = try_open(&store).unwrap();
        assert_eq!(contents(&engine), model.now);
        assert!(write_until_failure(&engine, &mut model, 50).is_none());
    });
}

/// A store that fails to create a log, or has no space for a commit that only deletes, once armed.
struct Failing {
    store: MemoryStore,
    create: AtomicBool,
    delete: AtomicBool,
}

/// The error of a store that has no space for a request of this rank.
pub(crate) fn no_space(rank: Rank) -> StoreError {
    let (needed, available) = (ByteCount::kib(4), ByteCount(0));
    StoreError::NoSpace { rank, needed, available, on_host: false, empty: false, device: None }
}

impl Layer for Failing {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        if options.kind == FileKind::Log && self.create.swap(false, Ordering::Relaxed) {
            return Err(StoreError::io("create", std::io::Error::other("an injected failure")));
        }
        self.store.create(options)
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        let deletes = |change: &Change| matches!(change, Change::Delete { .. });
        if transaction.changes().iter().all(deletes) && self.delete.swap(false, Ordering::Relaxed) {
            return Err(no_space(Rank::Journal));
        }
        self.store.commit(transaction)
    }
}

/// A store in which the next sync of a log fails with an error, once one is set.
struct Unsynced {
    store: MemoryStore,
    error: Arc<Mutex<Option<StoreError>>>,
}

impl Layer for Unsynced {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let (writer, error) = (self.store.create(options)?, Arc::clone(&self.error));
        let is_log = options.kind == FileKind::Log;
        Ok(if is_log { Box::new(UnsyncedLog { writer, error }) } else { writer })
    }
}

struct UnsyncedLog {
    writer: Box<dyn FileWriter>,
    error: Arc<Mutex<Option<StoreError>>>,
}

impl FileWriter for UnsyncedLog {
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
        self.error.lock().take().map_or_else(|| self.writer.sync(), Err)
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.writer.finish()
    }
}

/// The sync of the old log fails when the engine changes to the preallocated log, for lack of space
/// or for another reason. Neither log stays.
pub(crate) fn a_switch_of_logs_fails(seed: u64) {
    let broken = || StoreError::io("sync", std::io::Error::other("an injected failure"));
    for error in [no_space(Rank::Log), broken()] {
        runner::simulate(seed, || {
            let (store, next) = (MemoryStore::new(), Arc::default());
            let layer = Unsynced { store: store.clone(), error: Arc::clone(&next) };
            let (decider, options) = (model::decider(), model::options());
            let engine = Engine::open(Arc::new(layer), decider, options).unwrap();
            let logs = || {
                let files = store.list().into_iter();
                files
                    .filter(|file| file.kind == FileKind::Log)
                    .map(|log| log.id)
                    .collect::<Vec<_>>()
            };
            // Only the change to another log syncs them.
            let put = |number: u64| {
                let key = number.to_be_bytes().to_vec();
                let write = vec![(KeySpaceId(0), key, Some(vec![1; 4000]))];
                let written = engine.write(batch(&write), Durability::Gathered);
                runner::sleep(Duration::from_secs(1));
                written
            };
            put(1).unwrap();
            let before = logs();
            assert_eq!(before.len(), 2, "one was made ahead");
            put(2).unwrap();
            let is_space = matches!(error, StoreError::NoSpace { .. });
            *next.lock() = Some(error.clone());
            assert_eq!(put(3).is_ok(), is_space, "what has no log goes to tables");
            assert!(next.lock().is_none(), "the sync has failed");
            engine.resume().unwrap();
            put(4).unwrap();
            runner::sleep(Duration::from_secs(5));
            let after = logs();
            assert!(before.iter().all(|log| !after.contains(log)), "{before:?}, {after:?}");
            assert!(after.len() <= 2, "{after:?}");
            assert_eq!(contents(&engine).len(), if is_space { 4 } else { 3 });
        });
    }
}

#[test]
fn a_log_that_cannot_be_switched_to_is_not_left_in_the_store() {
    a_switch_of_logs_fails(1);
}

#[test]
fn an_overtaken_log_is_deleted_though_the_next_one_could_not_be_made() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let (create, delete) = (AtomicBool::new(false), AtomicBool::new(false));
        let layer = Arc::new(Failing { store: store.clone(), create, delete });
        let (decider, options) = (model::decider(), model::options());
        let engine = Engine::open(Arc::clone(&layer) as _, decider, options).unwrap();
        // More than half a memtable, and time for the creation of the next log.
        let put = |number: u64| {
            let write = vec![(KeySpaceId(0), number.to_be_bytes().to_vec(), Some(vec![1; 4000]))];
            let written = engine.write(batch(&write), Durability::Synced);
            runner::sleep(Duration::from_secs(1));
            written
        };
        let logs = || {
            let files = store.list().into_iter();
            files.filter(|file| file.kind == FileKind::Log).map(|log| log.id).collect::<Vec<_>>()
        };
        put(1).unwrap();
        let overtaken = logs()[1];
        store.fail_at(store.operations(), Failure::Once);
        put(2).unwrap_err();
        layer.delete.store(true, Ordering::Relaxed);
        engine.resume().unwrap();
        runner::sleep(Duration::from_secs(1));
        assert!(logs().contains(&overtaken) && !layer.delete.load(Ordering::Relaxed));
        layer.create.store(true, Ordering::Relaxed);
        put(3).unwrap();
        assert!(engine.stats().failure.is_some() && !layer.create.load(Ordering::Relaxed));
        engine.resume().unwrap();
        put(4).unwrap();
        assert!(!logs().contains(&overtaken), "{:?}", logs());
        assert_eq!(logs().len(), 2);
        assert_eq!(contents(&engine).len(), 3);
    });
}
