//! Entries that expire: unseen from their date on in every read, and dropped by the next merge; old
//! stores stay readable. Dates are those of the simulation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use terrace_env::random::{Random, RngCore};
use terrace_env::store::{CrashMode, Latency, MemoryStore};
use terrace_env::{Date, runner};
use terrace_lsm::{Batch, Bounds, Durability, Engine, Error, KeySpaceId, ReadOptions, Stats, Swap};

use crate::model::{self, open};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
const HOUR: Duration = Duration::from_secs(3600);

fn put(engine: &Engine, key: &[u8], value: &[u8], expiry: Option<Date>) {
    let mut batch = Batch::new();
    match expiry {
        Some(expiry) => batch.put_with_expiry(SPACE, key, value, expiry),
        None => batch.put(SPACE, key, value),
    };
    engine.write(batch, Durability::Gathered).unwrap();
}

fn pass(time: Duration) {
    runner::set_date(runner::date() + time);
}

/// The value of the key `b`, between the keys `a` and `c`, in which all ways to read agree.
fn seen(engine: &Engine) -> Option<Vec<u8>> {
    let options = ReadOptions::default();
    let value = engine.get(SPACE, b"b").unwrap().map(|value| value.to_vec());
    let there = value.is_some();
    assert_eq!(engine.contains(SPACE, b"b", options).unwrap(), there);
    let several = engine.multi_get(SPACE, &[b"c", b"b", b"a"], options).unwrap();
    assert_eq!(several[1].as_deref(), value.as_deref());
    assert!(several[0].is_some() && several[2].is_some());
    let only = Bounds::from(b"b".to_vec()..=b"b".to_vec());
    assert_eq!(engine.is_empty(SPACE, &only).unwrap(), !there);
    let forward: Vec<_> = engine.scan(SPACE, &Bounds::all()).unwrap().map(Result::unwrap).collect();
    let mut backward: Vec<_> =
        engine.scan(SPACE, &Bounds::all()).unwrap().rev().map(Result::unwrap).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    assert_eq!(forward.len(), 2 + usize::from(there));
    let scanned = forward.iter().find(|(key, _)| key == &b"b"[..]);
    assert_eq!(scanned.map(|(_, value)| &value[..]), value.as_deref());
    let mut cursor = engine.cursor(SPACE, &Bounds::all()).unwrap();
    assert!(cursor.seek(b"b").unwrap());
    assert_eq!(cursor.key(), if there { b"b" } else { b"c" });
    assert!(cursor.seek_back(b"b").unwrap());
    assert_eq!(cursor.key(), if there { b"b" } else { b"a" });
    if let Some(value) = &value {
        assert_eq!(cursor.value(), &value[..]);
        assert!(cursor.prev().unwrap() && cursor.next().unwrap());
        assert_eq!(cursor.value(), &value[..]);
    }
    let transaction = engine.transaction().unwrap();
    assert_eq!(transaction.get(SPACE, b"b", options).unwrap().as_deref(), value.as_deref());
    assert_eq!(transaction.contains(SPACE, b"b", options).unwrap(), there);
    let scanned = transaction.scan(SPACE, &Bounds::all()).unwrap().count();
    assert_eq!(scanned, forward.len());
    let snapshot = engine.snapshot();
    assert_eq!(snapshot.get(SPACE, b"b").unwrap().as_deref(), value.as_deref());
    value
}

fn expired_bytes(stats: &Stats) -> u64 {
    stats.levels.iter().map(|level| level.expired_bytes).sum()
}

fn entries(engine: &Engine) -> u64 {
    engine.stats().levels.iter().map(|level| level.entries).sum()
}

#[test]
fn an_expired_entry_is_unseen_at_once_in_memory_in_tables_and_after_an_opening() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let mut engine = open(&store);
        for key in [b"a", b"c"] {
            put(&engine, key, b"stays", None);
        }
        for round in 0..4 {
            put(&engine, b"b", b"older", None);
            if round % 2 == 1 {
                engine.flush().unwrap();
            }
            let expiry = runner::date() + HOUR;
            put(&engine, b"b", b"value", Some(expiry));
            match round {
                0 => {}
                1 => engine.flush().unwrap(),
                2 => {
                    engine.sync().unwrap();
                    let crashed = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
                    engine = open(&crashed);
                }
                _ => engine.compact_all().unwrap(),
            }
            assert_eq!(seen(&engine).as_deref(), Some(&b"value"[..]), "round {round}");
            pass(HOUR - Duration::from_millis(1));
            // The clock of the simulation has gone on as well.
            runner::set_date(Date(expiry.0 - 1));
            assert_eq!(seen(&engine).as_deref(), Some(&b"value"[..]), "round {round}");
            runner::set_date(expiry);
            assert_eq!(seen(&engine), None, "round {round}: the older value is hidden");
            engine.compact_all().unwrap();
            assert_eq!(seen(&engine), None, "round {round}");
            assert_eq!(entries(&engine), 2, "round {round}: nothing of it is left");
        }
        engine.verify().unwrap();
    });
}

