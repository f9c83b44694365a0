//! Random histories of a store that is backed up again and again: puts, deletes, range deletes,
//! operands, key spaces that are made and dropped, ingests, compactions, and openings. After each
//! backup the target, opened for reading, equals the source.
//!
//! The same seed gives the same history.

use std::sync::Arc;

use terrace::{
    Bounds, ByteCount, Counter, Db, FormatOptions, KeySpace, Options, System, TableComparison,
};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{runner, test_seeds};

use crate::backup::{check_by, targets};
use crate::devices::{drive, options_under};

/// Keys of a key space.
const KEYS: u32 = 1500;

fn by() -> Options {
    options_under(System::default()).merge_operator(Counter).memory(ByteCount::mib(3))
}

fn key(random: &mut Random) -> [u8; 4] {
    random.random_range(0..KEYS).to_be_bytes()
}

fn value(random: &mut Random) -> Vec<u8> {
    let mut value = vec![0; random.random_range(0..600)];
    random.fill_bytes(&mut value);
    value
}

/// Changes a key space.
fn change(space: &KeySpace, random: &mut Random) {
    match random.random_range(0..100) {
        0..70 => space.put(&key(random), &value(random)).unwrap(),
        70..85 => space.delete(&key(random)).unwrap(),
        // Counters are apart from values of other sizes.
        85..99 => {
            space.merge(&[b"counter", &key(random)[..]].concat(), &Counter::bytes(3)).unwrap()
        }
        _ => {
            let from = random.random_range(0..KEYS);
            let to = (from + random.random_range(1..60)).to_be_bytes();
            space.delete_range(Bounds::starting_at(&from.to_be_bytes()).until(&to)).unwrap();
        }
    }
}

/// Puts keys in order, into tables directly.
fn ingest(db: &Db, space: &KeySpace, random: &mut Random) {
    let mut ingest = db.ingest().unwrap();
    let (from, step) = (random.random_range(0..KEYS), random.random_range(1..5));
    let mut into = ingest.key_space(space).unwrap();
    for number in 0..random.random_range(1..200) {
        into.put(&(from + number * step).to_be_bytes(), &value(random)).unwrap();
    }
    ingest.finish().unwrap();
}

fn history(seed: u64) -> (u64, u64) {
    runner::simulate(seed, || {
        let device = drive(ByteCount::mib(1), 64, seed);
        let mut random = Random::seeded(seed);
        let mut db = Db::create_device(device.clone(), &FormatOptions::default(), by()).unwrap();
        let targets = targets(seed);
        let (mut kept, mut copied) = (0, 0);
        for round in 0..14 {
            let names = db.key_spaces();
            match random.random_range(0..5) {
                0 if names.len() < 4 => _ = db.create_key_space(&format!("space {round}")).unwrap(),
                1 if names.len() > 2 => _ = db.drop_key_space(&names[1]).unwrap(),
                _ => {}
            }
            let names = db.key_spaces();
            for _ in 0..random.random_range(1..4) {
                let name = &names[random.random_range(0..names.len())];
                let space = db.key_space(name).unwrap();
                (0..random.random_range(0..500)).for_each(|_| change(&space, &mut random));
                match random.random_range(0..8) {
                    0 | 1 => ingest(&db, &space, &mut random),
                    2 => {
                        let to = key(&mut random);
                        space.compact(Bounds::all().until(&to)).unwrap();
                    }
                    3 => db.flush().unwrap(),
                    _ => {}
                }
            }
            if random.random_bool(0.1) {
                db.compact_all().unwrap();
            }
            let read_only = random.random_bool(0.3);
            if read_only || random.random_bool(0.1) {
                db.close().unwrap();
                db = Db::open_device(device.clone(), by().read_only(read_only)).unwrap();
            }
            // Backups of one target are some rounds apart.
            for target in &targets {
                if random.random_bool(0.5) {
                    continue;
                }
                let whole = random.random_bool(0.2);
                let comparison = if whole { TableComparison::Whole } else { TableComparison::Ends };
                let none = &mut |_, _| {};
                let done = db.backup_watched(Arc::clone(target), comparison, none).unwrap();
                kept += done.kept_tables;
                copied += done.tables - done.kept_tables;
                check_by(by(), target, &db);
            }
            if read_only {
                db.close().unwrap();
                db = Db::open_device(device.clone(), by()).unwrap();
            }
        }
        db.close().unwrap();
        (kept, copied)
    })
}

#[test]
fn after_each_backup_of_a_random_history_the_target_equals_the_source() {
    let (mut kept, mut copied) = (0, 0);
    test_seeds(8).for_each(|seed| {
        let (some, others) = history(seed);
        (kept, copied) = (kept + some, copied + others);
    });
    println!("{kept} tables were kept, {copied} copied");
    assert!(kept > 50 && copied > 50, "{kept} kept, {copied} copied");
}
