//! The limit of the rate of compactions, in virtual time: compactions take the time of the limit,
//! no writer waits longer because of it, and neither shortage of space nor a close waits for it.

use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Compression, Db, FormatOptions, Options, Row, System};
use terrace_env::random::{Random, RngCore};
use terrace_env::wait::WaitCause;
use terrace_env::{Time, runner};
use terrace_zone::emulator::RandomLatency;
use terrace_zone::{Emulator, Geometry};

use crate::devices::{drive, options_under};
use crate::rows::for_each_row;

const VALUE: usize = 1000;

fn put(db: &Db, number: u32, random: &mut Random) -> Result<(), terrace::Error> {
    let mut value = vec![0; VALUE];
    random.fill_bytes(&mut value);
    db.put(&number.wrapping_mul(0x9e37_79b9).to_be_bytes(), &value)
}

fn since(start: Time) -> Duration {
    runner::now().since(start)
}

fn plain(system: System) -> Options {
    options_under(system).compression(Compression::None)
}

#[test]
fn a_compaction_takes_as_long_as_the_limit_says() {
    for_each_row(|system| {
        let name = system.name();
        let device = drive(ByteCount::mib(1), 64, 1);
        let options = plain(system).compact_at_rest(false);
        let db =
            Db::create_device(device.clone(), &FormatOptions::default(), options.clone()).unwrap();
        let mut random = Random::seeded(1);
        for number in 0..1000 {
            put(&db, number, &mut random).unwrap();
        }
        db.compact(..).unwrap();
        for number in 0..50 {
            put(&db, number * 20, &mut random).unwrap();
        }
        db.close().unwrap();
        // The new entries overlap all tables.
        let rate = ByteCount::kib(100);
        let db = Db::open_device(device, options.compaction_rate(rate)).unwrap();
        let start = runner::now();
        db.compact(..).unwrap();
        let (took, least) = (since(start), Duration::from_secs(10));
        assert!(took >= least, "{name}: {took:?} for 1 MB");
        assert!(took < 2 * least, "{name}: {took:?} for 1 MB");
        db.close().unwrap();
    });
}

/// Time of a load of overwrites on a slow drive, waits for compactions in it, and the longest
/// write.
fn load(system: System, rate: ByteCount) -> (Duration, Duration, Duration) {
    let drive = Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 64), 1).unwrap();
    let options = plain(system).compaction_rate(rate);
    let drive = Arc::new(drive);
    let db = Db::create_device(drive.clone(), &FormatOptions::default(), options).unwrap();
    let latency = Duration::from_millis(1);
    drive.set_timing(Some(Box::new(RandomLatency::new(latency, latency, 1))));
    let (start, mut random) = (runner::now(), Random::seeded(1));
    for number in 0..12_000 {
        put(&db, number % 4_000, &mut random).unwrap();
    }
    let (took, stats) = (since(start), db.stats());
    let causes = [WaitCause::TreeDelay, WaitCause::TreeStop, WaitCause::FlushSpace];
    let waited = causes.map(|cause| stats.waits.of(cause).time()).iter().sum();
    db.close().unwrap();
    (took, waited, Duration::from_nanos(stats.longest_write_nanos))
}

#[test]
fn no_writer_waits_for_the_limit() {
    for_each_row(|system| {
        let name = system.name();
        let free = load(system, ByteCount(0));
        let held = load(system, ByteCount::kib(16));
        println!("{name}: {free:?} without a limit, {held:?} with one");
        assert!(held.0 <= free.0 * 5 / 4, "{name}: {held:?}, without a limit {free:?}");
        assert!(held.2 <= free.2 + Duration::from_millis(100), "{name}: {held:?}, {free:?}");
    });
}

#[test]
fn a_lack_of_space_and_a_close_wait_for_no_limit() {
    runner::simulate(1, || {
        let device = drive(ByteCount::kib(128), 128, 1);
        let system = System::of(Row::Bluefs);
        let options = Options::default()
            .compression(Compression::None)
            .system(system)
            .compaction_rate(ByteCount(100));
        let db = Db::create_device(device, &FormatOptions::default(), options).unwrap();
        let keys = (db.live_max().0 / (VALUE as u64 + 4)) as u32;
        let (start, mut random) = (runner::now(), Random::seeded(1));
        for number in 0..4 * keys {
            put(&db, number % keys, &mut random).unwrap();
        }
        let took = since(start);
        assert!(took < Duration::from_secs(60), "{took:?} for {keys} keys, four times");
        let start = runner::now();
        db.close().unwrap();
        assert!(since(start) < Duration::from_secs(1), "{:?} for a close", since(start));
    });
}
