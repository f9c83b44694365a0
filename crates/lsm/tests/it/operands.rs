//! Operands: combined in every read, between snapshots, range deletes and expiries; by flushes and
//! compactions; in conditional writes, transactions and checkpoints. [`operators`] has the openings
//! and the operators.

mod operators;

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::runner;
use terrace_env::store::{CrashMode, MemoryStore, Store};
use terrace_lsm::{
    Append, Batch, Bounds, Counter, Durability, Engine, EngineOptions, Error, KeySpaceId, Operator,
    ReadOptions, Snapshot, Swap,
};

use crate::model;

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
const HOUR: Duration = Duration::from_secs(3600);

fn try_open_with(store: &MemoryStore, operator: Option<Operator>) -> Result<Engine, Error> {
    let store: Arc<dyn Store> = Arc::new(store.clone());
    let options = EngineOptions { merge_operator: operator, ..model::options() };
    Engine::open(store, model::decider(), options)
}

/// An engine that joins operands by commas.
fn open(store: &MemoryStore) -> Engine {
    try_open_with(store, Some(Operator::new(Append::new(b",")))).unwrap()
}

fn write(engine: &Engine, change: impl for<'a> FnOnce(&'a mut Batch) -> &'a mut Batch) {
    let mut batch = Batch::new();
    change(&mut batch);
    engine.write(batch, Durability::Gathered).unwrap();
}

fn put(engine: &Engine, value: &str) {
    write(engine, |batch| batch.put(SPACE, b"b", value.as_bytes()));
}

fn merge(engine: &Engine, operand: &str) {
    write(engine, |batch| batch.merge(SPACE, b"b", operand.as_bytes()));
}

