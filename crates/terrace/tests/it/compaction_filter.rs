//! Compaction filters, under every system: a compaction drops the values that a filter does not
//! keep, `compact` drops all of them, snapshots keep theirs, and no older value reappears.
//! Simulated; rows run in parallel.

use std::sync::Arc;

use terrace::{Bounds, ByteCount, Db, Emulator, FormatOptions, Options, Snapshot, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{runner, test_seeds};

use crate::devices::{Contents, contents, drive, options_under};
use crate::rows::for_each_row;

/// First byte of values that are not kept.
const DOOMED: u8 = 0xdd;

fn is_kept(value: &[u8]) -> bool {
    value.first() != Some(&DOOMED)
}

/// The options under a system, with a filter of the default key space.
fn filtered(system: System) -> Options {
    options_under(system).compaction_filter("default", |key, value| {
        assert_eq!(key.len(), 4, "the key is the user's");
        is_kept(value)
    })
}

fn create(device: &Arc<Emulator>, options: Options) -> Db {
    Db::create_device(device.clone(), &FormatOptions::default(), options).unwrap()
}

fn value(random: &mut Random, is_doomed: bool) -> Vec<u8> {
    let mut value = vec![0; random.random_range(1..1200)];
    random.fill_bytes(&mut value);
    value[0] = if is_doomed { DOOMED } else { 1 };
    value
}

/// Puts a value under each of the keys, not in their order; one in three is doomed.
fn put_all(db: &Db, keys: u32, random: &mut Random) -> Contents {
    let mut held = Contents::new();
    for number in 0..keys {
        // 7,919 is a prime, so each key comes once.
        let key = (u64::from(number) * 7_919 % u64::from(keys)) as u32;
        let value = value(random, key.is_multiple_of(3));
        db.put(&key.to_be_bytes(), &value).unwrap();
        held.insert(key.to_be_bytes().to_vec(), value);
    }
    held
}

fn kept(held: &Contents) -> Contents {
    held.iter().filter(|(_, value)| is_kept(value)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn seen(snapshot: &Snapshot) -> Contents {
    let scan = snapshot.scan(..).unwrap().map(Result::unwrap);
    scan.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Entries and tombstones of all tables.
fn entries(db: &Db) -> (u64, u64) {
    let levels = db.stats().levels;
    let sum = |of: fn(&terrace::LevelStats) -> u64| levels.iter().map(of).sum();
    (sum(|level| level.entries), sum(|level| level.tombstones))
}

#[test]
fn a_compaction_drops_each_value_that_is_not_kept_and_those_of_no_other_key_space() {
    for_each_row(|system| {
        let name = system.name();
        let db = create(&drive(ByteCount::mib(1), 64, 1), filtered(system));
        let other = db.create_key_space("other").unwrap();
        let mut random = Random::seeded(1);
        let held = put_all(&db, 1500, &mut random);
        for key in 0..100_u32 {
            other.put(&key.to_be_bytes(), &[DOOMED; 100]).unwrap();
        }
        db.compact_all().unwrap();
        assert_eq!(contents(&db), kept(&held), "{name}");
        assert_eq!(other.scan(..).unwrap().count(), 100, "{name}");
        let dropped = (held.len() - kept(&held).len()) as u64;
        assert_eq!(db.stats().values_filtered, dropped, "{name}");
        assert_eq!(entries(&db), (kept(&held).len() as u64 + 100, 0), "{name}");
        db.verify().unwrap();
        db.close().unwrap();
    });
}

#[test]
fn compact_asks_about_values_that_lie_in_one_run_already() {
    for_each_row(|system| {
        let name = system.name();
        let device = drive(ByteCount::mib(1), 64, 1);
        let db = create(&device, options_under(system));
        let held = put_all(&db, 1500, &mut Random::seeded(2));
        db.compact(..).unwrap();
        db.close().unwrap();
        let db = Db::open_device(device.clone(), filtered(system)).unwrap();
        assert_eq!(contents(&db), held, "{name}: an opening drops nothing");
        let (first, last) = (300_u32.to_be_bytes(), 900_u32.to_be_bytes());
        db.compact(&first[..]..&last[..]).unwrap();
        let found = contents(&db);
        let within = |key: &Vec<u8>| first[..] <= key[..] && key[..] < last[..];
        for (key, value) in &held {
            let must_go = within(key) && !is_kept(value);
            assert!(!must_go || !found.contains_key(key), "{name}: {key:?}");
            assert!(!is_kept(value) || found.get(key) == Some(value), "{name}: {key:?}");
        }
        db.compact(..).unwrap();
        assert_eq!(contents(&db), kept(&held), "{name}");
        assert_eq!(entries(&db), (kept(&held).len() as u64, 0), "{name}");
        db.close().unwrap();
        let db = Db::open_device(device, options_under(system)).unwrap();
        assert_eq!(contents(&db), kept(&held), "{name}: they are gone for good");
        db.close().unwrap();
    });
}

#[test]
fn a_snapshot_keeps_its_values_until_it_ends() {
    for_each_row(|system| {
        let name = system.name();
        let db = create(&drive(ByteCount::mib(1), 64, 1), filtered(system));
        let mut random = Random::seeded(3);
        // There is no compaction yet, so the snapshot sees all of it.
        for key in 0..40_u32 {
            db.put(&key.to_be_bytes(), &value(&mut random, key.is_multiple_of(3))).unwrap();
        }
        let (snapshot, before) = (db.snapshot(), contents(&db));
        assert!(before.len() > kept(&before).len());
        // The newest doomed values are dropped; the older ones, which hide nothing, do not
        // reappear.
        for key in (0..40_u32).step_by(2) {
            db.put(&key.to_be_bytes(), &value(&mut random, true)).unwrap();
        }
        db.compact(..).unwrap();
        assert_eq!(seen(&snapshot), before, "{name}");
        let odd = |key: &Vec<u8>| key[3] % 2 == 1;
        let now: Contents = before.clone().into_iter().filter(|(key, _)| odd(key)).collect();
        assert_eq!(contents(&db), now, "{name}: the snapshot keeps values that are newest, too");
        drop(snapshot);
        db.compact(..).unwrap();
        assert_eq!(contents(&db), kept(&now), "{name}");
        assert_eq!(entries(&db), (kept(&now).len() as u64, 0), "{name}");
        db.close().unwrap();
    });
}

/// Value of a key, and whether it may be dropped.
#[derive(Clone, Debug)]
enum Held {
    Kept(Vec<u8>),
    /// It may have been dropped, and then it does not reappear.
    Doomed(Vec<u8>),
}

fn check(name: &str, seed: u64, db: &Db, held: &mut std::collections::BTreeMap<Vec<u8>, Held>) {
    let found = contents(db);
    for key in found.keys() {
        assert!(held.contains_key(key), "{name}, seed {seed}: {key:?} came back");
    }
    held.retain(|key, value| match (value, found.get(key)) {
        (Held::Doomed(_), None) => false,
        (Held::Kept(value) | Held::Doomed(value), found) => {
            assert_eq!(found, Some(&*value), "{name}, seed {seed}: {key:?}");
            true
        }
    });
}

fn draw(system: System, seed: u64) {
    let (name, mut random) = (system.name(), Random::seeded(seed));
    let device = drive(ByteCount::mib(1), 64, seed);
    let mut db = create(&device, filtered(system));
    let mut held = std::collections::BTreeMap::new();
    let mut snapshots: Vec<(Snapshot, Contents)> = Vec::new();
    for _ in 0..3000 {
        let key = random.random_range(0..400_u32).to_be_bytes();
        match random.random_range(0..1000) {
            0..700 => {
                let is_doomed = random.random_bool(0.3);
                let value = value(&mut random, is_doomed);
                db.put(&key, &value).unwrap();
                let value = if is_doomed { Held::Doomed(value) } else { Held::Kept(value) };
                held.insert(key.to_vec(), value);
            }
            700..950 => {
                db.delete(&key).unwrap();
                held.remove(&key[..]);
            }
            950..960 => {
                let end = (u32::from_be_bytes(key) + 20).to_be_bytes();
                db.delete_range(Bounds::from(&key[..]..&end[..])).unwrap();
                held.retain(|other, _| !(key[..] <= other[..] && other[..] < end[..]));
            }
            960..970 => check(name, seed, &db, &mut held),
            970..976 if snapshots.len() < 3 => {
                // No compaction runs, so the snapshot keeps all that it sees.
                db.wait_idle().unwrap();
                let snapshot = db.snapshot();
                let seen = seen(&snapshot);
                snapshots.push((snapshot, seen));
            }
            976..985 if !snapshots.is_empty() => {
                let (snapshot, before) =
                    snapshots.swap_remove(random.random_range(0..snapshots.len()));
                assert_eq!(seen(&snapshot), before, "{name}, seed {seed}");
            }
            985..992 => db.flush().unwrap(),
            992..996 => {
                let end = (u32::from_be_bytes(key) + 100).to_be_bytes();
                db.compact(&key[..]..&end[..]).unwrap();
            }
            996..998 => {
                db.compact(..).unwrap();
                check(name, seed, &db, &mut held);
                let is_doomed = |held: &Held| matches!(held, Held::Doomed(_));
                let stays = held.values().any(is_doomed);
                assert!(!stays || !snapshots.is_empty(), "{name}, seed {seed}: {held:?}");
            }
            998..1000 => {
                snapshots.clear();
                db.close().unwrap();
                db = Db::open_device(device.clone(), filtered(system)).unwrap();
            }
            _ => {}
        }
    }
    check(name, seed, &db, &mut held);
    snapshots.clear();
    db.verify().unwrap();
    db.close().unwrap();
}

#[test]
fn values_go_by_chance_and_nothing_else_does() {
    for seed in test_seeds(2) {
        let rows = terrace::Row::ALL.map(|row| {
            let system = System::of(row);
            runner::spawn(system.name(), move || runner::simulate(seed, || draw(system, seed)))
        });
        rows.into_iter().for_each(runner::JoinHandle::join);
    }
}
