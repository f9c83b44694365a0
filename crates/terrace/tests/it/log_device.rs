//! Stores whose log device is the smallest that a store can have, under loads of many times its
//! size. The log device becomes full again and again, and no put may fail for that reason: puts
//! wait for flushes, or go to tables at once if no flush frees anything. A write that fits no log
//! fails at once. Synced puts survive power cuts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace::{Batch, ByteCount, Compression, Db, Durability, FormatOptions, Options, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, Layer, PlacementHint, Rank, Store, StoreError,
};
use terrace_env::{Cause, DeviceId, FileId, runner, test_seeds};
use terrace_fs::{Fs, MountOptions};
use terrace_zone::emulator::{Drives, RandomLatency};
use terrace_zone::{Geometry, PowerCut};

use crate::devices::{Contents, contents};

/// The smallest log device, and the most bytes of logs on it: stretches of a MiB, less the
/// superblock's and those of the journal.
const LOG_DEVICE: ByteCount = ByteCount::mib(8);

fn drives(seed: u64) -> Drives {
    let tables = Geometry::uniform(ByteCount::mib(1), 160);
    Drives::in_memory([tables, Geometry::plain(LOG_DEVICE)], seed).unwrap()
}

fn options(memtable: ByteCount) -> Options {
    Options::default()
        .memtable_size(memtable)
        .system(System {
            table_size: Some(ByteCount::kib(256)),
            level1_size: Some(ByteCount::mib(1)),
            factor: 4,
            ..System::default()
        })
        .memory(ByteCount::mib(64))
        .compression(Compression::None)
}

/// A load on a store with a small log device, and the expected contents.
struct Load {
    drives: Drives,
    options: Options,
    db: Db,
    held: Contents,
    random: Random,
    /// Bytes of values.
    written: u64,
}

impl Load {
    fn new(memtable: ByteCount, seed: u64) -> Self {
        let (drives, options) = (drives(seed), options(memtable));
        let db = Db::create_device(&drives, &FormatOptions::default(), options.clone()).unwrap();
        let (held, random) = (Contents::new(), Random::seeded(seed));
        Self { drives, options, db, held, random, written: 0 }
    }

    /// Writes one batch.
    fn write(&mut self, size: usize, durability: Durability) {
        let key = self.random.random_range(0..4000_u32).to_be_bytes().to_vec();
        let mut batch = Batch::new();
        if self.random.random_ratio(1, 10) {
            batch.delete(&key);
            self.held.remove(&key);
        } else {
            let mut value = vec![0; self.random.random_range(size / 2..=size)];
            self.random.fill_bytes(&mut value);
            batch.put(&key, &value);
            self.written += value.len() as u64;
            self.held.insert(key, value);
        }
        if let Err(error) = self.db.write_with(batch, durability) {
            panic!("after {} bytes: {error}; {:?}", self.written, self.fs().devices());
        }
    }

    fn fs(&self) -> &Arc<Fs> {
        self.db.fs().expect("a file system")
    }

    /// Writes `bytes` of values, each of about this size.
    fn fill(&mut self, bytes: ByteCount, size: usize, durability: Durability) {
        while self.written < bytes.0 {
            self.write(size, durability);
        }
        assert!(self.db.stats().failure.is_none());
        assert!(contents(&self.db) == self.held, "other contents");
    }

    /// Closes the store, checks it, and opens it again.
    fn end(self) {
        self.db.close().unwrap();
        let report = Fs::check(&self.drives).unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
        let db = Db::open_device(&self.drives, self.options).unwrap();
        assert!(contents(&db) == self.held, "other contents after an opening");
        db.close().unwrap();
    }

    fn carry_out(mut self, bytes: ByteCount, size: usize, durability: Durability) {
        self.fill(bytes, size, durability);
        self.end();
    }
}

/// Sizes of memtables: many logs fit the device; a few; one; a part of one.
const MEMTABLES: [ByteCount; 4] =
    [ByteCount::kib(128), ByteCount::kib(600), ByteCount::mib(2), ByteCount::mib(6)];
const DURABILITIES: [Durability; 3] =
    [Durability::Gathered, Durability::Written, Durability::Synced];

/// Loads with every size of memtable, large and small values.
fn loads(seed: u64) {
    for (number, memtable) in MEMTABLES.into_iter().enumerate() {
        for (durability, size) in DURABILITIES.into_iter().zip([20_000, 3000, 1500]) {
            let bytes = ByteCount(LOG_DEVICE.0 * if size > 3000 { 6 } else { 3 });
            Load::new(memtable, seed + number as u64).carry_out(bytes, size, durability);
        }
    }
}

