//! A full store: puts are refused, reads and deletes go on, and space that is freed is used again.
//! A refusal is an error of space and stops nothing: the same put succeeds later. Most of the
//! stores hold a MiB at most, and keep a part of it for jobs: flushes and compactions. In two tests
//! the store has space, and refuses to commit new logs, or to create tables, as if it had none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{
    Change as StoreChange, CrashMode, CreateOptions, FileKind, FileWriter, Layer, MemoryStore,
    Rank, Reservation, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId, runner, test_seeds};
use terrace_lsm::{Bounds, Durability, Engine, EngineOptions, KeySpaceId};
use terrace_policy::{Compaction, Cut, Route};

use crate::faults::no_space;
use crate::model::{Change, Contents, Model, batch, contents, decider, open, options, try_open};
use crate::routed::{self, Routed, to};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Puts new keys until the store is full; returns their number.
fn fill(engine: &Engine, expected: &mut Contents, next: &mut u32) -> u32 {
    let mut random = Random::seeded(u64::from(*next));
    for count in 0..10_000 {
        let mut value = vec![0; 300];
        random.fill_bytes(&mut value);
        let write = (SPACE, key(*next), Some(value.clone()));
        match engine.write(batch(&[write]), Durability::Gathered) {
            Ok(()) => {
                expected.insert((SPACE, key(*next)), value);
                *next += 1;
            }
            Err(error) => {
                assert!(error.is_space(), "{error}");
                return count;
            }
        }
    }
    panic!("a store of half a MiB never gets full");
}

#[test]
fn a_full_store_is_filled_emptied_and_filled_again() {
    for seed in test_seeds(3) {
        runner::simulate(seed, || {
            let store = MemoryStore::new().with_capacity(ByteCount::kib(660), ByteCount::kib(60));
            let engine = open(&store);
            let (mut expected, mut next) = (Contents::new(), 0);
            let mut filled = Vec::new();
            for _ in 0..8 {
                filled.push(fill(&engine, &mut expected, &mut next));
                assert_eq!(contents(&engine), expected);
                let doomed: Vec<_> = expected.keys().cloned().collect();
                for (space, key) in doomed {
                    engine.write(batch(&[(space, key.clone(), None)]), Durability::Synced).unwrap();
                    expected.remove(&(space, key));
                }
                assert_eq!(contents(&engine), expected);
                // The space is freed without a request.
                runner::sleep(Duration::from_secs(5));
            }
            assert!(filled.iter().all(|&count| count > 300), "seed {seed}: {filled:?}");
            assert_eq!(engine.stats().failure, None);
        });
    }
}

/// Another user takes the space that a merge of all runs would need: it is refused, and the tree
/// stays as it is until covered tables are dropped, which needs no space.
#[test]
fn a_full_store_drops_what_a_range_delete_covers_once_the_snapshot_ends_that_kept_it() {
    runner::simulate(1, || {
        let store = MemoryStore::new().with_capacity(ByteCount::mib(4), ByteCount(0));
        let last = Route { end: None, to: to(2), stream: 18, cut: Cut::at(ByteCount::mib(8)) };
        let decider = Routed::new(vec![last]);
        let shared = Arc::clone(&decider) as Arc<dyn Compaction>;
        let engine = Engine::open(Arc::new(store.clone()), shared, routed::options()).unwrap();
        let (mut model, mut random) = (Model::default(), Random::seeded(1));
        for number in 0..2 {
            let puts = (0..50).map(|at| routed::put(&mut random, 2 * at + number, 10 << 10));
            routed::write(&engine, &mut model, puts.collect());
            engine.flush().unwrap();
        }
        let (snapshot, seen) = (engine.snapshot(), contents(&engine));
        let space = store.space();
        let free = space.free.0 - space.reserved.0;
        let taken = store.reserve(Rank::Flush, ByteCount(free - (60 << 10))).unwrap();
        routed::write(&engine, &mut model, vec![Change::Range(SPACE, key(0), Some(key(100)))]);
        engine.flush().unwrap();
        runner::sleep(Duration::from_secs(5));
        let in_tables = || engine.stats().levels.iter().map(|level| level.bytes).sum::<u64>();
        assert!(in_tables() > 900 << 10 && engine.stats().compaction_steps == 0);
        let scan = snapshot.scan(SPACE, &Bounds::all()).unwrap();
        assert_eq!(scan.count(), seen.len());
        drop(snapshot);
        runner::sleep(Duration::from_secs(5));
        assert!(in_tables() < 10 << 10, "{}", in_tables());
        assert_eq!(engine.stats().compaction_steps, 0);
        assert_eq!(contents(&engine), model.now);
        drop(taken);
    });
}

