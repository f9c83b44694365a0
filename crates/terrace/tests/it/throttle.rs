//! How writers are slowed by LevelDB's rule, on a simulated drive that is slower than they are:
//! each group of writes waits a millisecond while level 0 has [`SLOW`] runs, and writers are
//! stopped at [`STOP`] runs. Under the paced rule no writer is stopped.

use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Db, FormatOptions, Options, Row, System, Throttle};
use terrace_env::runner;
use terrace_env::wait::WaitCause;
use terrace_zone::emulator::RandomLatency;
use terrace_zone::{Emulator, Geometry};

/// Time of each request to the drive.
const LATENCY: Duration = Duration::from_millis(5);
const SLOW: u16 = 6;
const STOP: u16 = 7;

fn put(db: &Db, number: u32) {
    let key = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
    db.put(&key, &[number as u8; 1000]).unwrap();
}

/// The most runs that level 0 had, and the waits.
fn load(throttle: Throttle) -> (u64, Vec<(WaitCause, u64, Duration)>) {
    let drive = Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 128), 1).unwrap();
    let own = System::of(Row::LeveldbGreedy);
    let system = System {
        throttle: Some(throttle),
        level0_slow: Some(SLOW),
        level0_stop: Some(STOP),
        growth: Some(25),
        ..own
    };
    let options = Options::default()
        .system(System { check_moves: true, ..system })
        .memtable_size(ByteCount::kib(256))
        .memory(ByteCount::mib(16));
    let drive = Arc::new(drive);
    let db = Db::create_device(drive.clone(), &FormatOptions::default(), options).unwrap();
    drive.set_timing(Some(Box::new(RandomLatency::new(LATENCY, LATENCY, 1))));
    let mut most = 0;
    for number in 0..20_000 {
        put(&db, number);
        if number % 50 == 0 {
            most = most.max(db.stats().levels.first().map_or(0, |level| level.runs));
        }
    }
    let waits = db.stats().waits;
    let of = |cause| (cause, waits.of(cause).count, waits.of(cause).time());
    let waits = [WaitCause::TreeDelay, WaitCause::TreeStop].map(of).to_vec();
    db.verify().unwrap();
    db.close().unwrap();
    (most, waits)
}

#[test]
fn leveldb_delays_writes_by_a_millisecond_and_stops_them_by_the_runs_of_level_0() {
    runner::simulate(1, || {
        let (most, waits) = load(Throttle::Leveldb);
        println!("{most} {waits:?}");
        assert!(most >= u64::from(SLOW), "{most} runs");
        assert!(most <= u64::from(STOP) + 2, "{most} runs: a flush is under way at the stop");
        let (_, delays, delayed) = waits[0];
        assert!(delays > 0 && delayed == delays as u32 * Duration::from_millis(1));
        let (_, stops, stopped) = waits[1];
        assert!(stops > 0 && stopped > Duration::ZERO);
        let (most, waits) = load(Throttle::Paced);
        println!("{most} {waits:?}");
        assert_eq!(waits[1].1, 0, "nobody is stopped");
    });
}
