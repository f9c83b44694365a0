//! Tests of full devices: a device is filled until a put is refused, emptied and filled again,
//! under every system; so is the smallest device that a store can have. A refused put names the
//! holders of the space. A full disk of the host stops writing until the store is resumed. All are
//! simulated.

use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Db, Emulator, Error, FormatOptions, MemoryStore, Options, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{ZoneId, runner, test_seeds};
use terrace_fs::{Fs, ZoneUsage, ZoneUse, data_zones_min};
use terrace_zone::emulator::{FaultPlan, RandomLatency};
use terrace_zone::{Device as _, ZoneState};

use crate::devices::{Contents, contents, drive, kinds, options};

fn value(random: &mut Random) -> Vec<u8> {
    let mut value = vec![0; 1500];
    random.fill_bytes(&mut value);
    value
}

/// Puts new keys until the store is full.
fn fill(db: &Db, held: &mut Contents, next: &mut u32, random: &mut Random) -> u32 {
    for count in 0.. {
        let (key, value) = (next.to_be_bytes().to_vec(), value(random));
        match db.put(&key, &value) {
            Ok(()) => {
                held.insert(key, value);
                *next += 1;
            }
            Err(error) => {
                assert!(error.is_space(), "{error}");
                return count;
            }
        }
    }
    unreachable!("a count without end")
}

/// Fills and empties a device again and again; returns the bytes of each fill.
fn cycles(device: Arc<Emulator>, cycles: u32, options: &Options) -> Vec<u32> {
    let mut random = Random::seeded(1);
    let db = Db::create_device(device, &FormatOptions::default(), options.clone()).unwrap();
    let (mut held, mut next, mut filled) = (Contents::new(), 0, Vec::new());
    for cycle in 0..cycles {
        filled.push(fill(&db, &mut held, &mut next, &mut random));
        assert_eq!(contents(&db), held, "cycle {cycle}, full");
        let doomed: Vec<Vec<u8>> = held.keys().cloned().collect();
        for key in doomed {
            let deleted: Result<(), Error> = db.delete(&key);
            deleted.unwrap_or_else(|e| panic!("cycle {cycle}: {e}; {filled:?} {:?}", db.stats()));
            held.remove(&key);
        }
        assert_eq!(contents(&db), held, "cycle {cycle}, emptied");
        // The space is freed without a request.
        runner::sleep(Duration::from_secs(10));
    }
    assert_eq!(db.stats().failure, None);
    db.close().unwrap();
    filled
}

#[test]
fn a_full_device_is_emptied_and_filled_again() {
    for system in System::all() {
        let parameters = options().system.expect("a system with parameters");
        let system = System { row: system.row, ..parameters };
        let options = options().system(system);
        runner::simulate(1, || {
            let filled = cycles(drive(ByteCount::mib(1), 64, 1), 2, &options);
            let evenly = filled.iter().all(|&count| count > filled[0] * 6 / 10);
            assert!(evenly, "{system}: {filled:?}");
        });
    }
}

/// The disk of a host that holds an image gets full while zones are dead. Their resets give the
/// host space, and the store goes on in them.
#[test]
fn a_store_on_a_full_disk_of_the_host_goes_on_in_its_dead_zones() {
    for system in System::all() {
        let parameters = options().system.expect("a system with parameters");
        let options = options().system(System { row: system.row, ..parameters });
        runner::simulate(1, || {
            let (device, mut random) = (drive(ByteCount::mib(1), 64, 1), Random::seeded(1));
            let create = FormatOptions::default();
            let db = Db::create_device(device.clone(), &create, options.clone()).unwrap();
            let held = cycle(&db, 12 << 20, &mut random).unwrap();
            let zones = device.report(ZoneId(0), 64).unwrap();
            let written = zones.iter().filter(|zone| zone.state != ZoneState::Empty).count();
            assert!((10..50).contains(&written), "{system}: {written} zones");
            device.set_faults(Some(FaultPlan::new(1).host_has_room_for(written as u32)));
            assert_eq!(contents(&db), held);
            db.close().unwrap();
            for round in 0..4 {
                let db = Db::open_device(device.clone(), options.clone()).unwrap();
                let held = cycle(&db, 4 << 20, &mut random)
                    .unwrap_or_else(|error| panic!("{system}, round {round}: {error}"));
                assert_eq!(contents(&db), held, "{system}, round {round}");
                db.close().unwrap();
            }
        });
    }
}

