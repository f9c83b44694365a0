//! How long reads of several keys at once take, on models of drives: what a queue brings.

use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Db, FormatOptions, Options, ReadOptions};
use terrace_env::random::{Random, Rng};
use terrace_env::runner;
use terrace_zone::Emulator;
use terrace_zone::timing::{Drive, Scale};

/// Entries of 1 KiB: more than a table holds, in several runs.
const ENTRIES: u32 = 40_000;
/// Keys that are read in all.
const READS: usize = 1024;

/// Time for a key on the drive, where this many keys are read at once.
fn read(drive: &str, at_once: &[usize]) -> Vec<Duration> {
    runner::simulate(1, || {
        let drive = Drive::find(drive).unwrap();
        let scale: Scale = "1/1".parse().unwrap();
        let size = ByteCount::gib(192);
        let device = Arc::new(Emulator::modelled(&drive, scale, size, 1).unwrap());
        let options = Options::default().memtable_size(ByteCount::mib(4));
        let db = Db::create_device(device, &FormatOptions::default(), options).unwrap();
        let random = &mut Random::seeded(1);
        for _ in 0..ENTRIES {
            let key = random.random_range(0..ENTRIES).to_be_bytes();
            db.put(&key, &[7; 1000]).unwrap();
        }
        db.wait_idle().unwrap();
        // Tables are open and indexes in memory; blocks are not.
        let cold = db.with_read_options(ReadOptions::default().fill_cache(false));
        let keys = |random: &mut Random, count| -> Vec<_> {
            (0..count).map(|_| random.random_range(0..ENTRIES).to_be_bytes()).collect()
        };
        cold.multi_get(&keys(random, READS)).unwrap();
        let measured = at_once.iter().map(|&count| {
            let start = runner::now();
            for _ in 0..READS / count {
                cold.multi_get(&keys(random, count)).unwrap();
            }
            runner::now().since(start) / READS as u32
        });
        let measured = measured.collect();
        db.close().unwrap();
        measured
    })
}

#[test]
fn several_keys_at_once_are_read_several_times_faster_from_flash() {
    for drive in ["wd-zn540", "seagate-st13125nm007"] {
        let [one, eight, many] = read(drive, &[1, 8, 32])[..] else { unreachable!() };
        println!("{drive}: a key alone {one:?}, of 8 keys {eight:?}, of 32 keys {many:?}");
        if drive == "wd-zn540" {
            assert!(eight * 3 < one && many * 6 < one, "{one:?}, {eight:?}, {many:?}");
        } else {
            // A disk has one arm; its queue shortens the way.
            assert!(eight < one && many < eight, "{one:?}, {eight:?}, {many:?}");
        }
    }
}
