//! Old versions that only a snapshot kept are dropped once the snapshot has ended, under every
//! system: the space is freed while writers are idle, a manual compaction leaves none, and a full
//! store takes puts again. Nothing is rewritten before, or twice. Simulated; rows run in parallel.

use std::sync::Arc;

use terrace::{ByteCount, Compression, Db, Emulator, FormatOptions, Options, Snapshot, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;

use crate::devices::{Contents, contents, drive, kinds, options_under};
use crate::rows::for_each_row;

const KEYS: u32 = 1_500;
const VALUE: usize = 1_000;

/// A store whose values are not compressed.
fn created(device: &Arc<Emulator>, system: System) -> Db {
    let options = plain(system);
    Db::create_device(device.clone(), &FormatOptions::default(), options).unwrap()
}

fn plain(system: System) -> Options {
    options_under(system).compression(Compression::None)
}

/// Puts a new value under each of the keys, not in their order.
fn put_all(db: &Db, keys: u32, held: &mut Contents, random: &mut Random) {
    for number in 0..keys {
        // 7,919 is a prime, so each key comes once.
        let key = (u64::from(number) * 7_919 % u64::from(keys)) as u32;
        let key = key.to_be_bytes().to_vec();
        let mut value = vec![0; VALUE];
        random.fill_bytes(&mut value);
        db.put(&key, &value).unwrap();
        held.insert(key, value);
    }
}

fn seen(snapshot: &Snapshot) -> Contents {
    let scan = snapshot.scan(..).unwrap().map(Result::unwrap);
    scan.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Contents of all tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tables {
    bytes: u64,
    entries: u64,
    tombstones: u64,
    old: u64,
    droppable: u64,
}

fn tables(db: &Db) -> Tables {
    let levels = db.stats().levels;
    levels.iter().fold(Tables::default(), |sum, level| Tables {
        bytes: sum.bytes + level.bytes,
        entries: sum.entries + level.entries,
        tombstones: sum.tombstones + level.tombstones,
        old: sum.old + level.old_version_bytes,
        droppable: sum.droppable + level.droppable_bytes,
    })
}

/// The most bytes of tables with `entries` entries.
fn bytes_of(entries: usize) -> u64 {
    entries as u64 * (VALUE as u64 + 40) * 11 / 10
}

/// Asserts that a compacted store holds each key once and nothing else.
fn assert_exact(db: &Db, name: &str, held: &Contents) {
    db.compact(..).unwrap();
    let Tables { bytes, entries, tombstones, old, droppable } = tables(db);
    assert_eq!((entries, tombstones), (held.len() as u64, 0), "{name}: {:?}", db.stats().levels);
    assert_eq!((old, droppable), (0, 0), "{name}");
    assert!(bytes <= bytes_of(held.len()) + (64 << 10), "{name}: {bytes} bytes");
    assert_eq!(&contents(db), held, "{name}");
    db.verify().unwrap();
}

#[test]
fn a_snapshot_that_has_ended_keeps_nothing_at_rest_nor_after_a_compaction() {
    for_each_row(|system| {
        let name = system.name();
        let db = created(&drive(ByteCount::mib(1), 64, 1), system);
        let (mut held, mut random) = (Contents::new(), Random::seeded(1));
        put_all(&db, KEYS, &mut held, &mut random);
        let (snapshot, before) = (db.snapshot(), held.clone());
        put_all(&db, KEYS, &mut held, &mut random);
        db.compact(..).unwrap();
        let kept = tables(&db);
        assert_eq!(kept.entries, 2 * u64::from(KEYS), "{name}: both versions of each key");
        assert!(kept.old > u64::from(KEYS) * VALUE as u64 * 9 / 10, "{name}: {kept:?}");
        assert_eq!(kept.droppable, 0, "{name}: the snapshot is alive");
        assert_eq!(seen(&snapshot), before, "{name}");
        drop(snapshot);
        assert_eq!(tables(&db).droppable, kept.old, "{name}: what stats show of it");
        db.wait_idle().unwrap();
        let rested = tables(&db);
        assert!(rested.bytes <= bytes_of(held.len()), "{name}: {rested:?} after {kept:?}");
        assert_eq!(contents(&db), held, "{name}");
        assert_exact(&db, name, &held);
        db.close().unwrap();
    });
}

#[test]
fn of_two_snapshots_each_keeps_only_its_own_versions_and_nothing_is_written_twice() {
    for_each_row(|system| {
        let name = system.name();
        let db = created(&drive(ByteCount::mib(1), 64, 1), system);
        let (mut held, mut random) = (Contents::new(), Random::seeded(1));
        put_all(&db, KEYS, &mut held, &mut random);
        let (first, seen_first) = (db.snapshot(), held.clone());
        put_all(&db, KEYS, &mut held, &mut random);
        let second = db.snapshot();
        put_all(&db, KEYS, &mut held, &mut random);
        db.compact(..).unwrap();
        assert_eq!(tables(&db).entries, 3 * u64::from(KEYS), "{name}");
        // The younger one first: the entries that the older one sees stay.
        drop(second);
        db.wait_idle().unwrap();
        assert!(tables(&db).bytes <= bytes_of(2 * held.len()), "{name}: {:?}", tables(&db));
        assert_eq!(seen(&first), seen_first, "{name}");
        let at_rest = db.stats().compactions;
        // Snapshots that keep nothing begin and end, and there are no further rewrites.
        for _ in 0..5 {
            drop(db.snapshot());
            db.wait_idle().unwrap();
        }
        assert_eq!(db.stats().compactions, at_rest, "{name}: rewritten while it is kept");
        drop(first);
        db.wait_idle().unwrap();
        assert!(tables(&db).bytes <= bytes_of(held.len()), "{name}: {:?}", tables(&db));
        assert_exact(&db, name, &held);
        db.close().unwrap();
    });
}

#[test]
fn tombstones_that_a_snapshot_kept_go_with_what_they_hid() {
    for_each_row(|system| {
        let name = system.name();
        let db = created(&drive(ByteCount::mib(1), 64, 1), system);
        let (mut held, mut random) = (Contents::new(), Random::seeded(1));
        put_all(&db, KEYS, &mut held, &mut random);
        let (snapshot, before) = (db.snapshot(), held.clone());
        // Every second key of the lower half, the third quarter by one range, and then some keys
        // of it again.
        for key in (0..KEYS / 2).step_by(2) {
            db.delete(&key.to_be_bytes()).unwrap();
            held.remove(&key.to_be_bytes()[..]);
        }
        let (from, to) = (KEYS / 2, KEYS / 4 * 3);
        db.delete_range(&from.to_be_bytes()[..]..&to.to_be_bytes()[..]).unwrap();
        held.retain(|key, _| key[..] < from.to_be_bytes()[..] || key[..] >= to.to_be_bytes()[..]);
        for key in (from..to).step_by(7) {
            db.put(&key.to_be_bytes(), b"again").unwrap();
            held.insert(key.to_be_bytes().to_vec(), b"again".to_vec());
        }
        db.compact(..).unwrap();
        assert_eq!(seen(&snapshot), before, "{name}");
        assert!(tables(&db).entries > u64::from(KEYS), "{name}");
        drop(snapshot);
        db.wait_idle().unwrap();
        assert!(tables(&db).bytes <= bytes_of(held.len()), "{name}: {:?}", tables(&db));
        assert_eq!(contents(&db), held, "{name}");
        assert_exact(&db, name, &held);
        db.close().unwrap();
    });
}

#[test]
fn a_store_that_a_snapshot_has_filled_takes_puts_again_once_it_has_ended() {
    for_each_row(|system| {
        let name = system.name();
        let db = created(&drive(ByteCount::kib(256), 96, 1), system);
        let (mut held, mut random) = (Contents::new(), Random::seeded(1));
        let space = db.stats().space.capacity.0;
        let keys = (space / 4 / (VALUE as u64 + 40)) as u32;
        put_all(&db, keys, &mut held, &mut random);
        let snapshots: Vec<Snapshot> = (0..10)
            .map_while(|_| {
                let snapshot = db.snapshot();
                for number in 0..keys {
                    let mut value = vec![0; VALUE];
                    random.fill_bytes(&mut value);
                    let key = number.to_be_bytes();
                    match db.put(&key, &value) {
                        Ok(()) => drop(held.insert(key.to_vec(), value)),
                        Err(error) => {
                            assert!(error.is_space(), "{name}: {error}");
                            return None;
                        }
                    }
                }
                Some(snapshot)
            })
            .collect();
        assert!((1..10).contains(&snapshots.len()), "{name}: {} snapshots", snapshots.len());
        drop(snapshots);
        // A writer without space waits for the store's measures.
        let mut refused = 0;
        for round in 0..2 {
            for number in 0..keys {
                let mut value = vec![round; VALUE];
                random.fill_bytes(&mut value);
                let key = number.to_be_bytes();
                while let Err(error) = db.put(&key, &value) {
                    assert!(error.is_space(), "{name}: {error}");
                    refused += 1;
                    assert!(refused < 20, "{name}: {error}; {:?}", db.stats().levels);
                    db.wait_idle().unwrap_or_else(|error| assert!(error.is_space()));
                }
                held.insert(key.to_vec(), value);
            }
        }
        assert_eq!(contents(&db), held, "{name}");
        db.wait_idle().unwrap();
        assert_exact(&db, name, &held);
        db.close().unwrap();
    });
}

#[test]
fn what_a_snapshot_of_an_earlier_process_kept_goes_when_the_store_is_opened() {
    for_each_row(|system| {
        let name = system.name();
        let device = drive(ByteCount::mib(1), 64, 1);
        let db = created(&device, system);
        let (mut held, mut random) = (Contents::new(), Random::seeded(1));
        put_all(&db, KEYS, &mut held, &mut random);
        let snapshot = db.snapshot();
        put_all(&db, KEYS, &mut held, &mut random);
        db.compact(..).unwrap();
        drop(db);
        drop(snapshot);
        let db = Db::open_device(device, plain(system)).unwrap();
        // Snapshots of this process keep none of it.
        let snapshot = db.snapshot();
        db.wait_idle().unwrap();
        assert!(tables(&db).bytes <= bytes_of(held.len()), "{name}: {:?}", tables(&db));
        drop(snapshot);
        assert_exact(&db, name, &held);
        db.close().unwrap();
    });
}

#[test]
fn space_comes_back_after_a_snapshot_on_devices_of_every_kind() {
    for (kind, geometry, rows) in kinds(ByteCount::mib(48)) {
        for row in rows {
            let device = Arc::new(Emulator::in_memory(geometry.clone(), 1).expect(kind));
            runner::simulate(1, || {
                let name = format!("{row:?} on {kind}");
                let db = created(&device, System::of(row));
                let (mut held, mut random) = (Contents::new(), Random::seeded(1));
                put_all(&db, KEYS, &mut held, &mut random);
                let snapshot = db.snapshot();
                put_all(&db, KEYS, &mut held, &mut random);
                db.compact(..).unwrap();
                drop(snapshot);
                db.wait_idle().unwrap();
                assert!(tables(&db).bytes <= bytes_of(held.len()), "{name}: {:?}", tables(&db));
                assert_exact(&db, &name, &held);
                db.close().unwrap();
            });
        }
    }
}

#[test]
fn readers_agree_with_their_snapshots_while_others_begin_and_end() {
    for_each_row(|system| {
        let name = system.name();
        let db = created(&drive(ByteCount::mib(1), 64, 1), system);
        let (mut held, mut random) = (Contents::new(), Random::seeded(3));
        let mut snapshots: Vec<(Snapshot, Contents)> = Vec::new();
        for round in 0..40 {
            for _ in 0..150 {
                let key: u32 = random.random_range(0..400);
                let next = key + random.random_range(1..30);
                let (key, next) = (key.to_be_bytes().to_vec(), next.to_be_bytes().to_vec());
                match random.random_range(0..20) {
                    0 => {
                        db.delete_range(&key[..]..&next[..]).unwrap();
                        held.retain(|of, _| *of < key || *of >= next);
                    }
                    1..6 => {
                        db.delete(&key).unwrap();
                        held.remove(&key);
                    }
                    _ => {
                        let mut value = vec![0; random.random_range(0..VALUE)];
                        random.fill_bytes(&mut value);
                        db.put(&key, &value).unwrap();
                        held.insert(key, value);
                    }
                }
            }
            match random.random_range(0..6) {
                0 => db.compact(..).unwrap(),
                1 => db.wait_idle().unwrap(),
                2 => db.flush().unwrap(),
                _ => {}
            }
            if random.random_bool(0.6) {
                snapshots.push((db.snapshot(), held.clone()));
            }
            while !snapshots.is_empty() && random.random_bool(0.4) {
                drop(snapshots.remove(random.random_range(0..snapshots.len())));
            }
            for (snapshot, expected) in &snapshots {
                assert!(seen(snapshot) == *expected, "{name}: a snapshot in round {round}");
            }
            assert!(contents(&db) == held, "{name}: round {round}");
        }
        snapshots.clear();
        assert_exact(&db, name, &held);
        db.close().unwrap();
    });
}
