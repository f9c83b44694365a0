//! Stores on shingled tracks whose space is overwritten again and again. The free space is in
//! pieces then: a table may have several extents, but a free run that is no longer than a guard is
//! of no use to anybody, and nothing moves a table to close such a hole.

use std::sync::Arc;

use terrace::{ByteCount, Compression, Db, FormatOptions, Options, Row, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;
use terrace_zone::{Emulator, Geometry, Tracks};

const SIZE: ByteCount = ByteCount::mib(64);
const VALUE: usize = 1000;
/// What an entry takes in a table, about.
const ENTRY: u64 = VALUE as u64 + 16;

/// What came of overwriting a store at random.
#[derive(Debug)]
struct Outcome {
    /// Keys that were put before a put was refused, or all.
    keys: u64,
    /// Overwrites that were refused, and were not when all jobs had ended.
    late: u64,
    /// Device volumes that had been written by users when a put was refused with all jobs done.
    stuck_at: Option<f64>,
    /// Least free bytes of the device after a quarter of a volume each time, in percent.
    free_min: u64,
    /// Most bytes in runs shorter than a table and a guard, in percent of the device.
    short_max: u64,
    /// Most bytes that are free and cannot be written, being guards, in percent of the device.
    guards_max: u64,
    write_amplification: f64,
}

/// Overwrites keys that take so many percent of what the store has room for by its own count.
fn overwrite(system: System, tracks: Tracks, percent: u64, volumes: u64, seed: u64) -> Outcome {
    let device = Emulator::in_memory(Geometry::tracks(SIZE, tracks), seed).expect("a shape");
    let table = ByteCount::kib(128);
    let system =
        System { table_size: Some(table), level1_size: Some(ByteCount::kib(640)), ..system };
    let options = Options::default()
        .system(system)
        .memtable_size(ByteCount::kib(256))
        .memory(ByteCount::mib(8))
        .compression(Compression::None);
    let db = Db::create_device(Arc::new(device), &FormatOptions::default(), options).expect("room");
    let mut random = Random::seeded(seed);
    let mut value = vec![0; VALUE];
    let mut outcome = Outcome {
        keys: 0,
        late: 0,
        stuck_at: None,
        free_min: 100,
        short_max: 0,
        guards_max: 0,
        write_amplification: 0.0,
    };
    let keys = db.live_max().0 * percent / 100 / ENTRY;
    let key = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    let mut put = |db: &Db, number: u64, random: &mut Random, late: &mut u64| {
        random.fill_bytes(&mut value);
        let Err(error) = db.put(&key(number), &value) else { return true };
        assert!(error.is_space(), "{error}");
        db.wait_idle().expect("jobs");
        *late += 1;
        db.put(&key(number), &value).is_ok()
    };
    while outcome.keys < keys && put(&db, outcome.keys, &mut random, &mut outcome.late) {
        outcome.keys += 1;
    }
    let guard = u64::from(tracks.blocks) * u64::from(tracks.overlap + 1) * 4096;
    let fs = db.fs().expect("a device").clone();
    let step = SIZE.0 / 4 / ENTRY;
    for number in 0..volumes * SIZE.0 / ENTRY {
        let chosen = random.random_range(0..outcome.keys);
        if !put(&db, chosen, &mut random, &mut outcome.late) {
            outcome.stuck_at = Some((number * ENTRY) as f64 / SIZE.0 as f64);
            break;
        }
        if number % step == 0 {
            let runs = fs.free_runs();
            let free: u64 = runs.iter().map(|run| run.end - run.start).sum();
            let lengths = runs.iter().map(|run| run.end - run.start);
            let short: u64 = lengths.filter(|bytes| *bytes < table.0 + guard).sum();
            outcome.free_min = outcome.free_min.min(100 * free / SIZE.0);
            outcome.short_max = outcome.short_max.max(100 * short / SIZE.0);
            let guards = db.stats().space.dead.0;
            outcome.guards_max = outcome.guards_max.max(100 * guards / SIZE.0);
        }
    }
    let amplification = db.stats().write_amplification;
    outcome.write_amplification = amplification.total;
    outcome
}

#[test]
fn a_store_on_tracks_takes_overwrites_without_end_up_to_what_it_has_room_for() {
    for row in [Row::Sealdb, Row::LeveldbDisk] {
        let tracks = Tracks { blocks: 8, overlap: 2 };
        let outcome = runner::simulate(1, || overwrite(System::of(row), tracks, 100, 2, 1));
        println!("{row:?}: {outcome:?}");
        assert_eq!(outcome.stuck_at, None, "{row:?}: {outcome:?}");
        assert!(outcome.guards_max <= 20, "{row:?}: {outcome:?}");
    }
}
