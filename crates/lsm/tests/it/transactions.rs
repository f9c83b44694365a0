//! Transactions and conditional writes, one client at a time: their reads, when they conflict, and
//! with which error; against a model, and in one group of batches. `histories` has several clients.
//!
//! The rule that the model checks: if a key that a transaction has read has another value at its
//! commit, the transaction conflicts. If no write has touched its keys and ranges, it does not. (A
//! write that leaves the same value may be a conflict.)

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::MemoryStore;
use terrace_env::{runner, test_seeds};
use terrace_lsm::{
    Batch, Bounds, Durability, Engine, Error, KeySpaceId, ReadOptions, Swap, Transaction,
};

use crate::model::{self, Contents, contents, open};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
const GATHERED: Durability = Durability::Gathered;

fn put(engine: &Engine, key: &str, value: &str) {
    let mut batch = Batch::new();
    batch.put(SPACE, key.as_bytes(), value.as_bytes());
    engine.write(batch, GATHERED).unwrap();
}

fn get(transaction: &Transaction, key: &str) -> Option<String> {
    let found = transaction.get(SPACE, key.as_bytes(), ReadOptions::default()).unwrap();
    found.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

fn range(start: &str, end: &str) -> Bounds {
    Bounds::from(start.as_bytes()..end.as_bytes())
}

/// Another write than those of the transaction, which changes the value of "k".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    Put,
    Delete,
    DeleteRange,
    Ingest,
    Swap,
    Transaction,
}

const OTHERS: [Other; 6] =
    [Other::Put, Other::Delete, Other::DeleteRange, Other::Ingest, Other::Swap, Other::Transaction];

fn write_other(engine: &Engine, other: Other) {
    let mut batch = Batch::new();
    match other {
        Other::Put => drop(batch.put(SPACE, b"k", b"other")),
        Other::Delete => drop(batch.delete(SPACE, b"k")),
        Other::DeleteRange => drop(batch.delete_range(SPACE, &range("j", "l"))),
        Other::Ingest => {
            let mut ingest = engine.ingest().unwrap();
            ingest.put(SPACE, b"k", b"other").unwrap();
            ingest.finish().unwrap();
        }
        Other::Swap => {
            let (expected, options) = (Some(b"before".as_slice()), ReadOptions::default());
            let new = Some(b"other".as_slice());
            let swap = engine.compare_and_swap((SPACE, b"k"), expected, new, options, GATHERED);
            assert!(swap.unwrap().is_swapped());
        }
        Other::Transaction => {
            let transaction = engine.transaction().unwrap();
            assert_eq!(get(&transaction, "k").as_deref(), Some("before"));
            transaction.put(SPACE, b"k", b"other").unwrap();
            transaction.commit(GATHERED).unwrap();
        }
    }
    engine.write(batch, GATHERED).unwrap();
}

/// Place of the other write when the transaction commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Memory,
    Tables,
    Merged,
}

const PLACES: [Place; 3] = [Place::Memory, Place::Tables, Place::Merged];

fn settle(engine: &Engine, place: Place) {
    match place {
        Place::Memory => {}
        Place::Tables => engine.flush().unwrap(),
        Place::Merged => engine.compact_all().unwrap(),
    }
}

/// Commits after another write and a read by `read`.
fn commit_after(
    other: Other,
    place: Place,
    before: Place,
    read: impl Fn(&Transaction),
) -> Result<(), Error> {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        for key in ["a", "k", "z"] {
            put(&engine, key, "before");
        }
        settle(&engine, before);
        let transaction = engine.transaction().unwrap();
        read(&transaction);
        transaction.put(SPACE, b"mine", b"written").unwrap();
        write_other(&engine, other);
        settle(&engine, place);
        let result = transaction.commit(GATHERED);
        assert_eq!(engine.get(SPACE, b"mine").unwrap().is_some(), result.is_ok());
        assert_eq!(engine.stats().conflicts, u64::from(result.is_err()));
        assert_eq!(engine.stats().memory.transactions, 0);
        result
    })
}

