//! Reads and writes as futures: they return what calls return, for any number of them at once; a
//! future that is dropped leaves nothing half done; a close answers all.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::future::{join, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt, TryStreamExt};
use terrace::{
    AsyncDb, AsyncKeySpace, Batch, Bounds, ByteCount, Db, Durability, Error, ErrorKind,
    FormatOptions, MemoryStore, Options, ReadOptions, Swap,
};
use terrace_env::random::{Random, Rng};
use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{runner, test_seeds};
use terrace_zone::timing::Drive;
use terrace_zone::{Emulator, PowerCut};

use crate::devices::{Contents, contents, drive, options};

/// Wakes the actor that waits in [`block_on`].
#[derive(Default)]
struct Signal {
    is_woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock() = true;
        self.changed.notify_all();
    }
}

/// Waits for a future, on threads and in simulations.
fn block_on<F: Future>(future: F) -> F::Output {
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        let mut is_woken = signal.is_woken.lock();
        signal.changed.wait_while(&mut is_woken, |is_woken| !*is_woken);
        *is_woken = false;
    }
}

/// Polls a future once: it has submitted its operation, and has no answer.
fn begin<F: Future + Unpin>(future: &mut F) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

fn in_memory() -> AsyncDb {
    AsyncDb::new(Db::open(Arc::new(MemoryStore::new()), options()).unwrap())
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// A value that tells its key.
fn value(number: u32) -> Vec<u8> {
    format!("the value of {number}, {}", "x".repeat(number as usize % 90)).into_bytes()
}

/// A store whose even keys have values, in tables.
fn filled(db: Db, count: u32) -> AsyncDb {
    for number in (0..count).step_by(2) {
        db.put(&key(number), &value(number)).unwrap();
    }
    db.flush().unwrap();
    AsyncDb::new(db)
}

#[test]
fn ten_thousand_gets_at_once_return_what_gets_return() {
    const KEYS: u32 = 10_000;
    let place = tempfile::tempdir().unwrap();
    let db = Db::open_directory(place.path().join("store"), options()).unwrap();
    let db = filled(db, KEYS);
    let gets: FuturesUnordered<_> = (0..KEYS)
        .map(|number| {
            let get = db.get(&key(number));
            async move { (number, get.await) }
        })
        .collect();
    let found: BTreeMap<_, _> = block_on(gets.collect::<Vec<_>>()).into_iter().collect();
    assert_eq!(found.len(), KEYS as usize);
    for (number, found) in found {
        let expected = number.is_multiple_of(2).then(|| value(number));
        assert_eq!(found.unwrap().map(|value| value.to_vec()), expected, "key {number}");
    }
    let contained = block_on(join_all((0..100).map(|number| db.contains(&key(number)))));
    for (number, contained) in (0..).zip(contained) {
        assert_eq!(contained.unwrap(), number % 2 == 0, "key {number}");
    }
    let keys: Vec<_> = (0..100).rev().map(key).collect();
    let several = block_on(db.multi_get(&keys)).unwrap();
    assert_eq!(several, db.db().multi_get(&keys).unwrap());
    db.db().clone().close().unwrap();
}

#[test]
fn writes_at_once_share_groups_and_writes_of_a_task_are_in_its_order() {
    runner::simulate(1, || {
        let db = in_memory();
        let task = |task: u32| {
            let db = &db;
            async move {
                for turn in 0..10u32 {
                    db.put(&key(task), &turn.to_be_bytes()).await.unwrap();
                    let found = db.get(&key(task)).await.unwrap().unwrap();
                    assert_eq!(found, turn.to_be_bytes().as_slice(), "task {task}");
                }
            }
        };
        block_on(join_all((0..500).map(task)));
        let stats = db.db().stats();
        assert_eq!(stats.entries_written, 5_000);
        assert!(stats.groups <= 500, "{} groups of 5,000 writes", stats.groups);
        db.db().clone().close().unwrap();
    });
}

#[test]
fn scans_return_the_entries_of_their_begin_from_both_ends() {
    runner::simulate(1, || {
        let db = filled(Db::open(Arc::new(MemoryStore::new()), options()).unwrap(), 5_000);
        let expected = contents(db.db());
        let (forward, backward) = (db.scan(..).unwrap(), db.scan(..).unwrap().rev());
        let snapshot = db.db().snapshot();
        block_on(async {
            db.delete_range(key(100).as_slice()..&key(4_000)).await.unwrap();
            let pairs = |scan: terrace::AsyncScan| {
                scan.map_ok(|(key, value)| (key.to_vec(), value.to_vec()))
            };
            let forward: Vec<_> = pairs(forward).try_collect().await.unwrap();
            assert!(forward.iter().map(|(key, _)| key).is_sorted());
            assert_eq!(forward.iter().cloned().collect::<Contents>(), expected);
            let mut backward: Vec<_> = pairs(backward).try_collect().await.unwrap();
            backward.reverse();
            assert_eq!(backward, forward);
            let seen: Vec<_> =
                pairs(db.walk(snapshot.scan(..).unwrap())).try_collect().await.unwrap();
            assert_eq!(seen, forward);
            let mut left = db.scan(Bounds::prefix(&[0, 0, 0, 1])).unwrap();
            assert!(left.next().await.unwrap().is_none(), "they were deleted");
            assert!(left.next().await.unwrap().is_none(), "and the end is the end");
        });
    });
}

#[test]
fn a_future_that_is_dropped_leaves_nothing_half_done() {
    for seed in test_seeds(20) {
        runner::simulate(seed, || {
            let (db, mut random) = (in_memory(), Random::seeded(seed));
            let mut scan = db.scan(..).unwrap();
            for number in 0..200u32 {
                let mut batch = Batch::new();
                batch.put(&key(number), b"one").put(&key(1_000 + number), b"two");
                let mut write = db.write(batch);
                let mut get = db.get(&key(number));
                assert!(begin(&mut write) && begin(&mut get));
                let mut next = Box::pin(scan.next());
                if random.random_bool(0.5) {
                    runner::yield_now();
                }
                let _ = begin(&mut next);
                drop((write, get, next));
                if random.random_bool(0.1) {
                    block_on(db.get(&key(number))).unwrap();
                }
            }
            block_on(db.sync()).unwrap();
            let seen = contents(db.db());
            for number in 0..200 {
                let one = seen.contains_key(key(number).as_slice());
                let two = seen.contains_key(key(1_000 + number).as_slice());
                assert_eq!(one, two, "batch {number}");
            }
            assert!(block_on(scan.next()).unwrap().is_none(), "it began before the writes");
            db.db().clone().close().unwrap();
        });
    }
}

#[test]
fn an_operation_whose_future_is_dropped_before_it_begins_is_not_done() {
    runner::simulate(1, || {
        let db = in_memory();
        drop(db.put(b"key", b"value"));
        assert!(!db.db().contains(b"key").unwrap(), "it was not even polled");
        let mut put = db.put(b"key", b"value");
        assert!(begin(&mut put), "no actor has run yet");
        drop(put);
        block_on(db.sync()).unwrap();
        assert!(!db.db().contains(b"key").unwrap(), "it was taken out");
        let mut put = db.put(b"key", b"value");
        assert!(begin(&mut put));
        block_on(put).unwrap();
        assert!(db.db().contains(b"key").unwrap());
    });
}

#[test]
fn a_close_answers_every_future_and_no_acknowledged_write_is_lost() {
    for seed in test_seeds(20) {
        runner::simulate(seed, || {
            let store = Arc::new(MemoryStore::new());
            let db = AsyncDb::new(Db::open(Arc::clone(&store) as _, options()).unwrap());
            let writer = {
                let db = db.clone();
                runner::spawn("tasks", move || {
                    let task = |number: u32| {
                        let db = db.clone();
                        async move {
                            for turn in 0u32.. {
                                let put = db.put(&key(number), &turn.to_be_bytes()).await;
                                let read = db.get(&key(number)).await;
                                if let Err(error) = put.and(read.map(drop)) {
                                    return (turn, error.kind());
                                }
                            }
                            unreachable!("the store is closed at last")
                        }
                    };
                    block_on(join_all((0..50).map(task)))
                })
            };
            runner::sleep(std::time::Duration::from_micros(seed % 7 * 100));
            db.db().clone().close().unwrap();
            let ends = writer.join();
            let late = block_on(db.get(b"key")).unwrap_err();
            assert_eq!(late.kind(), ErrorKind::Closed);
            assert!(block_on(db.put(b"key", b"")).is_err() && block_on(db.sync()).is_err());
            let db = Db::open(store, options()).unwrap();
            for (number, (turn, kind)) in (0..).zip(ends) {
                assert_eq!(kind, ErrorKind::Closed);
                let found = db.get(&key(number)).unwrap();
                let found = found.map(|value| u32::from_be_bytes(value[..].try_into().unwrap()));
                // The last one may have been applied without being acknowledged.
                assert!(found == turn.checked_sub(1) || found == Some(turn), "key {number}");
            }
            db.close().unwrap();
        });
    }
}

#[test]
fn what_is_awaited_with_synced_survives_a_power_cut() {
    for seed in test_seeds(8) {
        runner::simulate(seed, || {
            let drive = drive(ByteCount::mib(1), 64, seed);
            let format = FormatOptions::default();
            let db = Db::create_device(drive.clone(), &format, options()).unwrap();
            let synced = AsyncDb::new(db.with_durability(Durability::Synced));
            let acknowledged = AtomicUsize::new(0);
            let task = |task: u32| {
                let (synced, db, acknowledged) = (&synced, AsyncDb::new(db.clone()), &acknowledged);
                async move {
                    for turn in 1..=6u32 {
                        let mut batch = Batch::new();
                        batch.put(&key(task), &turn.to_be_bytes());
                        batch.put(&key(1_000 + task), &turn.to_be_bytes());
                        synced.write(batch).await.unwrap();
                        acknowledged.fetch_add(1, Ordering::Relaxed);
                        // Not synced, and in the same groups.
                        db.put(&key(2_000 + task), b"may be lost").await.unwrap();
                    }
                }
            };
            block_on(join_all((0..40).map(task)));
            let mut random = Random::seeded(seed);
            drive.power_cut(PowerCut::Blocks, &mut random).unwrap();
            drop((synced, db));
            drive.power_on();
            let db = Db::open_device(drive.clone(), options()).unwrap();
            assert_eq!(acknowledged.load(Ordering::Relaxed), 240);
            for task in 0..40 {
                for number in [task, 1_000 + task] {
                    let found = db.get(&key(number)).unwrap();
                    assert_eq!(found.as_deref(), Some(6u32.to_be_bytes().as_slice()));
                }
            }
            db.close().unwrap();
        });
    }
}

/// Changes of the keys of one task.
async fn change(db: &AsyncDb, task: u32, mut random: Random) -> Result<Contents, Error> {
    let mut held = Contents::new();
    let mine = |number: u32| key(task << 16 | number);
    for _ in 0..60 {
        let number = random.random_range(0..20);
        match random.random_range(0..10) {
            0..4 => {
                let value = value(random.random_range(0..1_000));
                db.put(&mine(number), &value).await?;
                held.insert(mine(number).to_vec(), value);
            }
            4 => {
                db.delete(&mine(number)).await?;
                held.remove(mine(number).as_slice());
            }
            5 => {
                let (from, to) = (mine(number), mine(number + 4));
                db.delete_range(from.as_slice()..&to).await?;
                held.retain(|key, _| !(from.as_slice()..to.as_slice()).contains(&&**key));
            }
            6 => {
                let mut scan = db.scan(Bounds::prefix(&mine(0)[..2]))?;
                for (key, value) in &held {
                    let found = scan.next().await?.expect("another entry");
                    assert_eq!((&*found.0, &*found.1), (&**key, &**value));
                }
                assert!(scan.next().await?.is_none());
            }
            7 => {
                let keys: Vec<_> = (0..20).map(mine).collect();
                for (key, found) in keys.iter().zip(db.multi_get(&keys).await?) {
                    assert_eq!(found.as_deref(), held.get(key.as_slice()).map(Vec::as_slice));
                }
            }
            _ => {
                let (found, contained) = (db.get(&mine(number)), db.contains(&mine(number)));
                let (found, contained) = (found.await?, contained.await?);
                assert_eq!(contained, found.is_some());
                let expected = held.get(mine(number).as_slice());
                assert_eq!(found.as_deref(), expected.map(Vec::as_slice));
            }
        }
    }
    Ok(held)
}

#[test]
fn tasks_see_what_an_ordered_map_shows() {
    for seed in test_seeds(8) {
        let changes = || {
            let (db, mut random) = (in_memory(), Random::seeded(seed));
            let mut expected = Contents::new();
            for _ in 0..3 {
                let task = |task| change(&db, task, Random::seeded(random.random()));
                let tasks: Vec<_> = (0..30).map(task).collect();
                for held in block_on(join_all(tasks)) {
                    expected.extend(held.unwrap());
                }
                assert_eq!(contents(db.db()), expected);
                block_on(db.delete_range(..)).unwrap();
                expected.clear();
                db.db().flush().unwrap();
            }
            db.db().clone().close().unwrap();
        };
        runner::simulate(seed, changes);
        changes();
    }
}

#[test]
fn errors_are_those_of_calls_and_of_one_operation_alone() {
    let db = in_memory();
    let (kept, dropped) =
        (db.db().create_key_space("kept").unwrap(), db.db().create_key_space("dropped").unwrap());
    let (kept, dropped) = (AsyncKeySpace::new(kept), AsyncKeySpace::new(dropped));
    db.db().drop_key_space("dropped").unwrap();
    block_on(async {
        let (put, get) = (dropped.put(b"key", b"value"), dropped.get(b"key"));
        let long = db.put(&[0; 70_000], b"value");
        let writes = join_all([kept.put(b"key", b"value"), put, long, db.put(b"key", b"value")]);
        let (writes, read) = join(writes, get).await;
        let kinds: Vec<_> =
            writes.iter().map(|write| write.as_ref().err().map(Error::kind)).collect();
        let unknown = Some(ErrorKind::UnknownKeySpace);
        assert_eq!(kinds, [None, unknown, Some(ErrorKind::TooLarge), None]);
        let error = read.unwrap_err();
        assert!(error.to_string().contains("\"dropped\""), "{error}");
        assert_eq!(kept.get(b"key").await.unwrap().as_deref(), Some(&b"value"[..]));

        let other = in_memory();
        let mut batch = Batch::new();
        batch.key_space(kept.key_space()).put(b"key", b"value");
        let error = other.write(batch).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OtherStore);
    });
}