/// Puts entries of `bytes` in all, and deletes all but the last one.
fn cycle(db: &Db, bytes: usize, random: &mut Random) -> Result<Contents, Error> {
    let mut held = Contents::new();
    for _ in 0..bytes / 1500 {
        let (key, value) = (random.random::<[u8; 8]>().to_vec(), value(random));
        db.put(&key, &value)?;
        held.insert(key, value);
    }
    let (last, value) = held.pop_last().expect("a put");
    db.delete_range(..)?;
    db.put(&last, &value)?;
    db.flush()?;
    db.compact(..)?;
    Ok(Contents::from([(last, value)]))
}

#[test]
fn a_full_device_of_every_kind_is_emptied_and_filled_again() {
    for (kind, geometry, rows) in kinds(ByteCount::mib(48)) {
        for row in rows {
            let parameters = options().system.expect("a system with parameters");
            let options = options().system(System { row, ..parameters });
            let device = Arc::new(Emulator::in_memory(geometry.clone(), 1).expect(kind));
            runner::simulate(1, || {
                let filled = cycles(device, 2, &options);
                let evenly = filled.iter().all(|&count| count > filled[0] * 6 / 10);
                assert!(evenly, "{row:?} on {kind}: {filled:?}");
            });
        }
    }
}

#[test]
fn the_smallest_device_is_filled_and_emptied_under_any_system() {
    for own in System::all() {
        let system = System {
            table_size: Some(ByteCount::kib(64)),
            level1_size: Some(ByteCount::kib(256)),
            factor: 4,
            ..own
        };
        let (memtable_size, system) = (Some(ByteCount::kib(64)), Some(system));
        let small = options().memtable_size(memtable_size).system(system);
        runner::simulate(1, || {
            let device = drive(ByteCount::mib(1), data_zones_min(256) + 2, 1);
            let filled = cycles(device, 24, &small);
            // It has only a few partly filled zones. The bytes of a fill vary in a period of two,
            // three or four fills, but nothing is lost.
            let [first, second] =
                [&filled[..12], &filled[12..]].map(|part| part.iter().sum::<u32>());
            let evenly = second * 10 >= first * 9;
            let least = filled.iter().min().copied().unwrap_or(0);
            assert!(evenly && least >= 80, "{}: {filled:?}", own.name());
        });
    }
}

#[test]
fn a_value_of_a_third_of_the_device_is_overwritten_again_and_again() {
    runner::simulate(1, || {
        let (device, mut random) = (drive(ByteCount::kib(256), 256, 1), Random::seeded(1));
        let request = Duration::from_millis(1);
        device.set_timing(Some(Box::new(RandomLatency::new(request, request, 1))));
        let options = Options::fitting(ByteCount::mib(64));
        let create = FormatOptions::default();
        let mut db = Db::create_device(device.clone(), &create, options.clone()).unwrap();
        let mut value = vec![0; 20 << 20];
        for round in 0..10 {
            random.fill_bytes(&mut value);
            db.put(b"large", &value).unwrap_or_else(|e| panic!("round {round}: {e}"));
            assert!(db.get(b"large").unwrap().as_deref() == Some(&value[..]), "round {round}");
            // After an opening, the store begins with the entries of the log.
            db.close().unwrap();
            db = Db::open_device(device.clone(), options.clone()).unwrap();
        }
    });
}

#[test]
fn a_put_that_is_refused_says_who_holds_the_space() {
    runner::simulate(1, || {
        let (device, mut random) = (drive(ByteCount::mib(1), 64, 1), Random::seeded(1));
        let db = Db::create_device(device, &FormatOptions::default(), options()).unwrap();
        let (before, mut held, mut next) = (db.stats().space, Contents::new(), 0);
        assert!(before.for_puts > db.live_max(), "{before:?}: {}", db.live_max());
        let snapshot = db.snapshot();
        fill(&db, &mut held, &mut next, &mut random);
        let scan = db.scan(..).unwrap();
        let refused = db.put(b"one byte", b"1").unwrap_err();
        let space = db.stats().space;
        let text = refused.to_string();
        for part in ["are live", "kept for deletes", "1 scan of write", "1 snapshot of write 0"] {
            assert!(text.contains(part), "no {part:?}: {text}");
        }
        // Nearly all bytes that `stats` calls free are kept or reserved, and the error says so.
        assert!(space.for_puts <= ByteCount::mib(3), "{space:?}");
        let bytes: u64 = held.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum();
        let promised = before.for_puts.0;
        assert!((promised * 3 / 4..=promised).contains(&bytes), "{bytes} of {promised}");
        drop((scan, snapshot));
    });
}

