//! Tests of the row `lifetime` on emulated drives, with a random load: it writes less than leveled
//! compaction, the collector moves nothing, and at the end more than four fifths of the space in
//! zones that hold tables are live. Simulated, from a fixed seed.

use terrace::{ByteCount, Db, FormatOptions, Row, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;
use terrace_fs::ZoneUse;

use crate::devices::{amplification, drive, options_under};

/// The live share of zones that hold tables, in percent.
fn valid(db: &Db) -> f64 {
    let zones = db.fs().expect("a device").zones().expect("a report");
    let data = zones.iter().filter(|zone| zone.used_for == ZoneUse::Data);
    let sum = data.fold((0, 0), |(live, all), zone| (live + zone.live.0, all + zone.capacity.0));
    100.0 * sum.0 as f64 / sum.1 as f64
}

/// Writes values of 1,000 bytes; returns the bytes written to the device by flush and compaction,
/// and by reclaim, for each byte of the client's, and the live share at the end.
fn load(system: System, puts: u32, key: impl Fn(u32, &mut Random) -> u32) -> (f64, f64, f64) {
    let device = drive(ByteCount::mib(1), 200, 1);
    let mut random = Random::seeded(1);
    let db = Db::create_device(device, &FormatOptions::default(), options_under(system)).unwrap();
    let mut value = [0; 1000];
    for i in 0..puts {
        random.fill_bytes(&mut value);
        db.put(&key(i, &mut random).to_be_bytes(), &value).unwrap();
    }
    db.wait_idle().unwrap();
    let (written, moved) = amplification(&db);
    let metrics = (written, moved, valid(&db));
    db.verify().unwrap();
    db.close().unwrap();
    metrics
}

#[test]
fn a_random_load_is_written_less_often_than_by_levels_and_never_moved() {
    let random_load = |system: System| {
        let metrics = runner::simulate(1, || {
            load(system, 60_000, |_, random| random.random_range(0..50_000))
        });
        let (written, moved, valid) = metrics;
        println!("{system}: written {written:.2}, moved {moved:.2}, {valid:.1} % valid");
        metrics
    };
    let sweeps = System::of(Row::Lifetime);
    let (written, moved, valid) = random_load(sweeps);
    let (by_levels, ..) = random_load(System::of(Row::LevelSeparated));
    let (at_once, _, valid_at_once) = random_load(System { in_order: false, ..sweeps });
    assert!(written < by_levels, "{written:.2} written for one, {by_levels:.2} by levels");
    assert!(moved == 0.0, "zones die whole, and still {moved:.2} were moved for one");
    assert!(at_once < by_levels, "{at_once:.2} written for one, {by_levels:.2} by levels");
    // Merges that are large enough for several workers are few here, and the data in the open zones
    // at the end differs by more.
    assert!(valid_at_once > 80.0, "by several workers, {valid_at_once:.1} % are live");
    assert!(valid > 80.0, "{valid:.1} % of what holds tables are live");
}