#[test]
fn a_put_that_has_expired_before_it_is_written_is_a_delete() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        for key in [b"a", b"b", b"c"] {
            put(&engine, key, b"stays", None);
        }
        put(&engine, b"b", b"late", Some(Date(0)));
        assert_eq!(seen(&engine), None);
        put(&engine, b"b", b"again", None);
        assert_eq!(seen(&engine).as_deref(), Some(&b"again"[..]));
        put(&engine, b"b", b"never", Some(Date::MAX));
        assert_eq!(seen(&engine).as_deref(), Some(&b"never"[..]));
    });
}

#[test]
fn tables_count_what_has_expired_and_rest_and_compactions_free_it() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let expiry = runner::date() + HOUR;
        for number in 0..400_u32 {
            let expiry = (number % 2 == 0).then_some(expiry);
            put(&engine, &number.to_be_bytes(), &[7; 100], expiry);
        }
        engine.compact_all().unwrap();
        assert_eq!((expired_bytes(&engine.stats()), entries(&engine)), (0, 400));
        runner::set_date(expiry);
        let stats = engine.stats();
        let held: u64 = stats.levels.iter().map(|level| level.bytes).sum();
        let expired = expired_bytes(&stats);
        assert!(expired > held / 3 && expired < held, "{expired} of {held}");
        engine.compact_all().unwrap();
        assert_eq!((expired_bytes(&engine.stats()), entries(&engine)), (0, 200));
        let visible = engine.scan(SPACE, &Bounds::all()).unwrap().count();
        assert_eq!(visible, 200);
    });
}

#[test]
fn an_idle_store_looks_again_once_entries_have_expired() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let expiry = runner::date() + HOUR;
        for number in 0..400_u32 {
            put(&engine, &number.to_be_bytes(), &[7; 100], Some(expiry));
        }
        engine.compact_all().unwrap();
        engine.wait_idle().unwrap();
        runner::set_date(expiry);
        assert!(expired_bytes(&engine.stats()) > 0);
        // Any change wakes the jobs: here, one small flush.
        put(&engine, b"z", b"", None);
        engine.flush().unwrap();
        engine.wait_idle().unwrap();
        assert_eq!(expired_bytes(&engine.stats()), 0);
        assert_eq!(entries(&engine), 1);
    });
}

#[test]
fn a_snapshot_goes_by_the_date_of_the_read_and_keeps_older_versions_hidden() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        put(&engine, b"b", b"older", None);
        let first = engine.snapshot();
        put(&engine, b"b", b"value", Some(runner::date() + HOUR));
        let second = engine.snapshot();
        put(&engine, b"b", b"newer", None);
        let get = |snapshot: &terrace_lsm::Snapshot| snapshot.get(SPACE, b"b").unwrap();
        for merged in [false, true] {
            if merged {
                engine.compact_all().unwrap();
            }
            assert_eq!(get(&first).as_deref(), Some(&b"older"[..]));
            assert_eq!(get(&second).as_deref(), Some(&b"value"[..]));
        }
        pass(HOUR * 2);
        for merged in [false, true] {
            if merged {
                put(&engine, b"a", b"", None);
                engine.compact_all().unwrap();
            }
            assert_eq!(get(&first).as_deref(), Some(&b"older"[..]));
            assert_eq!(get(&second), None, "and not the older value");
            assert_eq!(engine.get(SPACE, b"b").unwrap().as_deref(), Some(&b"newer"[..]));
        }
    });
}

