//! Stores on raw shingled tracks whose guards are short or long compared with a table: the
//! [promised bytes](Db::live_max) can be overwritten again and again, and guards never use up the
//! space of a put. Simulated; cases run in parallel.

use std::sync::Arc;

use terrace::{
    ByteCount, Compression, Db, Emulator, Error, FormatOptions, Geometry, Options, Row, System,
};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;
use terrace_zone::Tracks;

use crate::devices::options;

/// Number of tables that a store promises at least.
const TABLES_MIN: u64 = 16;
/// The bytes of a value.
const VALUE: usize = 1000;
/// Number of times that the live data is overwritten after the load.
const VOLUMES: u32 = 2;

/// Blocks of a track, tracks that a write destroys, and KiB of a table.
type Case = (u32, u32, u64);

/// Guards of a quarter of a table and less, and of up to six tables.
const CASES: [Case; 7] =
    [(8, 1, 256), (8, 2, 64), (16, 2, 64), (16, 2, 128), (32, 2, 64), (32, 2, 256), (32, 1, 128)];

/// Fills a device of 32 MiB up to the store's promised bytes, in random order, and overwrites it.
/// With an overlap of 0 the device is a plain one.
fn overwrite(system: System, (blocks, overlap, table): Case) {
    let geometry = match overlap {
        0 => Geometry::plain(ByteCount::mib(32)),
        _ => Geometry::tracks(ByteCount::mib(32), Tracks { blocks, overlap }),
    };
    let device = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
    let table = ByteCount::kib(table);
    let (table_size, level1_size) = (Some(table), Some(ByteCount(8 * table.0)));
    let options = options()
        .memtable_size(table)
        .system(System { table_size, level1_size, ..system })
        .compression(Compression::None);
    let db = Db::create_device(device, &FormatOptions::default(), options).unwrap();
    let (name, promised) = (system.name(), db.live_max());
    assert!(promised.0 >= TABLES_MIN * table.0, "{name}: only {promised} are promised");
    overwrite_promised(&db, name);
    db.close().unwrap();
}

/// Fills a store up to its promised bytes, in random order, and overwrites them.
fn overwrite_promised(db: &Db, name: &str) {
    let keys = (db.live_max().0 / (VALUE + size_of::<u32>()) as u64) as u32;
    let (mut random, mut value) = (Random::seeded(1), vec![0; VALUE]);
    for write in 0..(1 + VOLUMES) * keys {
        let loaded = write.wrapping_mul(7919) % keys;
        let key = if write < keys { loaded } else { random.random_range(0..keys) };
        random.fill_bytes(&mut value);
        db.put(&key.to_be_bytes(), &value).unwrap_or_else(|error| {
            let volumes = f64::from(write) / f64::from(keys);
            panic!("{name} after {volumes:.2} volumes: {error}")
        });
    }
    assert_eq!(db.stats().failure, None);
}

/// A device: its MiB, blocks of a track, and tracks that a write destroys.
type Shape = (u64, u32, u32);

/// Devices that are small compared with their guards.
const SMALL: [Shape; 19] = [
    (40, 256, 2),
    (48, 256, 2),
    (56, 256, 2),
    (64, 256, 2),
    (72, 256, 2),
    (76, 256, 2),
    (80, 256, 2),
    (88, 256, 2),
    (32, 128, 3),
    (40, 128, 3),
    (48, 128, 3),
    (52, 128, 3),
    (56, 128, 3),
    (128, 1024, 2),
    (256, 1024, 2),
    (512, 4096, 2),
    (256, 256, 16),
    (1024, 2048, 8),
    (32, 24, 2),
];

/// A store with the options that fit the device; an error if the device is too small for one.
fn fitting(system: System, (mib, blocks, overlap): Shape) -> Result<Db, Error> {
    let geometry = Geometry::tracks(ByteCount::mib(mib), Tracks { blocks, overlap });
    let options = Options::fitting(geometry.capacity()).system(system);
    let device = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
    let options = options.compression(Compression::None);
    Db::create_device(device, &FormatOptions::default(), options)
}

