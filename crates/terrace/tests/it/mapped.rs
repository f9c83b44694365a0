//! Stores in directories whose tables are mapped for reading: they read like others, an error names
//! a damaged block, and space comes back though readers keep values.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use terrace::{Bounds, ByteCount, Bytes, Compression, Db, Error, Options};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::test_seeds;

use crate::devices::options;

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(dir: &Path, options: Options, is_mapped: bool) -> Db {
    Db::open_directory(dir, options.map_tables(is_mapped)).unwrap()
}

/// Options of a store whose blocks are mapped: they are not compressed.
fn plain() -> Options {
    options().compression(Compression::None)
}

fn key(number: u32) -> Vec<u8> {
    format!("key {number:05}").into_bytes()
}

fn all(db: &Db) -> Result<Contents, Error> {
    let pair = |(key, value): (Bytes, Bytes)| (key.to_vec(), value.to_vec());
    db.scan(Bounds::all())?.map(|entry| entry.map(pair)).collect()
}

/// Reads everything in all ways, and compares it.
fn check(db: &Db, expected: &Contents) {
    assert!(all(db).unwrap() == *expected);
    let backward: Vec<_> = db.scan(Bounds::all()).unwrap().rev().map(Result::unwrap).collect();
    assert!(backward.iter().map(|(key, _)| &key[..]).eq(expected.keys().rev().map(|key| &key[..])));
    let keys: Vec<_> = (0..1000).map(key).collect();
    let several = db.multi_get(&keys).unwrap();
    for (key, found) in keys.iter().zip(several) {
        let (one, expected) = (db.get(key).unwrap(), expected.get(key));
        assert_eq!(one.as_deref(), expected.map(|value| &value[..]));
        assert_eq!(one, found);
    }
    let mut cursor = db.cursor(Bounds::all()).unwrap();
    for key in keys.iter().step_by(37) {
        cursor.seek(key).unwrap();
        let next = expected.range(key.clone()..).next();
        assert_eq!(
            cursor.is_on_key().then(|| cursor.key().to_vec()),
            next.map(|(key, _)| key.clone())
        );
        if let Some((_, value)) = next {
            assert_eq!(cursor.value(), *value);
        }
    }
}

#[test]
fn a_store_reads_the_same_by_calls_and_by_mappings() {
    for seed in test_seeds(4) {
        let mut random = Random::seeded(seed);
        let dir = tempfile::tempdir().unwrap();
        let mut held = Contents::new();
        for round in 0..4 {
            let compression = [Compression::None, Compression::Lz4][seed as usize % 2];
            let options = options().compression(compression);
            let db = open(dir.path(), options, (seed as usize / 2 + round).is_multiple_of(2));
            for _ in 0..1500 {
                let at = key(random.random_range(0..1000));
                if random.random_range(0..4) == 0 {
                    db.delete(&at).unwrap();
                    held.remove(&at);
                } else {
                    let mut value = vec![0; random.random_range(0..1500)];
                    random.fill_bytes(&mut value);
                    db.put(&at, &value).unwrap();
                    held.insert(at, value);
                }
            }
            check(&db, &held);
            let (snapshot, before) = (db.snapshot(), held.clone());
            db.delete_range(key(100)..key(300)).unwrap();
            held.retain(|at, _| *at < key(100) || *at >= key(300));
            db.compact(Bounds::all()).unwrap();
            check(&db, &held);
            let old = snapshot.scan(Bounds::all()).unwrap().map(|entry| entry.unwrap().0);
            assert!(old.map(|key| key.to_vec()).eq(before.into_keys()));
            db.close().unwrap();
        }
    }
}

/// The paths of the tables.
fn tables(dir: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "table")).collect();
    paths.sort();
    paths
}