#[test]
fn a_transaction_conflicts_with_the_expiry_of_what_it_has_read() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let options = ReadOptions::default();
        let begin = |read: fn(&terrace_lsm::Transaction)| {
            put(&engine, b"b", b"value", Some(runner::date() + HOUR));
            put(&engine, b"c", b"stays", None);
            let transaction = engine.transaction().unwrap();
            read(&transaction);
            transaction.put(SPACE, b"other", b"").unwrap();
            transaction
        };
        let reads: [fn(&terrace_lsm::Transaction); 4] = [
            |t| assert!(t.get(SPACE, b"b", ReadOptions::default()).unwrap().is_some()),
            |t| assert!(t.contains(SPACE, b"b", ReadOptions::default()).unwrap()),
            |t| assert_eq!(t.scan(SPACE, &Bounds::prefix(b"b")).unwrap().count(), 1),
            |t| assert_eq!(t.scan(SPACE, &Bounds::prefix(b"b")).unwrap().rev().count(), 1),
        ];
        for read in reads {
            begin(read).commit(Durability::Gathered).unwrap();
            let transaction = begin(read);
            pass(HOUR);
            let error = transaction.commit(Durability::Gathered).unwrap_err();
            let Error::Conflict(conflict) = &error else { panic!("{error}") };
            assert_eq!(conflict.start, b"b");
        }
        let transaction = begin(|t| {
            assert!(t.get(SPACE, b"c", ReadOptions::default()).unwrap().is_some());
        });
        pass(HOUR);
        transaction.commit(Durability::Gathered).unwrap();
        // Own writes expire as well.
        let transaction = engine.transaction().unwrap();
        transaction.put_with_expiry(SPACE, b"d", b"own", runner::date() + HOUR).unwrap();
        assert!(transaction.get(SPACE, b"d", options).unwrap().is_some());
        assert_eq!(transaction.scan(SPACE, &Bounds::prefix(b"d")).unwrap().count(), 1);
        pass(HOUR);
        assert!(!transaction.contains(SPACE, b"d", options).unwrap());
        assert_eq!(transaction.scan(SPACE, &Bounds::prefix(b"d")).unwrap().count(), 0);
        transaction.commit(Durability::Gathered).unwrap();
        assert_eq!(engine.get(SPACE, b"d").unwrap(), None);
    });
}

#[test]
fn a_lease_is_taken_over_once_it_has_expired() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let (options, durability) = (ReadOptions::default(), Durability::Gathered);
        let take = |owner: &[u8]| {
            let new = (owner, runner::date() + HOUR);
            let place = (SPACE, &b"lease"[..]);
            engine.compare_and_swap_with_expiry(place, None, new, options, durability).unwrap()
        };
        assert_eq!(take(b"ada"), Swap::Swapped);
        assert!(matches!(take(b"grace"), Swap::Kept(Some(owner)) if owner == b"ada"[..]));
        pass(HOUR);
        assert_eq!(take(b"grace"), Swap::Swapped);
        let renewed = (&b"grace"[..], runner::date() + HOUR * 2);
        let place = (SPACE, &b"lease"[..]);
        let swap = |expected: &[u8]| {
            let (new, expected) = (renewed, Some(expected));
            engine.compare_and_swap_with_expiry(place, expected, new, options, durability)
        };
        assert_eq!(swap(b"ada").unwrap(), Swap::Kept(Some(b"grace"[..].to_vec().into())));
        assert_eq!(swap(b"grace").unwrap(), Swap::Swapped);
        pass(HOUR);
        assert_eq!(engine.get(SPACE, b"lease").unwrap().as_deref(), Some(&b"grace"[..]));
        pass(HOUR);
        assert_eq!(swap(b"grace").unwrap(), Swap::Kept(None));
    });
}

#[test]
fn a_checkpoint_keeps_expiries_and_is_marked_as_having_them() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        for key in [b"a", b"c"] {
            put(&engine, key, b"stays", None);
        }
        let expiry = runner::date() + HOUR;
        put(&engine, b"b", b"value", Some(expiry));
        for flushed in [false, true] {
            if flushed {
                engine.flush().unwrap();
            }
            let copy = MemoryStore::new();
            engine.checkpoint(&copy, &mut |_, _| {}).unwrap();
            let copy = open(&copy);
            runner::set_date(Date(expiry.0 - 1000));
            assert_eq!(seen(&copy).as_deref(), Some(&b"value"[..]));
            runner::set_date(expiry);
            assert_eq!(seen(&copy), None);
            // Back, for the next round.
            runner::set_date(Date(expiry.0 - 1000));
        }
    });
}

#[test]
fn a_scan_holds_to_the_date_at_which_it_began() {
    runner::simulate(1, || {
        let engine = Arc::new(open(&model::slow_store(1)));
        let expiry = runner::date() + HOUR;
        for number in 0..100_u32 {
            put(&engine, &number.to_be_bytes(), &[7; 100], Some(expiry));
        }
        engine.flush().unwrap();
        let mut scan = engine.scan(SPACE, &Bounds::all()).unwrap();
        assert!(scan.next().is_some());
        runner::set_date(expiry);
        assert!(scan.next_back().is_some(), "its other end began at the same date");
        assert_eq!(engine.scan(SPACE, &Bounds::all()).unwrap().count(), 0);
    });
}