fn all_others(check: impl Fn(Other, Place, Place)) {
    for other in OTHERS {
        for place in PLACES {
            PLACES.into_iter().for_each(|before| check(other, place, before));
        }
    }
}

#[test]
fn a_key_that_was_read_and_written_meanwhile_is_a_conflict_which_names_it() {
    all_others(|other, place, before| {
        let read = |transaction: &Transaction| drop(get(transaction, "k"));
        let Err(Error::Conflict(conflict)) = commit_after(other, place, before, read) else {
            panic!("no conflict with {other:?} in {place:?}");
        };
        assert_eq!((&conflict.start[..], &conflict.end), (&b"k"[..], &None));
        assert!(conflict.to_string().contains(r#"key space "default": expected the key "k""#));
    });
}

#[test]
fn a_range_that_was_scanned_and_written_meanwhile_is_a_conflict_which_names_it() {
    all_others(|other, place, before| {
        let read = |transaction: &Transaction| {
            assert_eq!(transaction.scan(SPACE, &range("j", "m")).unwrap().count(), 1);
        };
        let Err(Error::Conflict(conflict)) = commit_after(other, place, before, read) else {
            panic!("no conflict with {other:?} in {place:?}");
        };
        assert_eq!(conflict.end, Some(Some(b"m".to_vec())));
        assert!(conflict.to_string().contains(r#"the keys from "j" up to "m""#), "{conflict}");
    });
}

#[test]
fn what_was_not_read_is_no_conflict() {
    let reads: [fn(&Transaction); 5] = [
        |transaction| drop(get(transaction, "a")),
        |transaction| assert_eq!(transaction.scan(SPACE, &range("a", "j")).unwrap().count(), 1),
        // A scan up to its current key.
        |transaction| drop(transaction.scan(SPACE, &Bounds::all()).unwrap().next()),
        |transaction| drop(transaction.scan(SPACE, &Bounds::all()).unwrap().next_back()),
        // Its own write, and reads of the snapshot itself.
        |transaction| {
            transaction.put(SPACE, b"k", b"mine").unwrap();
            assert_eq!(get(transaction, "k").as_deref(), Some("mine"));
            assert!(transaction.snapshot().get(SPACE, b"k").unwrap().is_some());
        },
    ];
    for read in reads {
        all_others(|other, place, before| commit_after(other, place, before, read).unwrap());
    }
}

#[test]
fn a_scan_that_is_open_at_the_commit_has_read_its_whole_range() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        put(&engine, "k", "before");
        let transaction = engine.transaction().unwrap();
        let scan = transaction.scan(SPACE, &Bounds::starting_at(b"j")).unwrap();
        transaction.put(SPACE, b"m", b"").unwrap();
        put(&engine, "x", "a phantom");
        let error = transaction.commit(GATHERED).unwrap_err();
        assert!(error.to_string().contains(r#"the keys from "j" on"#), "{error}");
        assert_eq!(scan.count(), 1, "an open scan goes on in its snapshot");
    });
}

#[test]
fn a_key_that_was_not_there_is_read_like_any_other() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let transaction = engine.transaction().unwrap();
        assert!(!transaction.contains(SPACE, b"k", ReadOptions::default()).unwrap());
        transaction.put(SPACE, b"k", b"mine").unwrap();
        put(&engine, "k", "other");
        assert!(matches!(transaction.commit(GATHERED), Err(Error::Conflict(_))));
        assert_eq!(engine.get(SPACE, b"k").unwrap().as_deref(), Some(&b"other"[..]));
    });
}

#[test]
fn a_transaction_that_writes_nothing_or_has_read_nothing_commits() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let (reader, writer) = (engine.transaction().unwrap(), engine.transaction().unwrap());
        assert_eq!(get(&reader, "k"), None);
        writer.put(SPACE, b"k", b"blind").unwrap();
        put(&engine, "k", "other");
        assert_eq!(get(&reader, "k"), None, "what was there when it began");
        reader.commit(Durability::Synced).unwrap();
        writer.commit(Durability::Synced).unwrap();
        assert_eq!(engine.get(SPACE, b"k").unwrap().as_deref(), Some(&b"blind"[..]));
        drop(engine.transaction().unwrap().put(SPACE, b"k", b"dropped"));
        assert_eq!(engine.get(SPACE, b"k").unwrap().as_deref(), Some(&b"blind"[..]));
    });
}