#[test]
fn a_small_device_of_tracks_is_refused_or_takes_puts_as_it_promises() {
    let refused = SMALL.map(|shape| {
        runner::simulate(1, move || {
            let db = match fitting(System::default(), shape) {
                Ok(db) => db,
                Err(error) => {
                    let error = error.to_string();
                    let says = error.contains("expected a shingled device of at least");
                    assert!(says && error.contains("guards"), "{shape:?}: {error}");
                    return true;
                }
            };
            let space = db.stats().space;
            assert!(space.kept <= space.capacity, "{shape:?}: {space:?}");
            assert!(db.live_max() <= space.for_puts, "{shape:?}: {}: {space:?}", db.live_max());
            db.put(b"key", &[1; VALUE]).unwrap_or_else(|error| panic!("{shape:?}: {error}"));
            db.close().unwrap();
            false
        })
    });
    let taken = refused.iter().filter(|refused| !**refused).count();
    assert!((3..=16).contains(&taken), "{taken} of {SMALL:?} are taken");
}

#[test]
fn what_is_promised_beside_long_guards_on_a_small_device_is_overwritten() {
    let cases = [(96, 256, 2), (112, 256, 2), (64, 128, 3)].map(|shape| (System::default(), shape));
    let sets = (System::of(Row::Sealdb), (96, 256, 2));
    let begin = |(system, shape): (System, Shape)| {
        let overwrite = move || {
            let db = fitting(system, shape).unwrap();
            assert!(db.live_max() > ByteCount(0), "{shape:?}");
            overwrite_promised(&db, &format!("{} on {shape:?}", system.name()));
            db.close().unwrap();
        };
        runner::spawn("overwriting", move || runner::simulate(1, overwrite))
    };
    let cases: Vec<_> = cases.into_iter().chain([sets]).map(begin).collect();
    cases.into_iter().for_each(runner::JoinHandle::join);
}

/// Carries cases out, several at once.
fn side_by_side(cases: impl IntoIterator<Item = (System, Case)>) {
    let begin = |(system, case): (System, Case)| {
        let name = format!("{} on {case:?}", system.name());
        runner::spawn(&name, move || runner::simulate(1, || overwrite(system, case)))
    };
    let cases: Vec<_> = cases.into_iter().map(begin).collect();
    cases.into_iter().for_each(runner::JoinHandle::join);
}

#[test]
fn what_is_promised_is_overwritten_on_tracks_of_any_length() {
    let rows = [Row::LeveldbDisk, Row::Sealdb].map(System::of);
    side_by_side(rows.into_iter().flat_map(|row| CASES.map(|case| (row, case))));
}

#[test]
fn what_every_row_promises_is_overwritten_though_guards_are_longer_than_tables() {
    side_by_side(System::all().into_iter().map(|row| (row, (16, 2, 128))));
}

#[test]
fn what_is_promised_is_overwritten_on_a_plain_device() {
    let rows = [Row::LeveldbDisk, Row::LeveldbSets, Row::Sealdb].map(System::of);
    side_by_side(rows.map(|row| (row, (0, 0, 128))));
}

#[test]
fn a_row_with_sets_promises_more_on_tracks_than_one_without() {
    let promised = |row: Row| {
        let geometry = Geometry::tracks(ByteCount::mib(64), Tracks { blocks: 16, overlap: 2 });
        let device = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
        let table_size = Some(ByteCount::kib(128));
        let options = options().system(System { table_size, ..System::of(row) });
        Db::create_device(device, &FormatOptions::default(), options).unwrap().live_max().0
    };
    let (with, without) = (promised(Row::Sealdb), promised(Row::LeveldbDisk));
    assert!(with * 100 >= without * 125, "{with} and {without} bytes");
}

#[test]
fn the_longer_the_guard_the_less_is_promised() {
    let promised = |(blocks, overlap, table): Case| {
        let geometry = Geometry::tracks(ByteCount::mib(64), Tracks { blocks, overlap });
        let device = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
        let table_size = Some(ByteCount::kib(table));
        let options = options().system(System { table_size, ..System::of(Row::LeveldbDisk) });
        Db::create_device(device, &FormatOptions::default(), options).unwrap().live_max()
    };
    let of = [(8, 2, 256), (16, 2, 256), (16, 2, 64), (64, 2, 64)].map(promised);
    assert!(of.is_sorted_by(|more, less| more > less), "{of:?}");
    assert!(of[0] > ByteCount::mib(22) && of[3] > ByteCount(0), "{of:?}");
}
