//! Tests of writes without a log, on every medium: a close, a drop of the last handle and a sync
//! keep them. A power cut takes back the newest of them, and no write with a log is lost with them.

use std::sync::Arc;
use std::time::Duration;

use terrace::device::{Emulator, PowerCut};
use terrace::{ByteCount, Db, Durability, Error, FormatOptions, Fs, MemoryStore, Options};
use terrace_env::random::{Random, Rng};
use terrace_env::{runner, test_seeds};

use crate::devices::{drive, options};

/// Memtables of 64 KiB, of which the tests fill several.
fn small() -> Options {
    options().memtable_size(ByteCount::kib(64))
}

fn put(db: &Db, number: u32) -> Result<(), Error> {
    db.put(&number.to_be_bytes(), &[number as u8; 500])
}

/// Checks that the first `count` numbers are found, and no others.
fn holds(db: &Db, count: u32) {
    let found: Vec<_> = db.scan(..).unwrap().map(|entry| entry.unwrap().0).collect();
    let expected: Vec<_> = (0..count).map(|number| number.to_be_bytes().to_vec()).collect();
    assert_eq!(found, expected);
}

fn check_clean_ends(open: impl Fn() -> Db) {
    let mut count = 0;
    for closes in [true, false] {
        for more in [1, 10, 1000] {
            let db = open();
            let unlogged = db.with_durability(Durability::Unlogged);
            assert_eq!(unlogged.durability(), Durability::Unlogged);
            for number in count..count + more {
                put(&unlogged, number).unwrap();
            }
            count += more;
            drop(unlogged);
            if closes {
                db.close().unwrap();
            } else {
                drop(db);
            }
            let db = open();
            holds(&db, count);
            db.verify().unwrap();
            db.close().unwrap();
        }
    }
}

#[test]
fn a_clean_end_keeps_writes_without_a_log_on_every_medium() {
    let store = Arc::new(MemoryStore::new());
    check_clean_ends(|| Db::open(store.clone(), small()).unwrap());
    let place = tempfile::tempdir().unwrap();
    check_clean_ends(|| Db::open_directory(place.path(), small()).unwrap());
    let device = drive(ByteCount::mib(1), 48, 7);
    Fs::format(device.clone(), &FormatOptions::default()).unwrap();
    check_clean_ends(|| Db::open_device(device.clone(), small()).unwrap());
    assert!(Fs::check(device).unwrap().is_clean());
}

#[test]
fn a_close_keeps_every_write_that_another_handle_was_told_of() {
    for seed in test_seeds(12) {
        runner::simulate(seed, || {
            let store = Arc::new(MemoryStore::new());
            let db = Db::open(store.clone(), small()).unwrap();
            let write_until_closed = |thread: u32| {
                let unlogged = db.with_durability(Durability::Unlogged);
                runner::spawn("writer", move || {
                    let mut next = 0;
                    while put(&unlogged, thread << 24 | next).is_ok() {
                        next += 1;
                    }
                    next
                })
            };
            let writers: Vec<_> = (0..3).map(write_until_closed).collect();
            runner::sleep(Duration::from_micros(seed % 7 * 100));
            db.close().unwrap();
            let told: Vec<u32> = writers.into_iter().map(runner::JoinHandle::join).collect();
            let db = Db::open(store.clone(), small()).unwrap();
            let count = db.scan(..).unwrap().count() as u32;
            assert_eq!(count, told.iter().sum::<u32>(), "{told:?}");
            db.close().unwrap();
        });
    }
}

/// One life on a drive, until its power is cut. Returns the number of writes, the number of synced
/// ones, and which went to the log.
fn live(db: &Db, first: u32, random: &mut Random) -> (u32, u32, Vec<u32>) {
    let (mut next, mut synced, mut logged) = (first, first, Vec::new());
    for _ in 0..random.random_range(0..1500) {
        let durability = match random.random_range(0..20) {
            0 => Durability::Synced,
            _ => Durability::Unlogged,
        };
        put(&db.with_durability(durability), next).unwrap();
        if durability == Durability::Synced {
            logged.push(next);
        }
        next += 1;
        if random.random_bool(0.002) {
            db.sync().unwrap();
            synced = next;
        }
    }
    (next, synced, logged)
}

fn cut(device: &Arc<Emulator>, random: &mut Random) -> bool {
    let db = Db::create_device(device.clone(), &FormatOptions::default(), small()).unwrap();
    let (written, synced, logged) = live(&db, 0, random);
    device.power_cut(PowerCut::Blocks, random).unwrap();
    drop(db);
    device.power_on();
    assert!(Fs::check(device.clone()).unwrap().is_clean());
    let db = Db::open_device(device.clone(), small()).unwrap();
    let there = |number: u32| db.contains(&number.to_be_bytes()).unwrap();
    let unlogged = |number: &u32| !logged.contains(number);
    let flushed = (0..written).filter(unlogged).take_while(|number| there(*number)).last();
    let behind = flushed.map_or(0, |last| last + 1);
    assert!(behind >= synced.min(written) || (behind..synced).all(|n| !unlogged(&n)), "{behind}");
    for number in (0..written).filter(unlogged).filter(|number| *number >= behind) {
        assert!(!there(number), "{number} is there, and an older one is lost");
    }
    for number in &logged {
        assert!(there(*number), "{number} was synced to the log");
    }
    let lost = (behind..written).any(|number| unlogged(&number));
    // The store goes on with its sequences: new writes hide earlier ones.
    for number in 0..written + 10 {
        db.put(&number.to_be_bytes(), b"again").unwrap();
    }
    db.compact(..).unwrap();
    for entry in db.scan(..).unwrap() {
        assert_eq!(&entry.unwrap().1[..], b"again");
    }
    db.verify().unwrap();
    db.close().unwrap();
    lost
}

#[test]
fn a_power_cut_of_a_drive_takes_back_the_newest_writes_without_a_log() {
    let mut lost = 0;
    for seed in test_seeds(12) {
        lost += u32::from(runner::simulate(seed, || {
            let random = &mut Random::seeded(seed);
            cut(&drive(ByteCount::mib(1), 48, seed), random)
        }));
    }
    assert!(lost > 0, "no cut took anything back");
}