#[test]
fn a_key_space_that_is_dropped_ends_the_transactions_that_use_it() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let doomed = engine.create_key_space("doomed").unwrap();
        let transactions: Vec<_> = (0..3).map(|_| engine.transaction().unwrap()).collect();
        let options = ReadOptions::default();
        assert_eq!(transactions[0].get(doomed, b"k", options).unwrap(), None);
        transactions[1].put(doomed, b"k", b"").unwrap();
        assert!(engine.drop_key_space("doomed").unwrap());
        for (at, transaction) in transactions.into_iter().enumerate() {
            transaction.put(SPACE, b"k", b"").unwrap();
            let result = transaction.commit(GATHERED);
            let unknown = matches!(&result, Err(Error::UnknownKeySpace(id)) if *id == doomed);
            assert!(if at < 2 { unknown } else { result.is_ok() }, "{at}: {result:?}");
        }
    });
}

#[test]
fn transactions_hold_no_more_memory_than_they_may() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let max = engine.stats().memory.budget / 8;
        let (reader, writer) = (engine.transaction().unwrap(), engine.transaction().unwrap());
        let held = || engine.stats().memory.transactions;
        let mut results = (0..).map(|number: u64| {
            let key = number.to_be_bytes();
            reader.get(SPACE, &key, ReadOptions::default())?;
            writer.put(SPACE, &key, &[7; 100])
        });
        let error = results.find_map(Result::err).unwrap();
        assert!(matches!(error, Error::TransactionsOverMemory { .. }), "{error}");
        assert!((max - 1000..=max).contains(&held()), "{} of {max}", held());
        let error = writer.scan(SPACE, &Bounds::starting_at(&[7; 2000])).unwrap_err();
        assert!(matches!(error, Error::TransactionsOverMemory { .. }), "{error}");
        drop(reader);
        writer.put(SPACE, b"k", &[7; 100]).unwrap();
        writer.commit(GATHERED).unwrap();
        assert_eq!(held(), 0);
    });
}

#[test]
fn a_transaction_refuses_what_a_batch_refuses() {
    let engine = open(&MemoryStore::new());
    let transaction = engine.transaction().unwrap();
    let long = vec![0; 70_000];
    assert!(matches!(transaction.put(SPACE, &long, b""), Err(Error::KeyTooLong { .. })));
    assert!(matches!(transaction.delete(SPACE, &long), Err(Error::KeyTooLong { .. })));
    let range = Bounds::starting_at(&long);
    assert!(matches!(transaction.delete_range(SPACE, &range), Err(Error::KeyTooLong { .. })));
    transaction.put(SPACE, b"k", b"v").unwrap();
    engine.close().unwrap();
    assert!(matches!(transaction.commit(GATHERED), Err(Error::Closed)));
    assert!(matches!(engine.transaction(), Err(Error::Closed)));
}

#[test]
fn a_compare_and_swap_writes_if_the_value_is_as_expected() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let swap = |expected: Option<&str>, new: Option<&str>| {
            let (expected, new) = (expected.map(str::as_bytes), new.map(str::as_bytes));
            let options = ReadOptions::default();
            engine.compare_and_swap((SPACE, b"k"), expected, new, options, GATHERED).unwrap()
        };
        let kept = |value: Option<&'static str>| Swap::Kept(value.map(Into::into));
        assert_eq!(swap(Some("a"), Some("b")), kept(None));
        assert_eq!(swap(None, Some("a")), Swap::Swapped);
        assert_eq!(swap(None, Some("b")), kept(Some("a")));
        engine.flush().unwrap();
        assert_eq!(swap(Some("b"), None), kept(Some("a")));
        assert_eq!(swap(Some("a"), Some("b")), Swap::Swapped);
        assert_eq!(swap(Some("b"), None), Swap::Swapped);
        assert_eq!(swap(None, None), Swap::Swapped);
        assert_eq!(engine.get(SPACE, b"k").unwrap(), None);
    });
}