fn around(engine: &Engine) {
    for key in [b"a", b"c"] {
        write(engine, |batch| batch.put(SPACE, key, b"stays"));
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8(value.to_vec()).unwrap()
}

/// The value of the key `b`, between the keys `a` and `c`, in which all ways to read agree.
fn seen(engine: &Engine) -> Option<String> {
    let options = ReadOptions::default();
    let value = engine.get(SPACE, b"b").unwrap().map(|value| text(&value));
    let there = value.is_some();
    assert_eq!(engine.contains(SPACE, b"b", options).unwrap(), there);
    let several = engine.multi_get(SPACE, &[b"c", b"b", b"a", b"b"], options).unwrap();
    for at in [1, 3] {
        assert_eq!(several[at].as_deref().map(text), value);
    }
    assert!(several[0].is_some() && several[2].is_some());
    let only = Bounds::from(b"b".to_vec()..=b"b".to_vec());
    assert_eq!(engine.is_empty(SPACE, &only).unwrap(), !there);
    let snapshot = engine.snapshot();
    let held: Vec<_> = [Some("stays".to_owned()), value.clone(), Some("stays".to_owned())]
        .into_iter()
        .zip(["a", "b", "c"])
        .filter_map(|(value, key)| Some((key.to_owned(), value?)))
        .collect();
    let entry = |entry: Result<(bytes::Bytes, bytes::Bytes), Error>| {
        let (key, value) = entry.unwrap();
        (text(&key), text(&value))
    };
    let forward: Vec<_> = snapshot.scan(SPACE, &Bounds::all()).unwrap().map(entry).collect();
    let mut backward: Vec<_> =
        engine.scan(SPACE, &Bounds::all()).unwrap().rev().map(entry).collect();
    backward.reverse();
    assert_eq!((&forward, &backward), (&held, &held));
    let mut cursor = engine.cursor(SPACE, &Bounds::all()).unwrap();
    assert!(cursor.seek(b"b").unwrap());
    assert_eq!(cursor.key(), if there { b"b" } else { b"c" });
    assert!(cursor.seek_back(b"b").unwrap());
    assert_eq!(cursor.key(), if there { b"b" } else { b"a" });
    if there {
        for _ in 0..2 {
            assert_eq!(Some(text(&cursor.value())), value);
            assert!(cursor.prev().unwrap() && cursor.key() == b"a");
            assert!(cursor.next().unwrap() && cursor.key() == b"b");
            assert_eq!(Some(text(&cursor.value())), value);
            assert!(cursor.next().unwrap() && cursor.key() == b"c");
            assert!(cursor.prev().unwrap() && cursor.key() == b"b");
        }
    }
    let transaction = engine.transaction().unwrap();
    assert_eq!(transaction.get(SPACE, b"b", options).unwrap().as_deref().map(text), value);
    let scanned: Vec<_> = transaction.scan(SPACE, &Bounds::all()).unwrap().map(entry).collect();
    assert_eq!(scanned, held);
    value
}

fn in_snapshot(snapshot: &Snapshot) -> Option<String> {
    let found = snapshot.get(SPACE, b"b").unwrap().map(|value| text(&value));
    let options = ReadOptions::default();
    let several = snapshot.multi_get(SPACE, &[b"b"], options).unwrap();
    assert_eq!(several[0].as_deref().map(text), found);
    let only = Bounds::prefix(b"b");
    for backward in [false, true] {
        let mut scan = snapshot.scan(SPACE, &only).unwrap();
        let entry = if backward { scan.next_back() } else { scan.next() };
        assert_eq!(entry.map(|entry| text(&entry.unwrap().1)), found, "backward: {backward}");
    }
    found
}

fn entries(engine: &Engine) -> u64 {
    engine.stats().levels.iter().map(|level| level.entries).sum()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn operands_are_combined_wherever_they_and_their_value_lie() {
    runner::simulate(1, || {
        // Between any two writes there may be a flush.
        for flushes in 0..16_u32 {
            let store = MemoryStore::new();
            let engine = open(&store);
            around(&engine);
            let flush = |at: u32| {
                if flushes & 1 << at != 0 {
                    engine.flush().unwrap();
                }
            };
            put(&engine, "value");
            flush(0);
            merge(&engine, "1");
            flush(1);
            write(&engine, |batch| batch.merge(SPACE, b"b", b"2").merge(SPACE, b"b", b"3"));
            flush(2);
            merge(&engine, "4");
            flush(3);
            assert_eq!(seen(&engine), some("value,1,2,3,4"), "{flushes:b}");
            engine.sync().unwrap();
            drop(engine);
            let crashed = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
            let engine = open(&crashed);
            assert_eq!(seen(&engine), some("value,1,2,3,4"), "{flushes:b}");
            engine.compact_all().unwrap();
            assert_eq!(seen(&engine), some("value,1,2,3,4"), "{flushes:b}");
            assert_eq!(entries(&engine), 3, "{flushes:b}: one entry of it is left");
            engine.verify().unwrap();
        }
    });
}

#[test]
fn operands_without_a_value_below_make_one() {
    runner::simulate(1, || {
        for ended in 0..4 {
            let engine = open(&MemoryStore::new());
            around(&engine);
            put(&engine, "old");
            merge(&engine, "older");
            match ended {
                0 => write(&engine, |batch| batch.delete(SPACE, b"b")),
                1 => write(&engine, |batch| batch.delete_range(SPACE, &Bounds::prefix(b"b"))),
                2 => {
                    let range = Bounds::prefix(b"b");
                    write(&engine, |batch| {
                        batch.delete_range(SPACE, &range).merge(SPACE, b"b", b"0")
                    });
                }
                _ => put(&engine, "0"),
            }
            let begin = if ended < 2 { "" } else { "0," };
            for flushed in [false, true] {
                if flushed {
                    engine.flush().unwrap();
                } else {
                    merge(&engine, "1");
                    merge(&engine, "2");
                }
                assert_eq!(seen(&engine), some(&format!("{begin}1,2")), "{ended} {flushed}");
            }
            engine.compact_all().unwrap();
            assert_eq!(seen(&engine), some(&format!("{begin}1,2")), "{ended}");
            assert_eq!(entries(&engine), 3, "{ended}: a put, and no tombstone");
            write(&engine, |batch| batch.delete_range(SPACE, &Bounds::prefix(b"b")));
            assert_eq!(seen(&engine), None);
        }
    });
}

#[test]
fn each_snapshot_sees_the_operands_that_were_there() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        around(&engine);
        let (mut snapshots, mut expected) = (vec![(engine.snapshot(), None)], Vec::new());
        let mut value = None;
        for number in 0..12 {
            let operand = number.to_string();
            match number {
                4 => {
                    write(&engine, |batch| batch.delete_range(SPACE, &Bounds::prefix(b"b")));
                    value = None;
                }
                8 => {
                    put(&engine, "put");
                    value = some("put");
                }
                _ => {
                    merge(&engine, &operand);
                    value = Some(value.map_or(operand.clone(), |v: String| v + "," + &operand));
                }
            }
            if number % 2 == 0 || number == 9 {
                snapshots.push((engine.snapshot(), value.clone()));
            }
            if number == 6 {
                engine.flush().unwrap();
            }
            expected.push(value.clone());
        }
        let check = |snapshots: &[(Snapshot, Option<String>)], when: &str| {
            for (at, (snapshot, expected)) in snapshots.iter().enumerate() {
                assert_eq!(in_snapshot(snapshot), *expected, "{when}: {at}");
            }
            assert_eq!(seen(&engine), some("put,9,10,11"), "{when}");
        };
        check(&snapshots, "in memory");
        engine.flush().unwrap();
        check(&snapshots, "flushed");
        engine.compact_all().unwrap();
        check(&snapshots, "compacted");
        // They end in any order; each time a compaction may combine more.
        for at in [3, 1, 4, 0, 2, 1, 1, 0] {
            if at < snapshots.len() {
                drop(snapshots.remove(at));
            }
            write(&engine, |batch| batch.put(SPACE, b"a", b"stays"));
            engine.compact_all().unwrap();
            check(&snapshots, "compacted again");
        }
        snapshots.clear();
        write(&engine, |batch| batch.put(SPACE, b"b0", b""));
        write(&engine, |batch| batch.delete(SPACE, b"b0"));
        engine.compact_all().unwrap();
        engine.wait_idle().unwrap();
        assert_eq!(seen(&engine), some("put,9,10,11"));
        assert_eq!(entries(&engine), 3);
    });
}