#[test]
fn a_load_of_many_times_the_log_device_is_taken() {
    for seed in test_seeds(1) {
        runner::simulate(seed, || loads(seed));
    }
}

#[test]
fn a_load_of_many_times_the_log_device_is_taken_on_threads() {
    loads(1);
}

#[test]
fn a_log_that_is_made_ahead_leaves_the_active_one_enough() {
    // It took the rest of the device. The active log ended early, and the next one had no more
    // space: a preallocated log that was never written kept it.
    for kib in [1200, 1300, 1400] {
        runner::simulate(1, || {
            let memtable = ByteCount::kib(kib);
            let mut load = Load::new(memtable, 1);
            load.fill(ByteCount(LOG_DEVICE.0 * 2), 4000, Durability::Gathered);
            let (flushes, full) = (load.db.stats().flushes, load.written / memtable.0);
            assert!(flushes <= full + 2, "{flushes} flushes, {full} memtables of {memtable}");
            load.end();
        });
    }
}

#[test]
fn puts_wait_for_flushes_however_slow_the_drive_of_the_tables_is() {
    // A flush takes many seconds, longer than a writer waits for space that no job frees.
    for seed in test_seeds(1) {
        for durability in DURABILITIES {
            runner::simulate(seed, || {
                let load = Load::new(ByteCount::mib(6), seed);
                let (least, most) = (Duration::from_secs(1), Duration::from_secs(9));
                let timing = RandomLatency::new(least, most, seed);
                load.drives.first().set_timing(Some(Box::new(timing)));
                load.carry_out(ByteCount(LOG_DEVICE.0 * 3), 3000, durability);
            });
        }
    }
}

#[test]
fn a_batch_larger_than_all_that_logs_can_have_goes_to_tables() {
    runner::simulate(1, || {
        for durability in DURABILITIES {
            let mut load = Load::new(ByteCount::mib(2), 1);
            for round in 0..3_u32 {
                let mut batch = Batch::new();
                for number in 0..120_u32 {
                    let key = [round.to_be_bytes(), number.to_be_bytes()].concat();
                    let mut value = vec![0; 60_000];
                    load.random.fill_bytes(&mut value);
                    batch.put(&key, &value);
                    load.held.insert(key, value);
                }
                load.db.write_with(batch, durability).unwrap();
                load.write(3000, durability);
            }
            load.carry_out(ByteCount(LOG_DEVICE.0), 3000, durability);
        }
    });
}

#[test]
fn synced_puts_outlive_a_power_cut_while_the_log_device_is_full_again_and_again() {
    for seed in test_seeds(1) {
        for memtable in [ByteCount::kib(600), ByteCount::mib(6)] {
            runner::simulate(seed, || {
                let mut load = Load::new(memtable, seed);
                let mut random = Random::seeded(seed);
                while load.written < LOG_DEVICE.0 * 3 {
                    // An unsynced write is lost together with a later sync, or kept with it.
                    load.write(9000, Durability::Gathered);
                    load.write(9000, Durability::Synced);
                    if !random.random_ratio(1, 100) {
                        continue;
                    }
                    let survivors = load.drives.snapshot().unwrap();
                    let choice = random.random_range(0..3);
                    let cut = PowerCut::any(&mut random);
                    let survivors = survivors.cut_some(choice, cut, &mut random);
                    let db = Db::open_device(&survivors, load.options.clone()).unwrap();
                    assert!(contents(&db) == load.held, "at {} bytes", load.written);
                    db.put(b"key", b"value").unwrap();
                    db.close().unwrap();
                }
            });
        }
    }
}

/// Takes all free space of the log device for logs, for a file that is in no catalog.
fn occupy(fs: &Fs) -> Box<dyn FileWriter> {
    let (kind, hint, size) = (FileKind::Log, PlacementHint::default(), None);
    let (rank, cause) = (Rank::UrgentLog, Cause::Client);
    let group = None;
    let reservation = None;
    let options =
        CreateOptions { kind, hint, size, rank, reservation, group, offload: false, cause };
    let mut writer = fs.create(&options).unwrap();
    loop {
        if let Err(error) = writer.append(&[1; 4000]).and_then(|()| writer.sync()) {
            assert!(error.is_space(), "{error}");
            return writer;
        }
    }
}