#[test]
fn futures_may_be_spawned_and_end_with_a_handle_that_is_gone() {
    let db = in_memory();
    let put = db.put(b"key", b"value");
    let get = db.get(b"key");
    drop(db);
    let thread = runner::spawn("task", move || {
        block_on(async move {
            put.await?;
            get.await
        })
    });
    assert_eq!(thread.join().unwrap().as_deref(), Some(&b"value"[..]));
}

#[test]
fn gets_at_once_use_the_queue_of_a_drive() {
    const ENTRIES: u32 = 8_000;
    const READS: usize = 512;
    let times = runner::simulate(1, || {
        let (model, scale) = (Drive::find("wd-zn540").unwrap(), "1/1".parse().unwrap());
        let device = Emulator::modelled(&model, scale, ByteCount::gib(192), 1).unwrap();
        let small = Options::default().memtable_size(ByteCount::mib(1));
        let db = Db::create_device(Arc::new(device), &FormatOptions::default(), small).unwrap();
        for number in 0..ENTRIES {
            db.put(&key(number), &[7; 1000]).unwrap();
        }
        db.flush().unwrap();
        db.wait_idle().unwrap();
        // Indexes are in memory, blocks are not.
        let cold = db.with_read_options(ReadOptions::default().fill_cache(false));
        let mut random = Random::seeded(1);
        let keys: Vec<_> = (0..READS).map(|_| key(random.random_range(0..ENTRIES))).collect();
        assert!(keys.iter().all(|key| cold.contains(key).unwrap()));
        let start = runner::now();
        assert!(keys.iter().all(|key| cold.get(key).unwrap().is_some()));
        let calls = runner::now().since(start);
        let (futures, start) = (AsyncDb::new(cold), runner::now());
        let found = block_on(join_all(keys.iter().map(|key| futures.get(key))));
        assert!(found.into_iter().all(|found| found.unwrap().is_some()));
        let futures = runner::now().since(start);
        db.close().unwrap();
        (calls, futures)
    });
    let (calls, futures) = times;
    println!("{READS} gets: {calls:?} by calls, {futures:?} by futures");
    assert!(futures * 6 < calls, "{futures:?} by futures, {calls:?} by calls");
}