#[test]
fn a_small_drive_takes_what_is_promised_with_default_options() {
    runner::simulate(1, || {
        let (device, mut random) = (drive(ByteCount::mib(1), 256, 1), Random::seeded(1));
        let db = Db::create_device(device, &FormatOptions::default(), Options::default()).unwrap();
        let promised = db.live_max();
        assert!(promised >= ByteCount::mib(100), "{promised} of 256 MiB");
        let keys = (promised.0 / 1504) as u32;
        for key in (0..keys).chain(0..keys / 2) {
            db.put(&key.wrapping_mul(7919).to_be_bytes(), &value(&mut random)).unwrap();
        }
        db.close().unwrap();
    });
}

#[test]
fn a_store_promises_the_same_whatever_it_holds() {
    let check = |shape: &str, open: &dyn Fn() -> Db| {
        let (db, mut random) = (open(), Random::seeded(1));
        let promised = db.live_max();
        let keys = (promised.0 / 3 / 1504) as u32;
        (0..keys).for_each(|key| db.put(&key.to_be_bytes(), &value(&mut random)).unwrap());
        db.close().unwrap();
        let db = open();
        let (now, allowed) = (db.live_max().0, promised.0 * 9 / 10..=promised.0 * 11 / 10);
        assert!(keys > 1000 && allowed.contains(&now), "{shape}: {now}, and {promised} before");
        db.close().unwrap();
    };
    runner::simulate(1, || {
        let memory = MemoryStore::new().with_capacity(ByteCount::mib(64), ByteCount::kib(4));
        let memory = Arc::new(memory);
        check("a store in memory", &|| Db::open(memory.clone(), options()).unwrap());
        let device = drive(ByteCount::mib(1), 64, 1);
        Fs::format(device.clone(), &FormatOptions::default()).unwrap();
        check("a drive", &|| Db::open_device(device.clone(), options()).unwrap());
    });
}

#[test]
fn a_full_disk_of_the_host_stops_writing_until_it_is_resumed() {
    for seed in test_seeds(6) {
        runner::simulate(seed, || {
            let device = drive(ByteCount::mib(1), 64, seed);
            let mut random = Random::seeded(seed);
            let db = Db::create_device(device.clone(), &FormatOptions::default(), options());
            let (db, mut held) = (db.unwrap(), Contents::new());
            for round in 0..4u32 {
                let faults = FaultPlan::new(seed).host_fills(random.random_range(0..60));
                device.set_faults(Some(faults));
                let (refused, maybe) = puts_until_refused(&db, round, &mut held, &mut random);
                let text = refused.to_string();
                assert!(text.contains("no space: ") && text.contains("host's disk"), "{text}");
                assert!(!refused.is_space(), "deletes would not help: {text}");
                // A resume fails while the disk is full.
                let again = db.resume().and_then(|()| db.flush()).unwrap_err();
                assert!(again.to_string().contains("host's disk"), "{again}");
                device.set_faults(None);
                db.resume().unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
                // A refused write has taken effect as a whole or not at all.
                if let Some(value) = db.get(&maybe.0).unwrap() {
                    assert_eq!(value[..], maybe.1[..]);
                    held.insert(maybe.0, maybe.1);
                }
                assert!(contents(&db) == held, "seed {seed}, round {round}");
            }
            db.compact_all().unwrap();
            assert!(contents(&db) == held, "seed {seed}");
            let retired = |zone: &ZoneUsage| zone.used_for == ZoneUse::Retired;
            assert_eq!(db.fs().unwrap().zones().unwrap().iter().filter(|z| retired(z)).count(), 0);
            db.close().unwrap();
            assert!(Fs::check(device).unwrap().is_clean());
        });
    }
}

/// Puts new keys until one is refused; returns the error, and the refused key.
fn puts_until_refused(
    db: &Db,
    round: u32,
    held: &mut Contents,
    random: &mut Random,
) -> (Error, (Vec<u8>, Vec<u8>)) {
    for number in 0..20_000u32 {
        let (key, value) = ([round, number].map(u32::to_be_bytes).concat(), value(random));
        if let Err(error) = db.put(&key, &value) {
            return (error, (key, value));
        }
        held.insert(key, value);
    }
    panic!("20,000 puts onto a full disk")
}
