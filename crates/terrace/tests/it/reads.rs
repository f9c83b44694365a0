//! Tests of `get`, `contains` and `multi_get`: they agree with each other and with an ordered map,
//! for the newest writes and for snapshots. Several keys of one block are read by one read, and a
//! read that does not fill the cache leaves nothing in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::{
    ByteCount, Bytes, Db, ErrorKind, FormatOptions, KeySpace, MemoryStore, Options, ReadOptions,
};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{Cause, runner, test_seeds};

use crate::devices::{drive, options};

type Contents = BTreeMap<Vec<u8>, Bytes>;

const KEYS: u32 = 2000;

fn key(number: u32) -> Vec<u8> {
    format!("key {number:05}").into_bytes()
}

/// Existing and absent keys, in no order, some of them twice.
fn drawn(random: &mut Random) -> Vec<Vec<u8>> {
    let count = random.random_range(0..60);
    (0..count).map(|_| key(random.random_range(0..KEYS + 20))).collect()
}

/// Compares the results of several ways of reading the same keys.
fn agree(
    expected: &Contents,
    keys: &[Vec<u8>],
    get: impl Fn(&[u8]) -> Option<Bytes>,
    contains: impl Fn(&[u8]) -> bool,
    several: &[Option<Bytes>],
) {
    assert_eq!(several.len(), keys.len());
    for (key, found) in keys.iter().zip(several) {
        let text = String::from_utf8_lossy(key);
        assert_eq!(found.as_ref(), expected.get(key), "multi_get of {text}");
        assert_eq!(*found, get(key), "get of {text}");
        assert_eq!(found.is_some(), contains(key), "contains of {text}");
    }
}

fn change(space: &KeySpace, held: &mut Contents, random: &mut Random) {
    let at = key(random.random_range(0..KEYS));
    match random.random_range(0..100) {
        0 => {
            let end = key(random.random_range(0..KEYS));
            space.delete_range(at.as_slice()..end.as_slice()).unwrap();
            held.retain(|key, _| *key < at || *key >= end);
        }
        1..20 => {
            space.delete(&at).unwrap();
            held.remove(&at);
        }
        _ => {
            let mut value = vec![0; random.random_range(0..300)];
            random.fill_bytes(&mut value);
            space.put(&at, &value).unwrap();
            held.insert(at, value.into());
        }
    }
}

#[test]
fn get_contains_and_multi_get_agree_with_a_map_now_and_in_snapshots() {
    for seed in test_seeds(4) {
        runner::simulate(seed, || {
            let random = &mut Random::seeded(seed);
            let device = drive(ByteCount::mib(1), 64, seed);
            let options = options().memtable_size(ByteCount::kib(64));
            let db = Db::create_device(device, &FormatOptions::default(), options).unwrap();
            let spaces = [db.create_key_space("one").unwrap(), db.create_key_space("two").unwrap()];
            let mut held = [Contents::new(), Contents::new()];
            let mut snapshot = (db.snapshot(), held.clone());
            for round in 0..12_000 {
                let which = random.random_range(0..2);
                change(&spaces[which], &mut held[which], random);
                if round % 3_000 == 0 {
                    snapshot = (db.snapshot(), held.clone());
                }
                if round % 40 != 0 {
                    continue;
                }
                let keys = drawn(random);
                let reads = ReadOptions::default().fill_cache(random.random_bool(0.5));
                let (space, held) = (spaces[which].with_read_options(reads), &held[which]);
                let several = space.multi_get(&keys).unwrap();
                let get = |key: &[u8]| space.get(key).unwrap();
                agree(held, &keys, get, |key| space.contains(key).unwrap(), &several);

                let (before, held) = (snapshot.0.with_read_options(reads), &snapshot.1[which]);
                let then = before.key_space(&space).unwrap();
                let several = then.multi_get(&keys).unwrap();
                let get = |key: &[u8]| then.get(key).unwrap();
                agree(held, &keys, get, |key| then.contains(key).unwrap(), &several);
            }
            assert!(db.stats().flushes > 10, "{} flushes prove little", db.stats().flushes);
            db.close().unwrap();
        });
    }
}

/// Many keys at once are read batch by batch, and a block may have the last keys of one batch and
/// the first of the next.
#[test]
fn a_block_that_two_batches_of_keys_need_is_read_once() {
    let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
    let keys: Vec<_> = (0..3000_u32).map(u32::to_be_bytes).collect();
    for key in &keys {
        db.put(key, &[key[3]; 1000]).unwrap();
    }
    db.compact_all().unwrap();
    // The index and the filters are in memory then.
    assert!(db.get(&keys[0]).unwrap().is_some());
    let cold = db.with_read_options(ReadOptions::default().fill_cache(false));
    for several in [&keys[..], &keys[1..], &keys[5..200]] {
        let found = cold.multi_get(several).unwrap();
        let is_right = |(key, value): (&[u8; 4], &Option<terrace::Bytes>)| {
            value.as_deref() == Some(&[key[3]; 1000][..])
        };
        assert!(several.iter().zip(&found).all(is_right));
    }
}