#[test]
fn of_conditional_writes_at_once_one_succeeds_and_a_counter_loses_nothing() {
    let db = in_memory();
    let puts = (0..50_u8).map(|number| db.put_if(b"first", None, &[number]));
    let put: Vec<bool> = block_on(join_all(puts)).into_iter().map(Result::unwrap).collect();
    assert_eq!(put.iter().filter(|put| **put).count(), 1);
    let winner = put.iter().position(|put| *put).unwrap() as u8;
    assert_eq!(db.db().get(b"first").unwrap().as_deref(), Some(&[winner][..]));
    assert!(!block_on(db.delete_if(b"first", &[winner + 1])).unwrap());
    assert!(block_on(db.delete_if(b"first", &[winner])).unwrap());
    let count = async |db: &AsyncDb| {
        let mut before: Option<u8> = None;
        loop {
            let (expected, new) = (before.map(|count| [count]), [before.unwrap_or(0) + 1]);
            let expected = expected.as_ref().map(|count| &count[..]);
            match db.compare_and_swap(b"count", expected, Some(&new)).await.unwrap() {
                Swap::Swapped => break,
                Swap::Kept(found) => before = found.map(|bytes| bytes[0]),
            }
        }
    };
    block_on(join_all((0..40).map(|_| count(&db))));
    assert_eq!(db.db().get(b"count").unwrap().as_deref(), Some(&[40][..]));
    db.db().clone().close().unwrap();
}

