//! Metrics of `Stats`, recomputed: bytes moved on the medium from the drive's own counts, the
//! engine's work from the test's actions and from the events for its listener.

use std::sync::Arc;

use terrace::{Batch, ByteCount, Db, Event, Fs, Job, Listener, MemoryStore, Stats, Store};
use terrace_env::random::{Random, Rng};
use terrace_env::store::{FileInfo, IoCounts};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, runner, test_seeds};
use terrace_fs::BLOCK;
use terrace_lab::crash::Setup;
use terrace_zone::Emulator;

/// Operations of the test, and the answers it got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    user_bytes: u64,
    entries: u64,
    gets: u64,
    scans: u64,
    flushes: u64,
    compactions: u64,
    written: u64,
}

#[derive(Default)]
struct Ears(Mutex<Told>);

impl Listener for Ears {
    fn notice(&self, event: &Event) {
        let Event::Ended { job, written: Some(written), .. } = event else { return };
        let mut told = self.0.lock();
        told.written += written.0;
        match job {
            Job::Flush { .. } => told.flushes += 1,
            _ => told.compactions += 1,
        }
    }
}

/// Writes, reads, scans; each action is added to the told ones.
fn work(db: &Db, ears: &Ears, random: &mut Random) {
    for number in 0..1_500_u32 {
        let mut batch = Batch::new();
        let mut done = Told::default();
        for _ in 0..random.random_range(1..4) {
            let key = random.random_range(0..400_u32).to_be_bytes();
            done.entries += 1;
            if random.random_bool(0.2) {
                batch.delete(&key);
                done.user_bytes += 4;
            } else {
                let value = vec![number as u8; random.random_range(0..400)];
                batch.put(&key, &value);
                done.user_bytes += 4 + value.len() as u64;
            }
        }
        db.write(batch).expect("room");
        if number % 5 == 0 {
            db.get(&number.to_be_bytes()).expect("a read");
            done.gets += 1;
        }
        if number % 50 == 0 {
            db.sync().expect("a sync");
            let scan = db.scan(..).expect("a scan");
            assert!(scan.take(40).all(|entry| entry.is_ok()));
            done.scans += 1;
        }
        let mut told = ears.0.lock();
        told.user_bytes += done.user_bytes;
        told.entries += done.entries;
        told.gets += done.gets;
        told.scans += done.scans;
    }
    db.flush().expect("room");
    db.wait_idle().expect("room");
}

/// Holds the engine's metrics against the told actions.
fn engine_agrees(stats: &Stats, told: &Told) {
    assert_eq!(stats.user_bytes, told.user_bytes);
    assert_eq!(stats.entries_written, told.entries);
    assert_eq!((stats.gets, stats.scans), (told.gets, told.scans));
    assert_eq!(stats.flushes, told.flushes);
    let into_levels: u64 = stats.process.levels.iter().map(|level| level.bytes_written).sum();
    assert_eq!(into_levels, told.written, "bytes of tables, by level and by job");
    assert!(stats.flushes > 5 && stats.compactions > 2, "{stats:?}");
    assert_eq!(told.compactions > 0, stats.compactions > 0);
    let amplification = &stats.write_amplification;
    let total: u64 = stats.io.written_bytes.iter().sum();
    let expected = total as f64 / told.user_bytes as f64;
    assert!((amplification.total - expected).abs() < 1e-9, "{amplification:?}, {expected}");
    let log = stats.io.written(Cause::Log).0 as f64 / told.user_bytes as f64;
    assert!((amplification.log - log).abs() < 1e-9, "{amplification:?}, {log}");
}

/// Counts of the drive since `before`.
fn since(drive: &Emulator, before: &IoCounts) -> IoCounts {
    let now = drive.io();
    let less = |now: &[u64; Cause::ALL.len()], before: &[u64; Cause::ALL.len()]| {
        std::array::from_fn(|cause| now[cause] - before[cause])
    };
    IoCounts {
        read_bytes: less(&now.read_bytes, &before.read_bytes),
        reads: less(&now.reads, &before.reads),
        written_bytes: less(&now.written_bytes, &before.written_bytes),
        writes: less(&now.writes, &before.writes),
        flushes: now.flushes - before.flushes,
        zones_reset: now.zones_reset - before.zones_reset,
        zones_finished: now.zones_finished - before.zones_finished,
        ..IoCounts::default()
    }
}

/// The counts without those that a drive does not know: of the store's own memory, and of its
/// journal.
fn of_the_drive(io: &IoCounts) -> IoCounts {
    IoCounts { journal_rolls: 0, cache: Default::default(), ..io.clone() }
}

/// Works on a drive, and holds all metrics against the drive's. Returns them.
pub(crate) fn recount(seed: u64) -> IoCounts {
    runner::simulate(seed, || {
        let (setup, mut random) = (Setup::small(seed), Random::seeded(seed));
        let drive = Emulator::in_memory(setup.geometry.clone(), seed).expect("a drive");
        let drive = Arc::new(drive);
        Fs::format(drive.clone(), &setup.format).expect("a drive without faults");
        let before = drive.io();
        let db = Db::open_device(drive.clone(), setup.options.clone()).expect("a store");
        let ears = Arc::new(Ears::default());
        db.listen(Arc::clone(&ears) as Arc<dyn Listener>);
        work(&db, &ears, &mut random);
        let stats = db.stats();
        engine_agrees(&stats, &ears.0.lock());
        let fs = Arc::clone(db.fs().expect("a store on a drive"));
        // No job runs any more, and later work is counted, too.
        let counted = of_the_drive(&db.stats().io);
        assert_eq!(counted, since(&drive, &before), "the counts of the store and of the drive");
        let space = db.stats().space;
        if setup.geometry.layout.is_zoned() {
            let zones = fs.zones().expect("a report");
            let sum = |of: fn(&terrace_fs::ZoneUsage) -> ByteCount| -> u64 {
                zones.iter().map(|zone| of(zone).0).sum()
            };
            assert_eq!(space.live.0, sum(|zone| zone.live), "live bytes");
            assert_eq!(space.pinned.0, sum(|zone| zone.pinned), "pinned bytes");
        } else {
            let block = |file: &FileInfo| file.size.next_multiple_of(BLOCK as u64);
            assert_eq!(space.live.0, fs.list().iter().map(block).sum::<u64>(), "live bytes");
            assert_eq!(space.pinned.0, 0, "pinned bytes");
        }
        let tables: u64 = db.stats().levels.iter().map(|level| level.bytes).sum();
        assert!(tables <= space.live.0, "{tables} bytes of tables, {} live", space.live);
        db.close().expect("room");
        drop(fs);
        counted
    })
}

#[test]
fn every_metric_is_what_the_drive_has_counted() {
    let resets: u64 = test_seeds(12).map(|seed| recount(seed).zones_reset).sum();
    assert!(resets > 50, "only {resets} resets");
}

#[test]
fn metrics_of_a_store_in_memory_are_what_its_files_took() {
    runner::simulate(1, || {
        let store = Arc::new(MemoryStore::new());
        let options = Setup::small(1).options;
        let db = Db::open(store, options).expect("a store");
        let ears = Arc::new(Ears::default());
        db.listen(Arc::clone(&ears) as Arc<dyn Listener>);
        work(&db, &ears, &mut Random::seeded(1));
        let (stats, told) = (db.stats(), *ears.0.lock());
        engine_agrees(&stats, &told);
        let tables = stats.io.written(Cause::Flush).0 + stats.io.written(Cause::Compaction).0;
        assert_eq!(tables, told.written + stats.bytes_discarded, "bytes of tables");
        db.close().expect("room");
    });
}
