//! Tests of the row `geardb` on emulated drives: it writes less than leveled compaction, its zones
//! hold tables of one level, the collector moves nothing, and windows outlive a close of the store.
//! Simulated, from fixed seeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::{ByteCount, Db, FormatOptions, Row, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;
use terrace_zone::Emulator;

use crate::devices::{amplification, contents, drive, options_under};

/// Zones that hold tables of several levels.
fn shared(db: &Db) -> usize {
    let zones = db.fs().expect("a device").zones().expect("a report");
    let levels = zones.iter().map(|zone| zone.levels.iter().filter(|(of, _)| of.is_some()).count());
    levels.filter(|levels| *levels > 1).count()
}

/// Puts values of 1,000 bytes under these keys; returns the bytes written to the device by flush
/// and compaction, and by reclaim, for each byte of the client's.
fn puts(db: &Db, keys: impl Iterator<Item = u32>, random: &mut Random) -> (f64, f64) {
    let mut value = [0; 1000];
    for key in keys {
        random.fill_bytes(&mut value);
        db.put(&key.to_be_bytes(), &value).unwrap();
    }
    db.wait_idle().unwrap();
    amplification(db)
}

fn created(system: System) -> (Arc<Emulator>, Db) {
    let device = drive(ByteCount::mib(1), 200, 1);
    let db = Db::create_device(device.clone(), &FormatOptions::default(), options_under(system))
        .unwrap();
    (device, db)
}

#[test]
fn a_random_load_is_written_less_often_than_by_levels_and_keeps_zones_to_one_level() {
    let load = |row: Row| {
        runner::simulate(1, || {
            let (mut keys, mut random) = (Random::seeded(1), Random::seeded(2));
            let (_, db) = created(System::of(row));
            let keys = (0..50_000).map(|_| keys.random_range(0..40_000));
            let (written, moved) = puts(&db, keys, &mut random);
            db.verify().unwrap();
            let shared = shared(&db);
            db.close().unwrap();
            (written, moved, shared)
        })
    };
    let (written, moved, shared) = load(Row::Geardb);
    let (by_levels, ..) = load(Row::LevelSeparated);
    println!("written {written:.2}, by levels {by_levels:.2}, {shared} zones shared");
    assert!(written < 0.8 * by_levels, "{written:.2} written for one, {by_levels:.2} by levels");
    assert_eq!((moved, shared), (0.0, 0));
}

#[test]
fn windows_go_on_where_they_were_when_the_store_was_closed() {
    runner::simulate(1, || {
        let (mut keys, mut random) = (Random::seeded(1), Random::seeded(2));
        let (device, mut db) = created(System::of(Row::Geardb));
        let mut held: BTreeMap<u32, ()> = BTreeMap::new();
        for _ in 0..8 {
            let drawn: Vec<u32> = (0..3_000).map(|_| keys.random_range(0..20_000)).collect();
            held.extend(drawn.iter().map(|key| (*key, ())));
            let (_, moved) = puts(&db, drawn.into_iter(), &mut random);
            assert_eq!((moved, shared(&db)), (0.0, 0));
            db.close().unwrap();
            db = Db::open_device(device.clone(), options_under(System::of(Row::Geardb))).unwrap();
        }
        assert_eq!(contents(&db).len(), held.len());
        db.verify().unwrap();
    });
}