/// Of transactions that have read one key and write it, and that wait for the log together, one is
/// written. Those with other keys are all written, in fewer groups than transactions.
pub(crate) fn rivals(seed: u64) {
    runner::simulate(seed, || {
        let engine = Arc::new(open(&model::slow_store(seed)));
        for round in 0..20 {
            let before = engine.stats().groups;
            let actors: Vec<_> = (0..8u8)
                .map(|number| {
                    let engine = Arc::clone(&engine);
                    runner::spawn("client", move || {
                        let transaction = engine.transaction().unwrap();
                        // Those with other keys come first: one of them leads.
                        let (own, shared) = ([number], number >= 4);
                        let key: &[u8] = if shared { b"shared" } else { &own };
                        let found = transaction.get(SPACE, key, ReadOptions::default()).unwrap();
                        let round = found.map_or(0, |value| value[0] + 1);
                        transaction.put(SPACE, key, &[round]).unwrap();
                        let result = transaction.commit(Durability::Synced);
                        match &result {
                            Err(Error::Conflict(conflict)) => assert_eq!(conflict.start, b"shared"),
                            other => assert!(other.is_ok(), "{other:?}"),
                        }
                        (shared, result.is_ok())
                    })
                })
                .collect();
            let ends: Vec<_> = actors.into_iter().map(runner::JoinHandle::join).collect();
            let written = |shared| ends.iter().filter(|end| **end == (shared, true)).count();
            assert_eq!((written(true), written(false)), (1, 4));
            let value = engine.get(SPACE, b"shared").unwrap();
            assert_eq!(value.as_deref(), Some(&[round][..]));
            assert!(engine.stats().groups - before < 5, "no group commit");
        }
    });
}

#[test]
fn of_rivals_in_one_group_one_is_written() {
    test_seeds(10).for_each(rivals);
}

/// A transaction, and a model of its reads.
struct Beside {
    transaction: Transaction,
    sees: Contents,
    began: Contents,
    read: BTreeSet<Vec<u8>>,
    own: BTreeSet<Vec<u8>>,
}

fn key_of(random: &mut Random) -> Vec<u8> {
    vec![b'a' + random.random_range(0..20)]
}

impl Beside {
    fn begin(engine: &Engine, now: &Contents) -> Self {
        let (read, own) = (BTreeSet::new(), BTreeSet::new());
        let transaction = engine.transaction().unwrap();
        Self { transaction, sees: now.clone(), began: now.clone(), read, own }
    }

    fn note_read(&mut self, key: &[u8]) {
        if !self.own.contains(key) {
            self.read.insert(key.to_vec());
        }
    }

    fn scan(&mut self, random: &mut Random) {
        let (start, end) = (key_of(random), key_of(random));
        let bounds = Bounds::from(start.clone()..end.clone());
        let mut scan = self.transaction.scan(SPACE, &bounds).unwrap();
        let within = |key: &Vec<u8>| start <= *key && *key < end;
        let held = self.sees.iter().filter(|((_, key), _)| within(key));
        let mut held: std::collections::VecDeque<_> =
            held.map(|((_, key), value)| (key.clone(), value.clone())).collect();
        let (mut low, mut high) = (start.clone(), end.clone());
        for _ in 0..random.random_range(0..8) {
            let forward = random.random_bool(0.6);
            let (found, expected) = match forward {
                true => (scan.next(), held.pop_front()),
                false => (scan.next_back(), held.pop_back()),
            };
            let found = found.map(Result::unwrap).map(|(k, v)| (k.to_vec(), v.to_vec()));
            assert_eq!(found, expected);
            match expected {
                Some((key, _)) if forward => low = [&key[..], b"\0"].concat(),
                Some((key, _)) => high = key,
                None => (low, high) = (end.clone(), end.clone()),
            }
        }
        // A range that was read also contains keys of its own writes: they may conflict, but need
        // not.
        let ranges = [start.clone()..low.clone(), high.max(low)..end];
        let keys =
            (0..20).map(|n| vec![b'a' + n]).filter(|key| ranges.iter().any(|r| r.contains(key)));
        self.read.extend(keys);
    }