/// Merges that were refused before a client's request do not count against the request.
#[test]
fn a_manual_compaction_is_tried_again_however_often_others_found_no_space() {
    runner::simulate(1, || {
        let store = MemoryStore::new().with_capacity(ByteCount::mib(4), ByteCount(0));
        let last = Route { end: None, to: to(2), stream: 18, cut: Cut::at(ByteCount::mib(8)) };
        let decider = Routed::new(vec![last]) as Arc<dyn Compaction>;
        let engine = Engine::open(Arc::new(store.clone()), decider, routed::options()).unwrap();
        let (mut model, mut random) = (Model::default(), Random::seeded(1));
        for number in 0..2 {
            let puts = (0..50).map(|at| routed::put(&mut random, 2 * at + number, 10 << 10));
            routed::write(&engine, &mut model, puts.collect());
            engine.flush().unwrap();
        }
        let space = store.space();
        let free = space.free.0 - space.reserved.0;
        let taken = store.reserve(Rank::Flush, ByteCount(free - (60 << 10))).unwrap();
        routed::write(&engine, &mut model, vec![Change::Key((SPACE, key(200), None))]);
        engine.flush().unwrap();
        runner::sleep(Duration::from_secs(5));
        assert_eq!(engine.stats().compaction_steps, 0, "the merge finds no space");
        let engine = Arc::new(engine);
        let client = Arc::clone(&engine);
        let asked = runner::spawn("client", move || client.compact_all());
        // Enough time for a try or two.
        runner::sleep(Duration::from_millis(700));
        drop(taken);
        asked.join().expect("a compaction once there is space");
        engine.wait_idle().unwrap();
        assert_eq!(contents(&engine), model.now);
    });
}

/// Puts and deletes its own keys for a while; returns their expected contents, and the number of
/// refusals.
fn come_and_go(engine: &Engine, client: u8, random: &mut Random) -> (Contents, u32) {
    let (mut held, mut refused) = (Contents::new(), 0);
    for _ in 0..1500 {
        let key = vec![client, random.random_range(0..200)];
        let value = random.random_bool(0.7).then(|| {
            let mut value = vec![0; random.random_range(0..2000)];
            random.fill_bytes(&mut value);
            value
        });
        let write = (SPACE, key.clone(), value.clone());
        match engine.write(batch(&[write]), Durability::Gathered) {
            Ok(()) => match value {
                Some(value) => drop(held.insert((SPACE, key), value)),
                None => drop(held.remove(&(SPACE, key))),
            },
            Err(error) => {
                assert!(error.is_space(), "{error}");
                refused += 1;
                runner::sleep(Duration::from_millis(random.random_range(0..20)));
            }
        }
    }
    (held, refused)
}

#[test]
fn a_crowd_on_a_full_store_keeps_what_it_was_promised() {
    for seed in test_seeds(4) {
        runner::simulate(seed, || {
            let mut random = Random::seeded(seed);
            let store = MemoryStore::new().with_capacity(ByteCount::kib(700), ByteCount::kib(40));
            let engine = Arc::new(open(&store));
            let clients: Vec<_> = (0..5u8)
                .map(|client| {
                    let (engine, mut random) = (Arc::clone(&engine), random.fork());
                    runner::spawn("client", move || come_and_go(&engine, client, &mut random))
                })
                .collect();
            let (mut held, mut refusals) = (Contents::new(), 0);
            for client in clients {
                let (of_client, refused) = client.join();
                held.extend(of_client);
                refusals += refused;
            }
            assert!(refusals > 0, "seed {seed}: the store was never full");
            assert_eq!(contents(&engine), held, "seed {seed}");
            assert!(engine.stats().failure.is_none());
            assert!(engine.verify().unwrap().tables > 0);
        });
    }
}