#[test]
fn the_default_key_space_has_the_same_reads() {
    let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
    db.put(b"a", b"1").unwrap();
    let before = db.snapshot();
    db.delete(b"a").unwrap();
    db.put(b"b", b"2").unwrap();
    let keys = ["b", "a", "b"];
    let two = Some(Bytes::from("2"));
    assert_eq!(db.multi_get(&keys).unwrap(), [two.clone(), None, two]);
    assert_eq!(before.multi_get(&keys).unwrap(), [None, Some("1".into()), None]);
    assert_eq!([db.contains(b"a").unwrap(), db.contains(b"b").unwrap()], [false, true]);
    assert_eq!([before.contains(b"a").unwrap(), before.contains(b"b").unwrap()], [true, false]);
    assert!(db.multi_get::<&[u8]>(&[]).unwrap().is_empty());
}

/// A store of one table of many blocks, 4 KiB each. Index and filter around this key were read, and
/// none of the blocks within 50 keys of it.
fn one_table(store: &Arc<MemoryStore>, options: Options, around: u32) -> Db {
    let db = Db::open(store.clone(), options.clone()).unwrap();
    for number in 0..KEYS {
        db.put(&key(number), &[number as u8; 100]).unwrap();
    }
    db.compact(..).unwrap();
    db.close().unwrap();
    let db = Db::open(store.clone(), options).unwrap();
    db.get(&key(around - 100)).unwrap();
    db
}

/// Read requests for clients, while `read` runs.
fn reads_of(db: &Db, read: impl FnOnce()) -> u64 {
    let count = || db.stats().io.reads[Cause::ALL.iter().position(|c| *c == Cause::Read).unwrap()];
    let before = count();
    read();
    count() - before
}

#[test]
fn several_keys_of_a_block_are_read_by_one_read() {
    let store = Arc::new(MemoryStore::new());
    // Too little memory for a cache, and one that is not filled.
    for (memory, fill) in [(ByteCount::kib(64), true), (ByteCount::mib(64), false)] {
        let options = Options::default().memory(memory).filter_bits(0);
        let db = one_table(&store, options, 1000);
        let db = db.with_read_options(ReadOptions::default().fill_cache(fill));
        let near: Vec<_> = (1000..1010).map(key).collect();
        let single = reads_of(&db, || near.iter().for_each(|key| drop(db.get(key).unwrap())));
        assert!((10..=11).contains(&single), "ten gets by {single} reads");
        let mut shuffled = near.clone();
        shuffled.reverse();
        shuffled.swap(2, 7);
        let together = reads_of(&db, || {
            let found = db.multi_get(&shuffled).unwrap();
            assert!(found.iter().all(Option::is_some));
        });
        assert!((1..=2).contains(&together), "ten keys of one or two blocks by {together} reads");
        db.close().unwrap();
    }
}

#[test]
fn a_read_that_does_not_fill_the_cache_leaves_nothing_in_it() {
    let store = Arc::new(MemoryStore::new());
    let db = one_table(&store, Options::default(), 1500);
    let once = db.with_read_options(ReadOptions::default().fill_cache(false));
    let (far, get) = (key(1500), |db: &Db| reads_of(db, || drop(db.get(&key(1500)).unwrap())));
    assert_eq!([get(&once), get(&once)], [1, 1], "each time from the medium");
    assert_eq!(reads_of(&once, || assert!(once.contains(&far).unwrap())), 1);
    assert_eq!(reads_of(&once, || drop(once.multi_get(&[&far]).unwrap())), 1);
    let seen = once.snapshot();
    assert_eq!(reads_of(&once, || drop(seen.get(&far).unwrap())), 1, "a snapshot does the same");
    assert_eq!([get(&db), get(&db)], [1, 0], "the second time from the cache");
    assert_eq!(get(&once), 0, "which serves every read");
}

#[test]
fn reads_of_what_cannot_be_there_say_so() {
    let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
    let long = vec![0; terrace::KEY_BYTES_MAX + 1];
    assert!(!db.contains(&long).unwrap() && db.get(&long).unwrap().is_none());
    assert_eq!(db.multi_get(&[&long]).unwrap(), [None]);
    let (space, snapshot) = (db.create_key_space("space").unwrap(), db.snapshot());
    db.drop_key_space("space").unwrap();
    let then = snapshot.key_space(&space).unwrap();
    for error in [
        space.contains(b"key").unwrap_err(),
        space.multi_get(&["key"]).unwrap_err(),
        then.contains(b"key").unwrap_err(),
        then.multi_get(&["key"]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::UnknownKeySpace, "{error}");
        assert!(error.to_string().contains("\"space\""), "{error}");
    }
    let left = db.clone();
    db.close().unwrap();
    for error in [
        left.contains(b"key").unwrap_err(),
        left.multi_get(&["key"]).unwrap_err(),
        snapshot.contains(b"key").unwrap_err(),
        snapshot.multi_get(&["key"]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    }
}