    fn step(&mut self, random: &mut Random) {
        let key = key_of(random);
        match random.random_range(0..10) {
            0..4 => {
                let found = self.transaction.get(SPACE, &key, ReadOptions::default()).unwrap();
                assert_eq!(found.as_deref(), self.sees.get(&(SPACE, key.clone())).map(|v| &v[..]));
                self.note_read(&key);
            }
            4..6 => self.scan(random),
            6..8 => {
                let value = vec![random.random_range(0..255); 30];
                self.transaction.put(SPACE, &key, &value).unwrap();
                self.sees.insert((SPACE, key.clone()), value);
                self.own.insert(key);
            }
            8 => {
                self.transaction.delete(SPACE, &key).unwrap();
                self.sees.remove(&(SPACE, key.clone()));
                self.own.insert(key);
            }
            _ => {
                let end = [key[0].saturating_add(random.random_range(0..4))];
                let bounds = Bounds::from(key.clone()..end.to_vec());
                self.transaction.delete_range(SPACE, &bounds).unwrap();
                let keys: Vec<_> = (key[0]..end[0]).map(|byte| vec![byte]).collect();
                keys.iter().for_each(|key| drop(self.sees.remove(&(SPACE, key.clone()))));
                self.own.extend(keys);
            }
        }
    }

    /// Commits, compares the outcome with the model, and applies it to the model.
    fn commit(self, now: &mut Contents, touched: &BTreeSet<Vec<u8>>) -> bool {
        let place = |key: &Vec<u8>| (SPACE, key.clone());
        let changed =
            self.read.iter().any(|key| now.get(&place(key)) != self.began.get(&place(key)));
        let quiet = self.read.iter().all(|key| !touched.contains(key));
        match self.transaction.commit(GATHERED) {
            Ok(()) => {
                assert!(!changed || self.own.is_empty(), "a conflict that was not found");
                for key in &self.own {
                    match self.sees.get(&place(key)) {
                        Some(value) => drop(now.insert(place(key), value.clone())),
                        None => drop(now.remove(&place(key))),
                    }
                }
                true
            }
            Err(Error::Conflict(conflict)) => {
                assert!(!quiet, "a conflict with nothing: {conflict}");
                false
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn random_transactions_see_and_leave_what_an_ordered_map_says() {
    let (mut committed, mut conflicts) = (0, 0);
    for seed in test_seeds(60) {
        runner::simulate(seed, || {
            let mut random = Random::seeded(seed);
            let engine = open(&model::slow_store(seed));
            let mut now = Contents::new();
            for _ in 0..80 {
                let mut one = Beside::begin(&engine, &now);
                let mut touched = BTreeSet::new();
                for _ in 0..random.random_range(1..12) {
                    if random.random_bool(0.7) {
                        one.step(&mut random);
                        continue;
                    }
                    let key = key_of(&mut random);
                    let value =
                        random.random_bool(0.7).then(|| vec![7; random.random_range(0..500)]);
                    let write = (SPACE, key.clone(), value.clone());
                    engine.write(model::batch(&[write]), GATHERED).unwrap();
                    match value {
                        Some(value) => drop(now.insert((SPACE, key.clone()), value)),
                        None => drop(now.remove(&(SPACE, key.clone()))),
                    }
                    touched.insert(key);
                }
                match random.random_range(0..10) {
                    0 => engine.flush().unwrap(),
                    1 => engine.compact_all().unwrap(),
                    _ => {}
                }
                let done = one.commit(&mut now, &touched);
                (committed, conflicts) =
                    (committed + u32::from(done), conflicts + u32::from(!done));
            }
            assert_eq!(contents(&engine), now);
        });
    }
    println!("{committed} committed, {conflicts} conflicts");
    assert!(committed > 1000 && conflicts > 500, "{committed} committed, {conflicts} conflicts");
}
