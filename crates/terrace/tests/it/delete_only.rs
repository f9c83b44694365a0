//! Tests of delete-only compactions: tables that a range tombstone covers are dropped soon, and
//! without a read, while puts keep one, two or four compactions busy. Simulated, with a fixed
//! latency for each request to the drive.

use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Db, FormatOptions, Options, System};
use terrace_env::runner;
use terrace_zone::emulator::RandomLatency;
use terrace_zone::{Emulator, Geometry};

/// Time of each request to the drive.
const LATENCY: Duration = Duration::from_millis(1);
/// Keys before the store is busy.
const KEYS: u32 = 12_000;

fn put(db: &Db, number: u32) {
    // Half of the keys begin with less than 0x80: the range that is deleted.
    let key = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
    db.put(&key, &[number as u8; 1000]).unwrap();
}

/// Number of compactions until covered tables were dropped, while puts kept compactions busy.
fn compactions_until_covered_tables_go(jobs: u16) -> u64 {
    let drive = Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 128), 1).unwrap();
    let system = "leveldb-greedy".parse::<System>().unwrap();
    let options = Options::default()
        .system(System { jobs, ..system })
        .memtable_size(ByteCount::kib(256))
        .memory(ByteCount::mib(16));
    let drive = Arc::new(drive);
    let db = Db::create_device(drive.clone(), &FormatOptions::default(), options).unwrap();
    for number in 0..KEYS {
        put(&db, number);
    }
    db.wait_idle().unwrap();
    drive.set_timing(Some(Box::new(RandomLatency::new(LATENCY, LATENCY, 1))));
    for number in KEYS..2 * KEYS {
        put(&db, number);
    }
    db.delete_range(..&[0x80][..]).unwrap();
    let before = db.stats();
    for number in 2 * KEYS.. {
        put(&db, number);
        let now = db.stats();
        if now.segments_dropped > before.segments_dropped || number > 6 * KEYS {
            db.close().unwrap();
            return now.compactions - before.compactions;
        }
    }
    unreachable!("the loop ends")
}

#[test]
fn covered_tables_go_while_several_compactions_are_busy() {
    for jobs in [1, 2, 4] {
        let compactions = runner::simulate(1, || compactions_until_covered_tables_go(jobs));
        assert!(compactions < 10, "{jobs} jobs: {compactions} compactions ended first");
    }
}
