//! Bands on emulated devices, under the rows `smrdb` and `smrdb-leveled`: a manual compaction
//! leaves one run of bands that do not overlap, reads find the newest entries before and after it,
//! and the collector moves nothing. Simulated, from a fixed seed.

use std::collections::BTreeMap;

use terrace::{ByteCount, Db, FormatOptions, Options, Row, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;

use crate::devices::{Contents, contents, drive};

/// A band is a zone, a table and nearly a memtable.
fn bands(row: Row) -> Options {
    Options::default()
        .system(System::of(row))
        .memtable_size(ByteCount::kib(448))
        .memory(ByteCount::mib(8))
}

/// Random writes and some deletes that fill sixty bands; returns the expected contents.
fn load(db: &Db) -> Contents {
    let (mut random, mut expected, mut value) = (Random::seeded(1), BTreeMap::new(), [0; 1000]);
    for _ in 0..30_000 {
        let key = random.random_range(0..20_000_u32).to_be_bytes();
        if random.random_ratio(1, 10) {
            db.delete(&key).unwrap();
            expected.remove(&key[..]);
        } else {
            random.fill_bytes(&mut value);
            db.put(&key, &value).unwrap();
            expected.insert(key.to_vec(), value.to_vec());
        }
    }
    db.wait_idle().unwrap();
    expected
}

/// Sorted runs, and tombstones, of all levels.
fn runs(db: &Db) -> (u64, u64) {
    let levels = db.stats().levels;
    let sum = |of: fn(&terrace::LevelStats) -> u64| levels.iter().map(of).sum();
    (sum(|level| level.runs), sum(|level| level.tombstones))
}

#[test]
fn a_manual_compaction_leaves_bands_without_overlap_and_a_scan_finds_the_newest() {
    runner::simulate(1, || {
        let device = drive(ByteCount::kib(512), 400, 1);
        let db = Db::create_device(device, &FormatOptions::default(), bands(Row::Smrdb)).unwrap();
        let expected = load(&db);
        let (before, _) = runs(&db);
        assert!(before > 2, "nothing to compact: {before} runs");
        assert_eq!(contents(&db), expected);
        // A part of the keys: the overlapping tables become one run, the others may be several.
        db.compact(5_000_u32.to_be_bytes()..5_100_u32.to_be_bytes()).unwrap();
        assert_eq!(contents(&db), expected);
        db.compact_all().unwrap();
        assert_eq!(runs(&db), (1, 0), "one run, whose bands do not overlap, without tombstones");
        assert_eq!(contents(&db), expected);
        db.verify().unwrap();
        db.close().unwrap();
    });
}

#[test]
fn bands_come_back_whole_and_nothing_is_collected() {
    for row in [Row::Smrdb, Row::SmrdbLeveled] {
        runner::simulate(1, || {
            let device = drive(ByteCount::kib(512), 400, 1);
            let db = Db::create_device(device, &FormatOptions::default(), bands(row)).unwrap();
            load(&db);
            let written = db.stats().write_amplification;
            assert!(written.compaction > 0.5, "{row:?}: {written:?}");
            assert_eq!(written.reclaim, 0.0, "{row:?}: {written:?}");
            db.close().unwrap();
        });
    }
}