#[test]
fn overwriting_goes_on_in_a_store_that_is_nearly_full() {
    runner::simulate(1, || {
        let store = MemoryStore::new().with_capacity(ByteCount::mib(1), ByteCount::kib(60));
        let engine = open(&store);
        let mut refused = 0;
        for round in 0..30u32 {
            for number in 0..1000 {
                let mut value = vec![0; 300];
                Random::seeded(u64::from(round * 1000 + number)).fill_bytes(&mut value);
                let write = [(SPACE, key(number * 7919 % 1000), Some(value))];
                while engine.write(batch(&write), Durability::Gathered).is_err() {
                    refused += 1;
                    assert!(refused < 10_000, "round {round}: {:?}", engine.stats());
                    runner::sleep(Duration::from_millis(5));
                }
            }
        }
        assert_eq!(contents(&engine).len(), 1000);
    });
}

/// A store in which a compaction waits for each of its tables, as on a slow disk.
struct SlowCompactions(MemoryStore);

impl Layer for SlowCompactions {
    fn below(&self) -> &dyn Store {
        &self.0
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        if options.cause == Cause::Compaction {
            runner::sleep(Duration::from_millis(1500));
        }
        self.0.create(options)
    }
}

#[test]
fn a_put_waits_for_a_slow_compaction_that_frees_space_and_is_not_refused() {
    runner::simulate(1, || {
        let store = MemoryStore::new().with_capacity(ByteCount::mib(2), ByteCount::kib(60));
        let store = Arc::new(SlowCompactions(store)) as Arc<dyn Store>;
        let engine = Engine::open(store, decider(), options()).unwrap();
        for number in 0..9_000 {
            let mut value = vec![0; 300];
            Random::seeded(u64::from(number)).fill_bytes(&mut value);
            let write = [(SPACE, key(number * 7919 % 1500), Some(value))];
            let written = engine.write(batch(&write), Durability::Gathered);
            assert!(written.is_ok(), "write {number}: {written:?}");
        }
        assert_eq!(contents(&engine).len(), 1500);
    });
}

/// A store that reserves nothing for flushes.
struct RefusesReservations {
    store: MemoryStore,
    refused: AtomicU64,
}

impl Layer for RefusesReservations {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn reserve(&self, rank: Rank, bytes: ByteCount) -> Result<Reservation, StoreError> {
        if rank != Rank::Flush {
            return self.store.reserve(rank, bytes);
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(no_space(rank))
    }
}

/// After a power cut, its flush has no reservation of its own, and the free space is enough.
#[test]
fn a_replayed_memtable_is_flushed_without_a_reservation() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        for number in 0..100 {
            let write = [(SPACE, key(number), Some(vec![1; 300]))];
            engine.write(batch(&write), Durability::Synced).unwrap();
        }
        let before = contents(&engine);
        let store = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
        let store = Arc::new(RefusesReservations { store, refused: AtomicU64::new(0) });
        let engine = Engine::open(store.clone() as Arc<dyn Store>, decider(), options()).unwrap();
        engine.flush().unwrap();
        assert!(store.refused.load(Ordering::Relaxed) > 0 && engine.stats().flushes > 0);
        assert_eq!(contents(&engine), before);
    });
}

/// A store that refuses to commit new logs, a given number of times, because its journal has no
/// space.
struct RefusesLogs {
    store: MemoryStore,
    logs: Mutex<Vec<FileId>>,
    refusals: AtomicU64,
}

