//! A log in the space that a store keeps for deletes takes no puts: otherwise they would use up the
//! space by which a full store can be emptied. Puts here have a mark, and a layer looks for it in
//! the bytes of these logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, Layer, MemoryStore, Rank, Store, StoreError,
};
use terrace_env::{ByteCount, FileId, runner, test_seeds};
use terrace_lsm::{Durability, Engine, KeySpaceId};

use crate::faults::no_space;
use crate::model::{batch, decider, options};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
/// Begin of the value of each put.
const MARK: &[u8] = b"the value of a put";

/// A store that counts the appends to logs in the kept space, and can refuse all other logs.
#[derive(Default)]
struct Watched {
    store: MemoryStore,
    refuses: AtomicBool,
    appends: Arc<AtomicU64>,
}

impl Layer for Watched {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let is_urgent = options.rank == Rank::UrgentLog;
        if options.kind != FileKind::Log || !is_urgent && !self.refuses.load(Ordering::Relaxed) {
            return self.store.create(options);
        }
        if !is_urgent {
            return Err(no_space(options.rank));
        }
        let (writer, appends) = (self.store.create(options)?, Arc::clone(&self.appends));
        Ok(Box::new(WatchedLog { writer, appends }))
    }
}

struct WatchedLog {
    writer: Box<dyn FileWriter>,
    appends: Arc<AtomicU64>,
}

impl FileWriter for WatchedLog {
    fn id(&self) -> FileId {
        self.writer.id()
    }

    fn len(&self) -> u64 {
        self.writer.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let has_put = bytes.windows(MARK.len()).any(|window| window == MARK);
        assert!(!has_put, "a put in the space that is kept for deletes");
        self.appends.fetch_add(1, Ordering::Relaxed);
        self.writer.append(bytes)
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.writer.write_out()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.writer.sync()
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.writer.finish()
    }
}

/// Puts and deletes keys, in a store that at times has no space for a log; returns the number of
/// appends to logs in the kept space.
fn come_and_go(seed: u64) -> u64 {
    let mut random = Random::seeded(seed);
    let store = MemoryStore::new().with_capacity(ByteCount::kib(700), ByteCount::kib(40));
    let layer = Arc::new(Watched { store, ..Watched::default() });
    let engine = Engine::open(Arc::clone(&layer) as _, decider(), options()).unwrap();
    for _ in 0..4000 {
        let key = random.random_range(0..400_u16).to_be_bytes().to_vec();
        let value = random.random_bool(0.6).then(|| {
            let mut value = MARK.to_vec();
            value.resize(MARK.len() + random.random_range(0..1500), 7);
            value
        });
        if let Err(error) = engine.write(batch(&[(SPACE, key, value)]), Durability::Gathered) {
            assert!(error.is_space(), "{error}");
            runner::sleep(Duration::from_millis(random.random_range(0..20)));
        }
        if random.random_bool(0.01) {
            layer.refuses.store(random.random(), Ordering::Relaxed);
        }
    }
    layer.refuses.store(false, Ordering::Relaxed);
    runner::sleep(Duration::from_secs(5));
    engine.write(batch(&[(SPACE, vec![0], Some(MARK.to_vec()))]), Durability::Synced).unwrap();
    layer.appends.load(Ordering::Relaxed)
}

#[test]
fn a_log_in_the_space_that_is_kept_for_deletes_takes_no_puts() {
    let appends: u64 = test_seeds(4).map(|seed| runner::simulate(seed, || come_and_go(seed))).sum();
    assert!(appends > 10, "only {appends} appends: this test could not fail");
}
