//! Stores on emulated drives and in directories keep their contents over reopening, and synced
//! writes over a power cut. The same seed gives the same history, down to the requests to the
//! drive.
//!
//! The file also has the drives, options and loads that other tests share.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::{ByteCount, Compression, Db, Durability, FormatOptions, Options, Row, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{runner, test_seeds};
use terrace_zone::{Emulator, Geometry, PowerCut, Tracks};

pub(crate) type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn drive(zone: ByteCount, zones: u32, seed: u64) -> Arc<Emulator> {
    Arc::new(Emulator::in_memory(Geometry::uniform(zone, zones), seed).unwrap())
}

/// Devices of `size` without ordinary zones, each with the systems that are made for it: bands of 1
/// MiB with a region for random access; a plain device, like a disk or a drive that hides its
/// bands; and raw shingled tracks.
pub(crate) fn kinds(size: ByteCount) -> [(&'static str, Geometry, Vec<Row>); 3] {
    let zones = (size.0 >> 20) as u32;
    let conventional = std::iter::once(0..1).collect();
    let bands = Geometry { conventional, ..Geometry::uniform(ByteCount::mib(1), zones) };
    let tracks = Geometry::tracks(size, Tracks { blocks: 24, overlap: 2 });
    let of_plain = vec![Row::LeveldbDisk, Row::LeveldbSets, Row::Bluefs];
    [
        ("bands", bands, vec![Row::Smrdb, Row::SmrdbLeveled]),
        ("a plain device", Geometry::plain(size), of_plain),
        ("tracks", tracks, vec![Row::Sealdb, Row::LeveldbSets, Row::Bluefs]),
    ]
}

/// Options for devices of a few dozen MiB.
pub(crate) fn options() -> Options {
    Options::default()
        .memtable_size(ByteCount::kib(256))
        .system(System {
            table_size: Some(ByteCount::kib(128)),
            level1_size: Some(ByteCount::mib(1)),
            factor: 4,
            ..System::default()
        })
        .memory(ByteCount::mib(3))
        .compression(Compression::Lz4)
}

/// The same under a system whose tables are small compared with zones of 1 MiB.
pub(crate) fn options_under(system: System) -> Options {
    let system = System {
        table_size: Some(ByteCount::kib(64)),
        level1_size: Some(ByteCount::kib(160)),
        ..system
    };
    options().memtable_size(ByteCount::kib(64)).system(system)
}

/// Bytes written to the device by flush and compaction, and by reclaim, for each byte of the
/// client's.
pub(crate) fn amplification(db: &Db) -> (f64, f64) {
    let written = db.stats().write_amplification;
    (written.flush + written.compaction, written.reclaim)
}

pub(crate) fn contents(db: &Db) -> Contents {
    let scan = db.scan(..).unwrap().map(Result::unwrap);
    scan.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Random writes over `keys` keys; updates `held`.
pub(crate) fn churn(db: &Db, held: &mut Contents, keys: u32, writes: u32, random: &mut Random) {
    for _ in 0..writes {
        let key = random.random_range(0..keys).to_be_bytes().to_vec();
        if random.random_bool(0.2) {
            db.delete(&key).unwrap();
            held.remove(&key);
        } else {
            let mut value = vec![0; random.random_range(0..2000)];
            random.fill_bytes(&mut value);
            db.put(&key, &value).unwrap();
            held.insert(key, value);
        }
    }
}

#[test]
fn a_store_on_zones_keeps_everything_over_reopening() {
    for seed in test_seeds(2) {
        runner::simulate(seed, || {
            let device = drive(ByteCount::mib(1), 64, seed);
            let mut random = Random::seeded(seed);
            let mut db =
                Db::create_device(device.clone(), &FormatOptions::default(), options()).unwrap();
            let (mut held, mut resets) = (Contents::new(), 0);
            for _ in 0..4 {
                churn(&db, &mut held, 5000, 8000, &mut random);
                assert_eq!(contents(&db), held);
                resets += db.stats().io.zones_reset;
                db.close().unwrap();
                db = Db::open_device(device.clone(), options()).unwrap();
                assert_eq!(contents(&db), held);
            }
            db.wait_idle().unwrap();
            let stats = db.stats();
            assert!(stats.levels.len() > 2, "{:?}", stats.levels);
            assert!(resets > 0, "{:?}", stats.io);
            assert!(db.verify().unwrap().tables > 10);
            db.close().unwrap();
            let read_only = options().read_only(true);
            let db = Db::open_device(device, read_only).unwrap();
            assert_eq!(contents(&db), held);
            assert!(db.put(b"k", b"v").is_err());
            db.close().unwrap();
        });
    }
}

#[test]
fn what_was_synced_survives_a_power_cut() {
    for seed in test_seeds(6) {
        runner::simulate(seed, || {
            let device = drive(ByteCount::mib(1), 64, seed);
            let mut random = Random::seeded(seed);
            let db =
                Db::create_device(device.clone(), &FormatOptions::default(), options()).unwrap();
            let mut held = Contents::new();
            churn(&db, &mut held, 2000, 6000, &mut random);
            db.sync().unwrap();
            // One more batch, found as a whole or not at all.
            let mut torn = terrace::Batch::new();
            for key in 0..500u32 {
                torn.put(&key.to_be_bytes(), b"torn");
            }
            db.write_with(torn, Durability::Gathered).unwrap();
            let survivor = device.snapshot().unwrap().cut(PowerCut::any(&mut random), &mut random);
            drop(db);
            let db = Db::open_device(Arc::new(survivor), options()).unwrap();
            let found = contents(&db);
            if found != held {
                for key in 0..500u32 {
                    held.insert(key.to_be_bytes().to_vec(), b"torn".to_vec());
                }
                assert_eq!(found, held);
            }
            db.close().unwrap();
        });
    }
}

#[test]
fn a_store_in_a_directory_keeps_everything_over_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::seeded(1);
    let mut held = Contents::new();
    for _ in 0..3 {
        let db = Db::open_directory(directory.path(), options()).unwrap();
        assert_eq!(contents(&db), held);
        churn(&db, &mut held, 2000, 4000, &mut random);
        assert_eq!(contents(&db), held);
        db.close().unwrap();
    }
}

#[test]
fn the_same_seed_gives_the_same_history_down_to_the_drive() {
    let history = |seed| {
        runner::simulate(seed, || {
            let device = drive(ByteCount::mib(1), 64, seed);
            let format = FormatOptions::default();
            let db = Db::create_device(device.clone(), &format, options()).unwrap();
            churn(&db, &mut Contents::new(), 3000, 6000, &mut Random::seeded(seed));
            db.wait_idle().unwrap();
            let stats = format!("{:?}", db.stats());
            db.close().unwrap();
            (runner::history(), stats, device.io())
        })
    };
    assert_eq!(history(3), history(3));
    assert_ne!(history(3).0, history(4).0);
}