impl Layer for RefusesLogs {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let writer = self.store.create(options)?;
        if options.kind == FileKind::Log {
            self.logs.lock().push(writer.id());
        }
        Ok(writer)
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        let creates_log = transaction.changes().iter().any(|change| {
            matches!(change, StoreChange::Create { id, .. } if self.logs.lock().contains(id))
        });
        let refused = |left: u64| left.checked_sub(1);
        if creates_log
            && self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, refused).is_ok()
        {
            return Err(no_space(Rank::Journal));
        }
        self.store.commit(transaction)
    }
}

#[test]
fn a_log_that_cannot_be_committed_for_lack_of_space_is_begun_again() {
    for refusals in 1..4 {
        runner::simulate(refusals, || {
            let store = MemoryStore::new();
            let layer = Arc::new(RefusesLogs {
                store: store.clone(),
                logs: Mutex::default(),
                refusals: AtomicU64::new(0),
            });
            let options = EngineOptions { memtable_size: ByteCount::kib(256), ..options() };
            let engine = Engine::open(Arc::clone(&layer) as _, decider(), options).unwrap();
            let (mut model, mut random) = (Model::default(), Random::seeded(refusals));
            let mut put = |number: u32| {
                let change = vec![routed::put(&mut random, number, 300)];
                let written = engine.write(batch(&change), Durability::Synced);
                if written.is_ok() {
                    model.write(change);
                    model.synced();
                }
                written
            };
            // The writes are too few for a preallocated log.
            put(1).unwrap();
            layer.refusals.store(refusals, Ordering::Relaxed);
            // The log is given up, and the next writers begin a new one.
            let rotated = engine.flush();
            assert_eq!(rotated.is_ok(), refusals == 1, "{rotated:?}");
            for _ in 2..refusals {
                assert!(put(2).unwrap_err().is_space());
            }
            put(3).unwrap();
            assert_eq!(layer.refusals.load(Ordering::Relaxed), 0);
            assert!(engine.stats().failure.is_none());
            assert_eq!(contents(&engine), model.now);
            let survivor = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(refusals));
            assert_eq!(contents(&try_open(&survivor).unwrap()), model.now);
        });
    }
}

/// A store that refuses to create tables for flushes, for compactions or for both, as if it were
/// full.
#[derive(Default)]
struct RefusesTables {
    store: MemoryStore,
    flushes: Tries,
    compactions: Tries,
}

/// Whether tries are refused, and the number of refusals.
#[derive(Default)]
struct Tries {
    refusing: AtomicBool,
    refused: AtomicU64,
}

impl Layer for RefusesTables {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let tries = match options.cause {
            Cause::Flush => &self.flushes,
            Cause::Compaction => &self.compactions,
            _ => return self.store.create(options),
        };
        if !tries.refusing.load(Ordering::Relaxed) {
            return self.store.create(options);
        }
        // A try takes some time: otherwise an endless row of them would stop the clock.
        runner::sleep(Duration::from_millis(1));
        tries.refused.fetch_add(1, Ordering::Relaxed);
        Err(no_space(options.rank))
    }
}

/// A store with space for a number of further tables of flushes.
struct FewTables {
    store: MemoryStore,
    left: AtomicU64,
    refused: AtomicU64,
}

impl FewTables {
    fn of(store: MemoryStore, left: u64) -> Arc<Self> {
        Arc::new(Self { store, left: AtomicU64::new(left), refused: AtomicU64::new(0) })
    }
}

impl Layer for FewTables {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let less = |left: u64| left.checked_sub(1);
        let is_table = options.kind == FileKind::Table && options.cause == Cause::Flush;
        if is_table && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(no_space(options.rank));
        }
        self.store.create(options)
    }
}

