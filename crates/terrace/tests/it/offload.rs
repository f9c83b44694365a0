//! Write-offloading, under every row: flushes go to the offload device only while a compaction
//! runs, contents are those of a store without one, and compactions empty the device again.

use std::sync::Arc;
use std::time::Duration;

use terrace::fs::Role;
use terrace::{ByteCount, Db, Devices, FormatOptions, LoadRule, Row, Store, System, Throttle};
use terrace_env::random::Random;
use terrace_env::{Cause, runner, test_seeds};
use terrace_fs::Fs;
use terrace_zone::emulator::{Drives, RandomLatency};
use terrace_zone::{Device, Geometry, PowerCut};

use crate::devices::{Contents, churn, contents, options_under};

/// The thesis's system, smaller: three levels of buffers over a last one, writers that are never
/// slowed down, and a checker that compacts while writers are idle.
fn buffers() -> System {
    System {
        level0_runs: 3,
        factor: 3,
        levels: 4,
        throttle: Some(Throttle::Off),
        load: LoadRule::Idle,
        ..System::of(Row::SmrdbLeveled)
    }
}

/// A store on a zoned drive with an offload drive of this size.
fn store(system: System, size: ByteCount, seed: u64) -> (Drives, Db) {
    let tables = Geometry::uniform(ByteCount::mib(1), 96);
    let drives = Drives::in_memory([tables, Geometry::plain(size)], seed).unwrap();
    let format = FormatOptions { role: Role::Offload, ..FormatOptions::default() };
    let db = Db::create_device(&drives, &format, options_under(system)).unwrap();
    (drives, db)
}

fn fs(db: &Db) -> &Arc<Fs> {
    db.fs().expect("a file system")
}

fn live(db: &Db) -> ByteCount {
    fs(db).offload_space().expect("an offload device").live
}

#[test]
fn flushes_are_offloaded_while_compactions_run_and_leave_with_the_next_ones() {
    for seed in test_seeds(1) {
        for row in Row::ALL.map(System::of).into_iter().chain([buffers()]) {
            runner::simulate(seed, || {
                let (drives, db) = store(row, ByteCount::mib(8), seed);
                let (least, most) = (Duration::from_micros(20), Duration::from_micros(900));
                drives.set_timing(|| Some(Box::new(RandomLatency::new(least, most, seed))));
                let (mut held, mut random) = (Contents::new(), Random::seeded(seed));
                churn(&db, &mut held, 3000, 9000, &mut random);
                assert!(contents(&db) == held, "{row}: other contents");
                let written = |drive: usize| drives.all()[drive].io().written(Cause::Flush);
                assert!(written(1) > ByteCount(0), "{row}: no flush was offloaded");
                assert!(written(0) > ByteCount(0), "{row}: every flush was offloaded");
                assert_eq!(drives.all()[1].io().written(Cause::Compaction), ByteCount(0));
                db.compact_all().unwrap();
                db.wait_idle().unwrap();
                assert_eq!(live(&db), ByteCount(0), "{row}: tables stayed on the device");
                db.close().unwrap();
                drives.set_timing(|| None);
                let report = Fs::check(&drives).unwrap();
                assert!(report.is_clean(), "{row}: {:?}", report.problems);
                let db = Db::open_device(&drives, options_under(row)).unwrap();
                assert!(contents(&db) == held, "{row}: other contents after an opening");
            });
        }
    }
}

#[test]
fn nothing_is_offloaded_while_no_compaction_runs() {
    runner::simulate(1, || {
        let (drives, db) = store(System::default(), ByteCount::mib(8), 1);
        for number in 0..20_u32 {
            db.put(&number.to_be_bytes(), &[7; 900]).unwrap();
            db.flush().unwrap();
            db.wait_idle().unwrap();
        }
        assert!(drives.first().io().written(Cause::Flush) > ByteCount(0));
        assert_eq!(drives.all()[1].io().written(Cause::Flush), ByteCount(0));
    });
}

#[test]
fn the_loss_of_the_device_is_told_by_key_ranges_and_the_rest_goes_on() {
    for (seed, system) in test_seeds(2).flat_map(|s| [(s, System::default()), (s, buffers())]) {
        runner::simulate(seed, || {
            let (drives, db) = store(system, ByteCount::mib(8), seed);
            let (least, most) = (Duration::from_micros(20), Duration::from_micros(900));
            drives.set_timing(|| Some(Box::new(RandomLatency::new(least, most, seed))));
            let (mut held, mut random) = (Contents::new(), Random::seeded(seed));
            churn(&db, &mut held, 3000, 6000, &mut random);
            while live(&db) == ByteCount(0) {
                churn(&db, &mut held, 3000, 50, &mut random);
            }
            // As after a crash: the memtable is in the log, which is not lost.
            db.sync().unwrap();
            let lost_bytes = live(&db);
            let copies = drives.snapshot().unwrap().cut(PowerCut::KeepAll, &mut random);
            let tables = Arc::clone(copies.first());
            drop(db);

            let refused = Db::open_device(&tables, options_under(system));
            let refused = refused.expect_err("a device is missing").to_string();
            assert!(refused.contains("name it as the offload device"), "{refused}");
            let open = |read_only| {
                let options = options_under(system).read_only(read_only);
                Db::open_without_offload(Arc::clone(&tables) as _, options).unwrap()
            };
            let read_only = open(true);
            let lost = read_only.lost_ranges().to_vec();
            let told: u64 = lost.iter().map(|range| range.size.0).sum();
            assert!(!lost.is_empty() && told <= lost_bytes.0, "{lost:?}, {lost_bytes} live");
            drop(read_only);
            let db = open(false);
            assert_eq!(db.lost_ranges(), lost);
            let is_lost =
                |key: &[u8]| lost.iter().any(|range| *range.start.1 <= *key && *key < *range.end.1);
            let found = contents(&db);
            let same = |key: &Vec<u8>| is_lost(key) || found.get(key) == held.get(key);
            assert!(held.keys().chain(found.keys()).all(same), "other contents of keys not lost");
            assert!(found != held, "nothing was lost after all");
            let mut held = found;
            churn(&db, &mut held, 3000, 3000, &mut random);
            assert!(contents(&db) == held, "other contents after the loss");
            db.close().unwrap();

            // From now on it is a store on one device.
            let report = Fs::check(&tables).unwrap();
            assert!(report.is_clean(), "{:?}", report.problems);
            let db = Db::open_device(&tables, options_under(system)).unwrap();
            assert!(contents(&db) == held && db.lost_ranges().is_empty());
            db.close().unwrap();
            let second = Arc::clone(&copies.all()[1]) as Arc<dyn Device>;
            let both = Devices::pair(Arc::clone(&tables) as _, second);
            let refused = Db::open_device(both, options_under(system));
            let refused = refused.expect_err("the device is not taken back").to_string();
            assert!(refused.contains("is on one device"), "{refused}");
        });
    }
}
