//! What every row of the table of systems promises, whatever its choices are. That a full store
//! goes on once it is emptied is in `full`.

use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Compression, Db, Error, FormatOptions, Options, Row, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;
use terrace_fs::{ZoneUsage, ZoneUse};
use terrace_zone::Emulator;

use crate::devices::{drive, options_under};

/// Puts a value of its own under a key.
fn put(db: &Db, key: u32, size: usize, random: &mut Random) -> Result<(), Error> {
    let mut value = vec![0; size];
    random.fill_bytes(&mut value);
    db.put(&key.to_be_bytes(), &value)
}

/// Carries out `test` for each row, several at once.
fn for_each_row(test: fn(System)) {
    let begin = |row: System| runner::spawn(row.name(), move || runner::simulate(1, || test(row)));
    let rows: Vec<_> = System::all().into_iter().map(begin).collect();
    rows.into_iter().for_each(runner::JoinHandle::join);
}

fn created(device: &Arc<Emulator>, options: Options) -> Db {
    Db::create_device(device.clone(), &FormatOptions::default(), options).unwrap()
}

fn written(device: &Emulator) -> u64 {
    device.io().written_bytes.iter().sum()
}

/// The bytes of values, of a put and of all that a table has beside them.
const LARGE: usize = 4000;

#[test]
fn a_sequential_load_is_relinked_and_not_rewritten() {
    const ZONE: ByteCount = ByteCount::mib(4);
    const MEMTABLE: ByteCount = ByteCount::mib(1);
    for_each_row(|system| {
        let device = drive(ZONE, 60, 1);
        let db = created(
            &device,
            Options {
                system: Some(system),
                memtable_size: MEMTABLE,
                memory: ByteCount::mib(16),
                ..Options::default()
            },
        );
        let mut random = Random::seeded(1);
        (0..32_000).for_each(|key| put(&db, key, LARGE, &mut random).unwrap());
        db.settle().unwrap();
        let name = system.name();
        // All that reached the device, the log among it.
        let amplification = written(&device) as f64 / db.stats().user_bytes as f64;
        assert!(amplification <= 2.1, "{name}: {amplification:.3} bytes written for one");
        // A zone is done when it has no room for another table, which is a memtable and a little.
        let zones = db.fs().expect("a device").zones().expect("a report");
        let room = |zone: &ZoneUsage| zone.pointer.map_or(0, |at| zone.capacity.0 - at.0);
        let is_done = |zone: &&ZoneUsage| {
            zone.used_for == ZoneUse::Data && room(zone) < MEMTABLE.0 + MEMTABLE.0 / 32
        };
        let done = zones.iter().filter(is_done);
        let (live, all) =
            done.fold((0, 0), |(live, all), zone| (live + zone.live.0, all + zone.capacity.0));
        assert!(all >= 28 * ZONE.0, "{name}: {} zones are done", all / ZONE.0);
        // Whole tables in a zone: there is room for one more but for a byte. Of memtables that are
        // a quarter of a zone, that is a quarter.
        let least = if system.row == Row::Bluefs { 75 } else { 95 };
        assert!(live * 100 >= all * least, "{name}: {live} of {all} bytes are valid");
        db.close().unwrap();
    });
}

/// The share of a store in percent that live data may take for overwriting to go on, whatever the
/// system: upper levels hide up to a quarter of the last one, the file system keeps some zones for
/// whoever gives space back, and some lies dead in zones.
const LIVE: u64 = 50;

/// Loads a store to [`LIVE`] in random order, overwrites its capacity twice, and puts new
/// keys until one is refused; returns the error, and how many keys there are.
fn filled(db: &Db, name: &str, random: &mut Random) -> (Error, u32) {
    let capacity = db.stats().space.capacity.0;
    let keys = (capacity * LIVE / 100 / VALUE as u64) as u32;
    let overwrites = 2 * (capacity / VALUE as u64) as u32;
    let loaded = (0..keys).map(|n| n.wrapping_mul(7919) % keys);
    let drawn: Vec<u32> = (0..overwrites).map(|_| random.random_range(0..keys)).collect();
    for key in loaded.chain(drawn) {
        let done = put(db, key, VALUE, random);
        done.unwrap_or_else(|error| panic!("{name}: {error}; {:?}", db.stats().space));
    }
    for key in keys.. {
        if let Err(refused) = put(db, key, VALUE, random) {
            return (refused, key);
        }
    }
    unreachable!("keys without end")
}

/// The bytes of a value of a store that is filled.
const VALUE: usize = 1000;

#[test]
fn overwriting_goes_on_and_a_full_store_says_so_and_rests() {
    for_each_row(|system| {
        let device = drive(ByteCount::kib(128), 208, 1);
        let compression = Compression::None.into();
        let db = created(&device, Options { compression, ..options_under(system) });
        let (name, mut random) = (system.name(), Random::seeded(1));
        let capacity = db.stats().space.capacity.0;
        let (refused, _) = filled(&db, name, &mut random);
        assert!(refused.is_space(), "{name}: {refused}");
        assert!(refused.to_string().contains("delete something"), "{name}: {refused}");
        // A collector that copied everything for the little that is dead would be far above.
        let moved = db.stats().write_amplification.reclaim;
        assert!(moved < 20.0, "{name}: {moved:.1} bytes moved for one");
        // Nothing is left that a collector could have found.
        let space = db.stats().space;
        assert!(space.dead.0 * 100 < capacity, "{name}: refused with {space:?}");
        // Nothing is moved about any more.
        let work = || {
            let io = device.io();
            (io.writes, io.zones_reset, io.zones_finished)
        };
        runner::sleep(Duration::from_secs(10));
        let before = work();
        runner::sleep(Duration::from_secs(100));
        assert_eq!(work(), before, "{name}: busy though nothing can be done");
        assert_eq!(db.stats().failure, None, "{name}");
        db.close().unwrap();
    });
}

#[test]
fn deletes_give_a_full_store_of_many_zones_space_again() {
    for_each_row(|system| {
        for (zones, share) in [(208, 2), (256, 4)] {
            let device = drive(ByteCount::kib(128), zones, 1);
            let compression = Compression::None.into();
            let db = created(&device, Options { compression, ..options_under(system) });
            let (name, mut random) = (system.name(), Random::seeded(1));
            let (refused, keys) = filled(&db, name, &mut random);
            assert!(refused.is_space(), "{name}: {refused}");
            let space = db.stats().space;
            let full = space.live.0 as f64 / space.capacity.0 as f64;
            assert!(full > 0.8, "{name}: refused at {full:.2}");
            for key in (0..keys).step_by(share) {
                db.delete(&key.to_be_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            // Half of what was deleted finds a place at once.
            let begun = runner::now();
            for key in keys..keys + keys / share as u32 / 2 {
                let done = put(&db, key, VALUE, &mut random);
                done.unwrap_or_else(|error| panic!("{name}: {error}; {:?}", db.stats().space));
            }
            let took = runner::now().since(begun);
            assert!(took < Duration::from_secs(60), "{name}: {took:?} to put a part again");
            assert_eq!(db.stats().failure, None, "{name}");
            db.close().unwrap();
        }
    });
}