/// An opening finds logs of several times the memory budget, and no space for a flush: for none, or
/// not for all of the entries that it reads.
pub(crate) fn no_room_at_an_opening(seed: u64) {
    for tables in [0, 1, 3] {
        runner::simulate(seed, || {
            let (mut model, mut random) = (Model::default(), Random::seeded(seed));
            let large = EngineOptions {
                memtable_size: ByteCount::mib(1),
                memtables_max: 4,
                memory: ByteCount::mib(64),
                ..options()
            };
            let full = FewTables::of(MemoryStore::new(), 0);
            let engine = Engine::open(Arc::clone(&full) as _, decider(), large).unwrap();
            for number in 0..2_500 {
                let change = vec![routed::put(&mut random, number % 2_000, 1_000)];
                engine.write(batch(&change), Durability::Synced).unwrap();
                model.write(change);
            }
            let store = full.store.crash(CrashMode::DropUnsynced, &mut random);
            drop(engine);
            let logs = store.list().into_iter().filter(|file| file.kind == FileKind::Log);
            assert!(logs.count() > 2, "several logs");
            let small = EngineOptions { table_size: ByteCount::mib(1), ..options() };
            let full = FewTables::of(store.clone(), tables);
            let engine = Engine::open(Arc::clone(&full) as _, decider(), small.clone()).unwrap();
            assert!(full.refused.load(Ordering::Relaxed) > 0, "no flush was refused");
            assert_eq!(contents(&engine), model.now);
            drop(engine);
            // The same again, after the first opening.
            let full = FewTables::of(store.clone(), 0);
            let engine = Engine::open(Arc::clone(&full) as _, decider(), small.clone()).unwrap();
            assert_eq!(contents(&engine), model.now);
            full.left.store(u64::MAX, Ordering::Relaxed);
            engine.flush().unwrap();
            routed::write(&engine, &mut model, vec![routed::put(&mut random, 1, 300)]);
            engine.close().unwrap();
            drop(engine);
            let engine = Engine::open(Arc::new(store), decider(), small).unwrap();
            assert_eq!(contents(&engine), model.now);
        });
    }
}

#[test]
fn no_room_for_a_flush_at_an_opening_leaves_a_store_that_opens() {
    no_room_at_an_opening(1);
}

/// A flush and a compaction find no space for a while. Neither may be tried more than about twice a
/// second.
pub(crate) fn lack_of_space(seed: u64) {
    runner::simulate(seed, || {
        let layer = Arc::new(RefusesTables::default());
        let last = Route { end: None, to: to(2), stream: 18, cut: Cut::at(ByteCount::mib(8)) };
        let decider = Routed::new(vec![last]) as Arc<dyn Compaction>;
        let engine = Engine::open(Arc::clone(&layer) as _, decider, routed::options()).unwrap();
        let (mut model, mut random) = (Model::default(), Random::seeded(seed));
        let mut put = |number| {
            routed::write(&engine, &mut model, vec![routed::put(&mut random, number, 300)]);
        };
        layer.compactions.refusing.store(true, Ordering::Relaxed);
        for number in 0..routed::RUNS as u32 {
            put(number);
            engine.flush().unwrap();
        }
        layer.flushes.refusing.store(true, Ordering::Relaxed);
        put(100);
        assert!(engine.flush().unwrap_err().is_space());
        runner::sleep(Duration::from_secs(5));
        let refused = || {
            let tries = [&layer.flushes, &layer.compactions];
            tries.map(|tries| tries.refused.load(Ordering::Relaxed))
        };
        let before = refused();
        runner::sleep(Duration::from_secs(10));
        let tries = [0, 1].map(|job| refused()[job] - before[job]);
        println!("{tries:?} tries in 10 seconds");
        assert!(tries.iter().all(|tries| (10..=22).contains(tries)), "{tries:?} in 10 seconds");
        // A flush that succeeds is news for the compaction, and each finds space within its time.
        layer.compactions.refusing.store(false, Ordering::Relaxed);
        layer.flushes.refusing.store(false, Ordering::Relaxed);
        runner::sleep(Duration::from_millis(600));
        let stats = engine.stats();
        assert_eq!((stats.flushes, stats.compactions), (routed::RUNS as u64 + 1, 1));
        engine.wait_idle().unwrap();
        assert_eq!(contents(&engine), model.now);
    });
}

#[test]
fn a_flush_and_a_compaction_that_find_no_space_do_not_wake_each_other() {
    (0..3).for_each(lack_of_space);
}
