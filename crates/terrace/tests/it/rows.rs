//! Guarantees of every row of the table of systems, for all choices of its deciders: a sequential
//! load is moved and not rewritten; a store that is overwritten again and again goes on; a full one
//! refuses puts, becomes idle, and has space again after deletes. Simulated; rows run in parallel.
//! `full` has more tests of full stores.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Compression, Db, Error, FormatOptions, Options, Row, System};
use terrace_env::Cause;
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;
use terrace_fs::{OPEN_ZONES_MIN, ZoneUsage};
use terrace_zone::{Emulator, Geometry};

use crate::devices::{drive, options_under};

/// Puts a separate value under a key.
fn put(db: &Db, key: u32, size: usize, random: &mut Random) -> Result<(), Error> {
    let mut value = vec![0; size];
    random.fill_bytes(&mut value);
    db.put(&key.to_be_bytes(), &value)
}

/// Carries out `test` for each row, several at once.
pub(crate) fn for_each_row(test: fn(System)) {
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

/// The zones that hold tables, without those for the next tables: for each stream the one with most
/// room that is not full.
fn zones_of_tables(db: &Db) -> Vec<ZoneUsage> {
    let room = |zone: &ZoneUsage| zone.pointer.map_or(0, |at| zone.capacity.0 - at.0);
    let mut zones = db.fs().expect("a device").zones().expect("a report");
    zones.retain(|zone| zone.levels.iter().any(|(level, _)| level.is_some()));
    zones.sort_by_key(|zone| Reverse(room(zone)));
    let mut open = BTreeSet::new();
    zones.retain(|zone| room(zone) == 0 || !open.insert(zone.stream));
    zones
}

/// A load in the order of keys, of a store whose tables may be as large as its zones.
#[derive(Clone, Copy, Debug)]
struct SequentialLoad {
    zone: ByteCount,
    active_max: Option<u32>,
    memtable: ByteCount,
    value: usize,
    compression: Compression,
    puts: u32,
}

impl SequentialLoad {
    /// Values so large that other data takes almost no space.
    const LARGE: Self = Self {
        zone: ByteCount::mib(1),
        active_max: None,
        memtable: ByteCount::mib(1),
        value: 4000,
        compression: Compression::None,
        puts: 8_000,
    };

    /// Memtables that make tables of a quarter of a zone and a little, of a zone and a little, of
    /// nine tenths of one, and of half of one; and zones of more than upper levels may hold.
    const ALL: [Self; 6] = [
        Self {
            zone: ByteCount::mib(2),
            memtable: ByteCount::kib(512),
            puts: 16_000,
            ..Self::LARGE
        },
        Self::LARGE,
        Self { value: 400, puts: 80_000, ..Self::LARGE },
        Self { compression: Compression::Lz4, ..Self::LARGE },
        Self { compression: Compression::Lz4, active_max: Some(ACTIVE_MIN), ..Self::LARGE },
        Self {
            zone: ByteCount::mib(8),
            memtable: ByteCount::kib(256),
            value: 16_000,
            puts: 7_000,
            ..Self::LARGE
        },
    ];
}

/// The fewest zones of a store, its superblock's among them.
const ACTIVE_MIN: u32 = OPEN_ZONES_MIN + 1;

#[test]
fn a_sequential_load_is_moved_and_not_rewritten() {
    for_each_row(|system| {
        SequentialLoad::ALL.into_iter().for_each(|load| load_sequentially(system, load));
    });
}

fn load_sequentially(system: System, load: SequentialLoad) {
    let geometry = Geometry {
        max_open: load.active_max,
        max_active: load.active_max,
        ..Geometry::uniform(load.zone, 72)
    };
    let device = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
    // With less memory, a log is written in smaller frames, and their padding needs a second zone.
    let options = Options::default()
        .system(system)
        .memtable_size(load.memtable)
        .memory(ByteCount::mib(64))
        .compression(load.compression);
    let db = created(&device, options);
    let (mut value, mut random) = (vec![0; load.value], Random::seeded(1));
    let compressible = load.compression != Compression::None;
    let noise = if compressible { load.value / 2 } else { load.value };
    for key in 0..load.puts {
        random.fill_bytes(&mut value[..noise]);
        db.put(&key.to_be_bytes(), &value).unwrap();
    }
    db.wait_idle().unwrap();
    let case = format!("{} with {load:?}", system.name());
    // All bytes that reached the device, including the log.
    let amplification = written(&device) as f64 / db.stats().user_bytes as f64;
    assert!(amplification <= 2.1, "{case}: {amplification:.3} bytes written for one");
    // A memtable's log is created, the memtable is flushed, and its table moves down as far as it
    // can.
    let (commits, flushes) = (device.io().writes[Cause::Journal as usize], db.stats().flushes);
    assert!(commits * 10 <= flushes * 35 + 100, "{case}: {commits} commits for {flushes} flushes");
    let zones = zones_of_tables(&db);
    assert!(zones.len() >= 12, "{case}: {} zones hold tables", zones.len());
    let sum = |of: fn(&ZoneUsage) -> ByteCount| zones.iter().map(|zone| of(zone).0).sum::<u64>();
    let (live, all) = (sum(|zone| zone.live), sum(|zone| zone.capacity));
    assert!(live * 100 >= all * 95, "{case}: {live} of {all} bytes are valid");
    db.close().unwrap();
}

#[test]
fn under_sliced_a_load_in_order_with_a_tenth_at_random_is_hardly_rewritten() {
    runner::simulate(1, || {
        let device = drive(ByteCount::mib(2), 72, 1);
        let options = options_under(System::of(Row::Sliced)).memtable_size(ByteCount::kib(512));
        let db = created(&device, options.compression(Compression::None));
        let mut random = Random::seeded(1);
        for key in 1..20_000 {
            put(&db, key, 4000, &mut random).unwrap();
            if key % 9 == 0 {
                put(&db, random.random_range(0..key), 4000, &mut random).unwrap();
            }
        }
        let amplification = written(&device) as f64 / db.stats().user_bytes as f64;
        assert!(amplification <= 2.5, "{amplification:.3}: {:?}", db.stats().write_amplification);
        db.verify().unwrap();
        db.close().unwrap();
    });
}

#[test]
fn a_flush_in_key_order_goes_below_level_0_where_the_system_lets_it() {
    let flushes_to = |flush_level: u8| {
        let device = drive(ByteCount::mib(1), 72, 1);
        let own = System::of(Row::LeveldbGreedy);
        let options = options_under(System { flush_level, ..own });
        let db = created(&device, options.compression(Compression::None));
        let mut random = Random::seeded(1);
        for key in 0..15_000 {
            put(&db, key, VALUE, &mut random).unwrap();
        }
        db.wait_idle().unwrap();
        let stats = db.stats();
        assert_eq!(stats.compactions, 0, "moves alone");
        let level = usize::from(flush_level);
        let written: Vec<u64> =
            stats.process.levels.iter().map(|level| level.bytes_written).collect();
        let all: u64 = written.iter().sum();
        // A flush goes to level 0 while a move is being chosen.
        assert!(written[level] * 10 >= all * 8, "to level {flush_level}: {written:?}");
        if flush_level == 2 {
            assert_eq!(written[2], all, "nothing is put above level 2");
        }
        // Existing keys go on top of them.
        for key in 0..5_000 {
            put(&db, key, VALUE / 2, &mut random).unwrap();
        }
        db.flush().unwrap();
        assert!(db.stats().process.levels[0].bytes_written > written[0], "newer values lie on top");
        for key in [0_u32, 4_999, 5_000, 14_999] {
            let expected = if key < 5_000 { VALUE / 2 } else { VALUE };
            assert_eq!(db.get(&key.to_be_bytes()).unwrap().unwrap().len(), expected);
        }
        db.verify().unwrap();
        db.close().unwrap();
    };
    [0, 1, 2].into_iter().for_each(|level| runner::simulate(1, || flushes_to(level)));
}

/// Loads a store in random order to what its row [promises](Db::live_max), overwrites that
/// `volumes` times, and puts new keys until one is refused; returns the error, and the number of
/// keys.
fn filled(db: &Db, name: &str, volumes: u32, random: &mut Random) -> (Error, u32) {
    let keys = (db.live_max().0 / (VALUE + size_of::<u32>()) as u64) as u32;
    let loaded = (0..keys).map(|n| n.wrapping_mul(7919) % keys);
    let drawn: Vec<u32> = (0..volumes * keys).map(|_| random.random_range(0..keys)).collect();
    for key in loaded.chain(drawn) {
        let begun = runner::now();
        let done = put(db, key, VALUE, random);
        done.unwrap_or_else(|error| panic!("{name}: {error}; {:?}", db.stats().space));
        let waited = runner::now().since(begun);
        assert!(waited < Duration::from_secs(1), "{name}: a put waited for {waited:?}");
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
fn overwriting_goes_on_and_a_full_store_says_so_rests_and_has_space_after_deletes() {
    for_each_row(|system| {
        let device = drive(ByteCount::kib(128), 208, 1);
        let compression = Compression::None;
        let db = created(&device, options_under(system).compression(compression));
        let (name, mut random) = (system.name(), Random::seeded(1));
        let capacity = db.stats().space.capacity.0;
        let (refused, keys) = filled(&db, name, 2, &mut random);
        assert!(refused.is_space(), "{name}: {refused}");
        assert!(refused.to_string().contains("delete something"), "{name}: {refused}");
        // A collector that copied everything for the few dead bytes would be far above.
        let moved = db.stats().write_amplification.reclaim;
        assert!(moved < 30.0, "{name}: {moved:.1} bytes moved for one");
        // A collector would find nothing more.
        let space = db.stats().space;
        assert!(space.dead.0 * 100 < capacity, "{name}: refused with {space:?}");
        // No bytes are moved any more.
        let work = || {
            let io = device.io();
            (io.writes, io.zones_reset, io.zones_finished)
        };
        runner::sleep(Duration::from_secs(10));
        let before = work();
        runner::sleep(Duration::from_secs(100));
        assert_eq!(work(), before, "{name}: busy though nothing can be done");
        delete_and_put_again(&db, name, keys, 2, &mut random);
        db.close().unwrap();
    });
}

#[test]
fn puts_wait_for_compactions_that_have_taken_the_last_space() {
    runner::simulate(1, || {
        let device = drive(ByteCount::mib(1), 28, 1);
        let compression = Compression::None;
        let system = System::of(Row::LeveldbCostBenefit);
        let db = created(&device, options_under(system).compression(compression));
        let mut random = Random::seeded(1);
        let keys = (db.stats().space.capacity.0 * 30 / 100 / (VALUE as u64 + 4)) as u32;
        let put_one = |key: u32, random: &mut Random| {
            let done = put(&db, key.wrapping_mul(2_654_435_761), VALUE, random);
            done.unwrap_or_else(|error| panic!("{error}; {:?}", db.stats().space));
        };
        (0..keys).for_each(|key| put_one(key, &mut random));
        for _ in 0..keys / 2 {
            let key = random.random_range(0..keys);
            put_one(key, &mut random);
        }
        db.close().unwrap();
    });
}

#[test]
fn deletes_give_a_full_store_of_many_zones_space_again_at_once() {
    for_each_row(|system| {
        let device = drive(ByteCount::kib(128), 256, 1);
        let db = created(&device, options_under(system).compression(Compression::None));
        let (name, mut random) = (system.name(), Random::seeded(1));
        let (refused, keys) = filled(&db, name, 1, &mut random);
        assert!(refused.is_space(), "{name}: {refused}");
        delete_and_put_again(&db, name, keys, 4, &mut random);
        db.close().unwrap();
    });
}

/// Deletes one key in `share` of a full store. Half of the deleted bytes can be written again at
/// once.
fn delete_and_put_again(db: &Db, name: &str, keys: u32, share: usize, random: &mut Random) {
    let space = db.stats().space;
    let full = space.live.0 as f64 / space.capacity.0 as f64;
    assert!(full > 0.8, "{name}: refused at {full:.2}");
    for key in (0..keys).step_by(share) {
        db.delete(&key.to_be_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let begun = runner::now();
    for key in keys..keys + keys / share as u32 / 2 {
        let done = put(db, key, VALUE, random);
        done.unwrap_or_else(|error| panic!("{name}: {error}; {:?}", db.stats().space));
    }
    let took = runner::now().since(begun);
    assert!(took < Duration::from_secs(60), "{name}: {took:?} to put a part again");
    assert_eq!(db.stats().failure, None, "{name}");
}