#[test]
fn transactions_as_futures_keep_a_sum_and_one_that_is_committed_late_conflicts() {
    let db = in_memory();
    (0..4_u8).for_each(|account| db.db().put(&[account], &[100]).unwrap());
    let transfers = (0..60_u8).map(|number| {
        db.transact(move |transaction| {
            let (from, to) = ([number % 4], [(number + 1 + number / 4 % 3) % 4]);
            let held = |key: &[u8]| Ok::<_, Error>(transaction.get(key)?.unwrap()[0]);
            let (left, added) = (held(&from)? - 1, held(&to)? + 1);
            transaction.put(&from, &[left])?;
            transaction.put(&to, &[added])
        })
    });
    block_on(join_all(transfers)).into_iter().for_each(|done| done.unwrap());
    let sum: u32 =
        (0..4_u8).map(|account| u32::from(db.db().get(&[account]).unwrap().unwrap()[0])).sum();
    assert_eq!(sum, 400);
    let transaction = db.db().transaction().unwrap();
    transaction.get(&[0]).unwrap();
    transaction.put(&[1], b"late").unwrap();
    block_on(db.put(&[0], b"changed")).unwrap();
    let error = block_on(db.commit(transaction)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    db.db().clone().close().unwrap();
}

#[test]
fn a_flush_and_other_calls_are_futures_and_keep_no_get_waiting() {
    runner::simulate(1, || {
        let db = in_memory();
        block_on(db.put(b"key", b"value")).unwrap();
        let ended = Arc::new(AtomicUsize::default());
        let long: Vec<_> = (0..4)
            .map(|_| {
                let ended = Arc::clone(&ended);
                Box::pin(db.call(move |_| {
                    runner::sleep(Duration::from_secs(1));
                    ended.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                }))
            })
            .collect();
        let mut long: Vec<_> = long
            .into_iter()
            .map(|mut call| {
                assert!(begin(&mut call));
                call
            })
            .collect();
        assert_eq!(block_on(db.get(b"key")).unwrap().as_deref(), Some(&b"value"[..]));
        assert_eq!(ended.load(Ordering::Relaxed), 0, "the get was first");
        // It waits for an actor.
        let mut dropped = Box::pin(db.call(|db| db.put(b"dropped", b"")));
        assert!(begin(&mut dropped));
        drop(dropped);
        block_on(join_all(long.drain(..))).into_iter().for_each(|done| done.unwrap());
        assert_eq!(ended.load(Ordering::Relaxed), 4);
        let before = db.db().stats().flushes;
        block_on(db.flush()).unwrap();
        assert_eq!(db.db().stats().flushes, before + 1);
        assert!(!db.db().contains(b"dropped").unwrap(), "its future was dropped before it began");
        db.db().clone().close().unwrap();
        let error = block_on(db.flush()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    });
}

#[test]
fn a_panic_of_work_is_that_of_its_future_and_other_work_goes_on() {
    let db = in_memory();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        block_on(db.call(|_| -> Result<(), Error> { panic!("of the work") }))
    }));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"of the work"));
    assert!(block_on(db.call(|db| db.contains(b"key"))).is_ok());
    // Its own handle may be the last.
    let call = db.call(|db| Ok(db.stats().flushes));
    drop(db);
    block_on(call).unwrap();
}