/// A store of 1,000 entries in one table.
fn filled(dir: &Path) -> Contents {
    let db = open(dir, plain(), true);
    let held: Contents = (0..1000).map(|at| (key(at), vec![at as u8; 500])).collect();
    held.iter().for_each(|(key, value)| db.put(key, value).unwrap());
    db.compact(Bounds::all()).unwrap();
    db.close().unwrap();
    held
}

#[test]
fn a_damaged_block_is_an_error_of_its_keys_by_calls_and_by_mappings() {
    let dir = tempfile::tempdir().unwrap();
    let held = filled(dir.path());
    let paths = tables(dir.path());
    for (number, at) in (1000..400_000).step_by(40_000).enumerate() {
        let path = &paths[number % paths.len()];
        let good = fs::read(path).unwrap();
        let mut bad = good.clone();
        let at = at % good.len();
        bad[at] ^= 4;
        fs::write(path, &bad).unwrap();
        let mut found = Vec::new();
        for is_mapped in [false, true] {
            let Ok(db) = Db::open_directory(dir.path(), plain().map_tables(is_mapped)) else {
                found.push("refused".to_owned());
                continue;
            };
            let mut wrong = String::new();
            for _ in 0..2 {
                for (key, value) in &held {
                    match db.get(key) {
                        Ok(got) => assert_eq!(got.as_deref(), Some(&value[..])),
                        Err(error) => wrong += &format!("{}: {error}\n", key.escape_ascii()),
                    }
                }
            }
            wrong += &all(&db).err().map(|error| error.to_string()).unwrap_or_default();
            found.push(wrong);
        }
        assert!(!found[0].is_empty(), "byte {at} of {} is not read", path.display());
        assert_eq!(found[0], found[1], "byte {at}");
        fs::write(path, &good).unwrap();
    }
}

#[test]
fn a_table_that_was_cut_short_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let held = filled(dir.path());
    let paths = tables(dir.path());
    let db = open(dir.path(), plain(), true);
    // The table is open, and none of its blocks has been read.
    assert!(!db.contains(b"absent").unwrap());
    let file = fs::File::options().write(true).open(&paths[0]).unwrap();
    file.set_len(10_000).unwrap();
    let errors = held.keys().filter(|key| db.get(key).is_err()).count();
    assert!(errors > 0 && errors < held.len(), "{errors} errors");
    assert!(all(&db).unwrap_err().is_corruption());
}

#[test]
fn values_that_a_client_keeps_hold_no_table() {
    let dir = tempfile::tempdir().unwrap();
    let held = filled(dir.path());
    let old = tables(dir.path());
    let db = open(dir.path(), plain(), true);
    let value = db.get(&key(7)).unwrap().unwrap();
    let mut cursor = db.cursor(Bounds::all()).unwrap();
    cursor.seek(&key(8)).unwrap();
    let scanned = db.scan(Bounds::all()).unwrap().next().unwrap().unwrap();
    db.delete_range(..).unwrap();
    db.put(&key(0), b"new").unwrap();
    db.compact(Bounds::all()).unwrap();
    assert!(old.iter().any(|path| path.exists()), "the cursor's table");
    assert_eq!(cursor.value(), held[&key(8)]);
    drop(cursor);
    db.wait_idle().unwrap();
    assert!(!old.iter().any(|path| path.exists()), "only values are left");
    assert_eq!((value, scanned.1), (Bytes::from(vec![7; 500]), Bytes::from(vec![0; 500])));
    assert_eq!((db.get(&key(7)).unwrap(), db.get(&key(0)).unwrap().unwrap().len()), (None, 3));
}

#[test]
fn a_store_of_many_tables_keeps_to_its_memory() {
    let dir = tempfile::tempdir().unwrap();
    let small = plain().memory(ByteCount::mib(4));
    filled(dir.path());
    let db = open(dir.path(), small, true);
    for _ in 0..3 {
        assert_eq!(all(&db).unwrap().len(), 1000);
    }
    let memory = db.stats().memory;
    assert!(memory.cache == 0 && memory.used <= memory.budget, "{memory:?}");
}