#[test]
fn writes_go_to_tables_at_once_while_no_flush_frees_anything_on_the_log_device() {
    for durability in DURABILITIES {
        runner::simulate(1, || {
            let mut load = Load::new(ByteCount::mib(2), 1);
            let others = occupy(load.fs());
            for _ in 0..300 {
                load.write(3000, durability);
            }
            assert!(contents(&load.db) == load.held);
            load.db.sync().unwrap();
            let survivors = load.drives.snapshot().unwrap();
            let survivors = survivors.cut(PowerCut::DropUnflushed, &mut Random::seeded(1));
            let db = Db::open_device(&survivors, load.options.clone()).unwrap();
            assert!(contents(&db) == load.held);
            db.close().unwrap();
            drop(others);
            load.carry_out(LOG_DEVICE, 3000, durability);
        });
    }
}

/// A store whose logs take nothing while `full`.
struct FullLogs {
    fs: Arc<Fs>,
    full: Arc<AtomicBool>,
}

struct FullLog {
    writer: Box<dyn FileWriter>,
    full: Arc<AtomicBool>,
}

impl Layer for FullLogs {
    fn below(&self) -> &dyn Store {
        &*self.fs
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let writer = self.fs.create(options)?;
        if options.kind != FileKind::Log {
            return Ok(writer);
        }
        Ok(Box::new(FullLog { writer, full: Arc::clone(&self.full) }))
    }
}

impl FileWriter for FullLog {
    fn id(&self) -> FileId {
        self.writer.id()
    }

    fn len(&self) -> u64 {
        self.writer.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if !self.full.load(Ordering::Relaxed) {
            return self.writer.append(bytes);
        }
        let (needed, available, device) = (ByteCount::kib(8), ByteCount(0), Some(DeviceId(1)));
        Err(StoreError::NoSpace {
            rank: Rank::Log,
            needed,
            available,
            on_host: false,
            empty: false,
            device,
        })
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.writer.write_out()
    }

    fn begin_write_out(&mut self) -> Result<(), StoreError> {
        self.writer.begin_write_out()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.writer.sync()
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.writer.finish()
    }

    fn memory(&self) -> usize {
        self.writer.memory()
    }
}

#[test]
fn a_write_that_no_log_takes_fails_at_once_and_says_what_the_log_device_holds() {
    runner::simulate(1, || {
        let mut load = Load::new(ByteCount::mib(2), 1);
        load.db.clone().close().unwrap();
        let fs = Fs::mount(&load.drives, &MountOptions::default()).unwrap();
        let full = Arc::new(AtomicBool::new(false));
        let store = FullLogs { fs: Arc::clone(&fs), full: Arc::clone(&full) };
        let options = load.options.clone();
        load.db = Db::open_fs_through(Arc::clone(&fs), Arc::new(store), options).unwrap();
        // The log that an opening continues does not go through this layer.
        load.write(3000, Durability::Synced);
        load.db.flush().unwrap();
        for _ in 0..40 {
            load.write(3000, Durability::Synced);
        }
        full.store(true, Ordering::Relaxed);
        for attempt in 0..3 {
            let begun = runner::now();
            let error = load.db.put(b"refused", &[7; 3000]).unwrap_err();
            let took = runner::now().since(begun);
            assert!(took < Duration::from_secs(1), "{took:?}: there is nothing to wait for");
            assert!(error.is_space(), "{error}");
            assert_eq!(
                error.to_string(),
                "no space on device 1: log needs 8 KiB, 0 B are available to it; flush memtables, \
                 whose logs lie there, or use a larger log device; of 8 MiB of the log device, \
                 which is device 1, 2 MiB are the journal's, with the superblock, and 0 B are \
                 logs, 4 MiB kept for deletes, flushes, compaction and the journal; puts can take \
                 1 MiB",
                "attempt {attempt}"
            );
            // All writes are in tables.
            let survivors = load.drives.snapshot().unwrap();
            let survivors = survivors.cut(PowerCut::DropUnflushed, &mut Random::seeded(1));
            let db = Db::open_device(&survivors, load.options.clone()).unwrap();
            assert!(contents(&db) == load.held);
            db.close().unwrap();
        }
        // There is no compaction for it: the tables' drive has enough space.
        assert_eq!(load.db.stats().compactions, 0);
        full.store(false, Ordering::Relaxed);
        load.carry_out(LOG_DEVICE, 3000, Durability::Synced);
    });
}
