//! Write-offloading, under every row: flushes go to the offload device while a compaction runs and
//! not otherwise, contents are those of a store without one, and compactions take everything off
//! the device again.

use std::sync::Arc;
use std::time::Duration;

use terrace::fs::Role;
use terrace::{ByteCount, Db, FormatOptions, Row, Store, System};
use terrace_env::random::Random;
use terrace_env::{Cause, runner, test_seeds};
use terrace_fs::Fs;
use terrace_zone::Geometry;
use terrace_zone::emulator::{Drives, RandomLatency};

use crate::devices::{Contents, churn, contents, options_under};

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
        for row in Row::ALL {
            runner::simulate(seed, || {
                let (drives, db) = store(System::of(row), ByteCount::mib(8), seed);
                let (least, most) = (Duration::from_micros(20), Duration::from_micros(900));
                drives.set_timing(|| Some(Box::new(RandomLatency::new(least, most, seed))));
                let (mut held, mut random) = (Contents::new(), Random::seeded(seed));
                churn(&db, &mut held, 3000, 9000, &mut random);
                assert!(contents(&db) == held, "{row:?}: other contents");
                let written = |drive: usize| drives.all()[drive].io().written(Cause::Flush);
                assert!(written(1) > ByteCount(0), "{row:?}: no flush was offloaded");
                assert!(written(0) > ByteCount(0), "{row:?}: every flush was offloaded");
                assert_eq!(drives.all()[1].io().written(Cause::Compaction), ByteCount(0));
                db.compact_all().unwrap();
                db.wait_idle().unwrap();
                assert_eq!(live(&db), ByteCount(0), "{row:?}: tables stayed on the device");
                db.close().unwrap();
                drives.set_timing(|| None);
                let report = Fs::check(&drives).unwrap();
                assert!(report.is_clean(), "{row:?}: {:?}", report.problems);
                let db = Db::open_device(&drives, options_under(System::of(row))).unwrap();
                assert!(contents(&db) == held, "{row:?}: other contents after an opening");
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
