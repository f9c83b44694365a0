//! Times of reads of several keys at once, of scans and of merges, on models of drives: the gain of
//! a queue.

use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Db, FormatOptions, Options, ReadOptions};
use terrace_env::Cause;
use terrace_env::random::{Random, Rng};
use terrace_env::runner;
use terrace_zone::Emulator;
use terrace_zone::timing::{Drive, Scale};

/// Entries of 1 KiB: more than a table holds, in several runs.
const ENTRIES: u32 = 40_000;
/// Keys that are read in all.
const READS: usize = 1024;
/// Short scans that are made.
const SCANS: u32 = 256;

/// Carries out `measure` on a store that holds the entries in several runs, on a model of a drive.
fn on_drive<T: Send + 'static>(
    drive: &str,
    measure: impl FnOnce(&Db, &mut Random) -> T + Send + 'static,
) -> T {
    let drive = Drive::find(drive).unwrap();
    runner::simulate(1, move || {
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
        let measured = measure(&db, random);
        db.close().unwrap();
        measured
    })
}

/// Time for a key on the drive, where this many keys are read at once.
fn read(drive: &str, at_once: &'static [usize]) -> Vec<Duration> {
    on_drive(drive, move |db, random| {
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
        measured.collect()
    })
}

/// Time of a scan of ten entries, of a scan of all, and of the merge of all, on the drive.
fn walk(drive: &str) -> [Duration; 3] {
    on_drive(drive, |db, random| {
        let took = |work: &mut dyn FnMut()| {
            let start = runner::now();
            work();
            runner::now().since(start)
        };
        // Opens the tables and reads the indexes.
        let all = db.scan(..).unwrap().count();
        assert!(all > ENTRIES as usize / 2, "{all} entries");
        let short = took(&mut || {
            for _ in 0..SCANS {
                let from = random.random_range(0..ENTRIES).to_be_bytes();
                assert!(db.scan(&from[..]..).unwrap().take(10).all(|entry| entry.is_ok()));
            }
        });
        let long = took(&mut || assert_eq!(db.scan(..).unwrap().count(), all));
        let read = db.stats().io.read_bytes[Cause::Compaction as usize];
        let merge = took(&mut || db.compact_all().unwrap());
        let read = db.stats().io.read_bytes[Cause::Compaction as usize] - read;
        assert!(read > all as u64 * 1000, "{read} bytes read");
        [short / SCANS, long, merge]
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

#[test]
fn scans_and_merges_do_not_wait_for_each_read() {
    // The most that each may take, in microseconds: between its time when each read was waited for
    // and its time now; on the disk short scans are to take no longer than then.
    for (drive, most) in
        [("wd-zn540", [270, 43_000, 54_000]), ("seagate-st13125nm007", [8_600, 420_000, 380_000])]
    {
        let [short, long, merge] = walk(drive);
        println!("{drive}: ten entries {short:?}, a scan of all {long:?}, a merge {merge:?}");
        for (took, most) in [short, long, merge].into_iter().zip(most) {
            assert!(took < Duration::from_micros(most), "{took:?} of {most} us");
        }
    }
}