#[test]
fn a_value_that_expires_below_operands_leaves_them() {
    runner::simulate(1, || {
        for flushed in [false, true] {
            let engine = open(&MemoryStore::new());
            around(&engine);
            put(&engine, "older");
            let expiry = runner::date() + HOUR;
            write(&engine, |batch| batch.put_with_expiry(SPACE, b"b", b"value", expiry));
            merge(&engine, "1");
            merge(&engine, "2");
            if flushed {
                engine.compact_all().unwrap();
            }
            assert_eq!(seen(&engine), some("value,1,2"));
            let transaction = engine.transaction().unwrap();
            let found = transaction.get(SPACE, b"b", ReadOptions::default()).unwrap();
            assert_eq!(found.as_deref().map(text), some("value,1,2"));
            transaction.put(SPACE, b"d", b"").unwrap();
            runner::set_date(expiry);
            assert_eq!(seen(&engine), some("1,2"), "and not the older value");
            let error = transaction.commit(Durability::Gathered).unwrap_err();
            assert!(matches!(error, Error::Conflict(_)), "{error}");
            engine.compact_all().unwrap();
            assert_eq!(seen(&engine), some("1,2"));
            assert_eq!(entries(&engine), 3);
        }
    });
}

#[test]
fn conditional_writes_compare_with_the_combined_value() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        around(&engine);
        merge(&engine, "1");
        engine.flush().unwrap();
        merge(&engine, "2");
        let (options, durability) = (ReadOptions::default(), Durability::Gathered);
        let swap = |expected: Option<&str>, new: Option<&str>| {
            let (expected, new) = (expected.map(str::as_bytes), new.map(str::as_bytes));
            engine.compare_and_swap((SPACE, b"b"), expected, new, options, durability).unwrap()
        };
        assert_eq!(swap(Some("1"), Some("x")), Swap::Kept(Some("1,2".into())));
        assert_eq!(swap(None, Some("x")), Swap::Kept(Some("1,2".into())));
        assert!(swap(Some("1,2"), Some("x")).is_swapped());
        merge(&engine, "y");
        assert!(swap(Some("x,y"), None).is_swapped());
        assert_eq!(seen(&engine), None);
    });
}