#[test]
fn scans_after_the_clock_was_set_back_see_what_reads_of_single_keys_see() {
    runner::simulate(1, || {
        let engine = Arc::new(open(&MemoryStore::new()));
        let (expiry, count) = (runner::date() + HOUR, 100_u32);
        for number in 0..count {
            put(&engine, &number.to_be_bytes(), b"value", Some(expiry));
        }
        let scan = || engine.scan(SPACE, &Bounds::all()).unwrap();
        let mut older = engine.cursor(SPACE, &Bounds::all()).unwrap();
        runner::set_date(expiry);
        // The first scans remember that the range is empty.
        for _ in 0..2 {
            assert_eq!((scan().count(), scan().rev().count()), (0, 0));
        }
        assert!(engine.is_empty(SPACE, &Bounds::all()).unwrap());
        assert!(older.seek_to_last().unwrap(), "an older cursor");
        runner::set_date(Date(expiry.0 - 1000));
        assert!(engine.get(SPACE, &7_u32.to_be_bytes()).unwrap().is_some());
        assert_eq!((scan().count(), scan().rev().count()), (count as usize, count as usize));
        assert!(!engine.is_empty(SPACE, &Bounds::all()).unwrap());
    });
}

#[test]
fn a_compaction_ends_although_the_clock_is_set_back_meanwhile() {
    runner::simulate(1, || {
        let expiry = runner::date() + HOUR;
        let (calls, since) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let mut options = model::options();
        options.compaction_filters.set("default", {
            let (calls, since) = (Arc::clone(&calls), Arc::clone(&since));
            move |_, _| {
                if since.load(Ordering::Relaxed) {
                    runner::set_date(Date(expiry.0 - 1000));
                    assert!(calls.fetch_add(1, Ordering::Relaxed) < 10_000, "no end");
                }
                true
            }
        });
        let engine = Engine::open(Arc::new(MemoryStore::new()), model::decider(), options).unwrap();
        let mut random = Random::seeded(1);
        for number in 0..1000_u32 {
            let (mut value, expiry) = ([0; 100], (number % 2 == 0).then_some(expiry));
            random.fill_bytes(&mut value);
            put(&engine, &number.to_be_bytes(), &value, expiry);
        }
        engine.compact_all().unwrap();
        runner::set_date(expiry);
        // More tables are due than one rewrite takes.
        let bytes: u64 = engine.stats().levels.iter().map(|level| level.bytes).sum();
        assert!(bytes > 80 << 10, "{bytes}");
        since.store(true, Ordering::Relaxed);
        engine.compact_all().unwrap();
        assert!(calls.load(Ordering::Relaxed) > 0);
    });
}

/// The sync of another write takes so long that the time of the value ends meanwhile.
#[test]
fn a_value_that_expires_before_it_is_swapped_is_not_swapped() {
    let (mut swapped, mut kept) = (0, 0);
    for seed in 0..20 {
        runner::simulate(seed, || {
            let sync = Duration::from_secs(8);
            let latency = Latency { sync, ..Latency::default() };
            let engine = Arc::new(open(&MemoryStore::new().with_latency(seed, latency)));
            let expiry = runner::date() + HOUR;
            put(&engine, b"key", b"value", Some(expiry));
            runner::sleep(HOUR - Duration::from_secs(4));
            let other = runner::spawn("another writer", {
                let engine = Arc::clone(&engine);
                move || {
                    let mut batch = Batch::new();
                    batch.put(SPACE, b"other", b"value");
                    engine.write(batch, Durability::Synced).unwrap();
                }
            });
            runner::sleep(Duration::from_millis(1));
            let (place, new) = ((SPACE, &b"key"[..]), Some(&b"new"[..]));
            let (options, durability) = (ReadOptions::default(), Durability::Gathered);
            let swap = engine.compare_and_swap(place, Some(b"value"), new, options, durability);
            let has_expired = runner::date() >= expiry;
            assert_eq!(swap.unwrap().is_swapped(), !has_expired, "seed {seed}");
            (swapped, kept) = (swapped + u32::from(!has_expired), kept + u32::from(has_expired));
            other.join();
        });
    }
    assert!(swapped > 2 && kept > 2, "{swapped} swapped, {kept} kept");
}