#[test]
fn a_transaction_that_merges_conflicts_only_with_what_it_has_read() {
    runner::simulate(1, || {
        let (engine, options) = (open(&MemoryStore::new()), ReadOptions::default());
        around(&engine);
        merge(&engine, "1");
        let get = |transaction: &terrace_lsm::Transaction| {
            transaction.get(SPACE, b"b", options).unwrap().map(|value| text(&value))
        };
        let blind = engine.transaction().unwrap();
        blind.merge(SPACE, b"b", b"mine").unwrap();
        assert!(blind.contains(SPACE, b"b", options).unwrap(), "known without a read");
        let reading = engine.transaction().unwrap();
        reading.merge(SPACE, b"b", b"own").unwrap();
        assert_eq!(get(&reading), some("1,own"));
        let scanned = reading.scan(SPACE, &Bounds::all()).unwrap().map(|e| text(&e.unwrap().1));
        assert_eq!(scanned.collect::<Vec<_>>(), ["stays", "1,own", "stays"]);
        merge(&engine, "2");
        blind.commit(Durability::Gathered).unwrap();
        assert_eq!(seen(&engine), some("1,2,mine"));
        let error = reading.commit(Durability::Gathered).unwrap_err();
        assert!(matches!(error, Error::Conflict(_)), "{error}");
        // Own writes below own operands are no reads.
        let own = engine.transaction().unwrap();
        own.put(SPACE, b"b", b"put").unwrap();
        own.merge(SPACE, b"b", b"3").unwrap();
        assert_eq!(get(&own), some("put,3"));
        own.delete_range(SPACE, &Bounds::prefix(b"b")).unwrap();
        assert_eq!(get(&own), None);
        own.merge(SPACE, b"b", b"4").unwrap();
        own.merge(SPACE, b"b", b"5").unwrap();
        assert_eq!(get(&own), some("4,5"));
        let backward = own.scan(SPACE, &Bounds::all()).unwrap().rev();
        let backward: Vec<_> = backward.map(|entry| text(&entry.unwrap().1)).collect();
        assert_eq!(backward, ["stays", "4,5", "stays"]);
        merge(&engine, "meanwhile");
        own.put(SPACE, b"z", b"").unwrap();
        drop(own);
        let own = engine.transaction().unwrap();
        own.delete(SPACE, b"b").unwrap();
        own.merge(SPACE, b"b", b"6").unwrap();
        merge(&engine, "meanwhile");
        own.commit(Durability::Gathered).unwrap();
        assert_eq!(seen(&engine), some("6"));
    });
}

#[test]
fn a_checkpoint_has_the_operands_and_the_name_of_their_operator() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        around(&engine);
        merge(&engine, "1");
        engine.flush().unwrap();
        merge(&engine, "2");
        let copy = MemoryStore::new();
        engine.checkpoint(&copy, &mut |_, _| {}).unwrap();
        assert!(try_open_with(&copy, Some(Operator::new(Counter))).is_err());
        assert_eq!(seen(&open(&copy)), some("1,2"));
    });
}

#[test]
fn counters_of_several_writers_add_up_and_survive_a_power_cut() {
    for seed in terrace_env::test_seeds(8) {
        runner::simulate(seed, || {
            let store = model::slow_store(seed);
            let counter = || Some(Operator::new(Counter));
            let engine = Arc::new(try_open_with(&store, counter()).unwrap());
            let writers: Vec<_> = (0..4_i64)
                .map(|writer| {
                    let engine = Arc::clone(&engine);
                    runner::spawn("writer", move || {
                        for round in 0..150_i64 {
                            let mut batch = Batch::new();
                            let key = (round % 3).to_be_bytes();
                            batch.merge(SPACE, &key, &Counter::bytes(writer + 1));
                            let synced = round == 149;
                            let durability =
                                if synced { Durability::Synced } else { Durability::Gathered };
                            engine.write(batch, durability).unwrap();
                            if round % 40 == writer {
                                engine.flush().unwrap();
                            }
                        }
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join());
            let check = |engine: &Engine| {
                for key in 0..3_i64 {
                    let value = engine.get(SPACE, &key.to_be_bytes()).unwrap().unwrap();
                    // 50 rounds of 1 + 2 + 3 + 4.
                    assert_eq!(Counter::number(&value), Some(500), "seed {seed}");
                }
            };
            check(&engine);
            let mode = [CrashMode::DropUnsynced, CrashMode::KeepUnsynced, CrashMode::TearUnsynced];
            let mode = mode[seed as usize % 3];
            let crashed = store.crash(mode, &mut Random::seeded(seed));
            let recovered = try_open_with(&crashed, counter()).unwrap();
            check(&recovered);
            recovered.compact_all().unwrap();
            check(&recovered);
        });
    }
}
