//! Flushes that fail among others, those of one of two devices, and those of jobs for themselves.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::runner;
use terrace_env::store::{
    CreateOptions, FileKind, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId, test_seeds};
use terrace_fs::Fs;
use terrace_zone::emulator::{FaultPlan, RandomLatency, RequestKind};
use terrace_zone::{Geometry, PowerCut};

use crate::cuts::facts::{note, pattern};
use crate::drive::{formatted, formatted_with_log, mount};

/// Bytes of each file that were acknowledged as durable.
type Acked = Arc<Mutex<Vec<(FileId, usize)>>>;

fn options(kind: FileKind) -> CreateOptions<'static> {
    let (hint, rank) = (PlacementHint::default(), Rank::Log);
    CreateOptions {
        kind,
        hint,
        size: None,
        rank,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    }
}

/// Seals tables, each of which is durable once its transaction is: the journal flushes.
fn seal_tables(fs: &Fs, acked: &Acked, mut random: Random) -> Result<(), StoreError> {
    loop {
        let mut table = fs.create(&options(FileKind::Table))?;
        let (id, len) = (table.id(), random.random_range(1..20_000));
        table.append(&pattern(id.0, 0, len))?;
        table.finish()?;
        // Like a job that makes several tables: its writes are volatile for a while.
        runner::sleep(Duration::from_micros(random.random_range(0..1_000)));
        let mut transaction = Transaction::new();
        transaction.seal(id, note("a table"));
        fs.commit(transaction)?;
        acked.lock().push((id, len));
    }
}

/// Writes a log, a part of it unforced before each sync: the log flushes.
fn sync_log(fs: &Fs, acked: &Acked, mut random: Random) -> Result<(), StoreError> {
    let mut log = fs.create(&options(FileKind::Log))?;
    let id = log.id();
    let mut transaction = Transaction::new();
    transaction.create(id, note("a log"));
    fs.commit(transaction)?;
    loop {
        for _ in 0..2 {
            let len = random.random_range(1..3_000);
            log.append(&pattern(id.0, log.len(), len))?;
            log.write_out()?;
        }
        log.sync()?;
        acked.lock().push((id, log.len() as usize));
    }
}

/// Lets a flush fail amid others, and cuts the power. Returns the acknowledged bytes, and the fault
/// if there is one.
pub(crate) fn fail_amid(seed: u64) -> (usize, Option<String>) {
    runner::simulate(seed, || {
        let mut random = Random::seeded(seed);
        let drive = formatted(Geometry::uniform(ByteCount::kib(256), 64), seed);
        let (least, most) = (Duration::from_micros(5), Duration::from_micros(400));
        drive.set_timing(Some(Box::new(RandomLatency::new(least, most, seed))));
        let fs = mount(&drive);
        // The failure of a job's own flush must reach the others, too.
        fs.set_flush_every(ByteCount::kib(if seed.is_multiple_of(2) { 8 } else { 0 }));
        let spared = random.random_range(0..25);
        drive.set_faults(Some(FaultPlan::new(seed).fail(RequestKind::Flush, spared)));
        let acked = Acked::default();
        let mut actors = Vec::new();
        for actor in 0..4 {
            let (fs, acked, random) = (Arc::clone(&fs), Arc::clone(&acked), random.fork());
            actors.push(runner::spawn("writer", move || match actor % 2 {
                0 => seal_tables(&fs, &acked, random),
                _ => sync_log(&fs, &acked, random),
            }));
        }
        for actor in actors {
            actor.join().expect_err("a store whose flushes fail");
        }
        fs.unmount();
        drop(fs);
        drive.set_faults(None);
        drive.power_cut(PowerCut::DropUnflushed, &mut random).expect("memory");
        drive.power_on();
        let fs = mount(&drive);
        let acked = acked.lock().clone();
        let lost = acked.iter().find_map(|&(id, len)| {
            let Ok(reader) = fs.open(id) else { return Some(format!("file {id} is gone")) };
            let mut bytes = vec![0; len];
            match reader.read_at(0, &mut bytes, Cause::Read) {
                Ok(()) if bytes == pattern(id.0, 0, len) => None,
                Ok(()) => Some(format!("file {id} has other bytes")),
                Err(error) => Some(format!("file {id}: {error}")),
            }
        });
        fs.unmount();
        (acked.len(), lost)
    })
}

#[test]
fn a_flush_that_succeeds_beside_one_that_fails_is_not_believed() {
    let mut acked = 0;
    for seed in test_seeds(200) {
        let (count, lost) = fail_amid(seed);
        assert_eq!(lost, None, "seed {seed} (TERRACE_TEST_SEED={seed} repeats it)");
        acked += count;
    }
    assert!(acked > 200, "only {acked} were acknowledged");
}

#[test]
fn a_job_flushes_a_disk_once_in_so_many_bytes_and_other_devices_never() {
    let flushes = |rotational: bool, every: Option<ByteCount>| {
        runner::simulate(1, || {
            let uniform = Geometry::uniform(ByteCount::mib(4), 64);
            let drive = formatted(Geometry { rotational, ..uniform }, 1);
            let fs = mount(&drive);
            every.into_iter().for_each(|every| fs.set_flush_every(every));
            let before = drive.io().flushes;
            let mut table = fs.create(&options(FileKind::Table)).unwrap();
            for piece in 0..70 {
                table.append(&pattern(table.id().0, piece << 20, 1 << 20)).unwrap();
            }
            table.finish().unwrap();
            drive.io().flushes - before
        })
    };
    assert_eq!([true, false].map(|rotational| flushes(rotational, None)), [2, 0]);
    let every = |mib| flushes(false, Some(ByteCount::mib(mib)));
    assert_eq!([0, 10, 35, 71].map(every), [0, 7, 2, 0]);
}

#[test]
fn a_clients_file_flushes_a_disk_for_others_alone() {
    let flushes = |others: bool| {
        runner::simulate(1, || {
            let uniform = Geometry::uniform(ByteCount::mib(4), 64);
            let drive = formatted(Geometry { rotational: true, ..uniform }, 1);
            let fs = mount(&drive);
            let before = drive.io().flushes;
            let mut body = fs.create(&options(FileKind::Client)).unwrap();
            for piece in 0..150 {
                body.append(&pattern(body.id().0, piece << 20, 1 << 20)).unwrap();
                if others && piece % 50 == 10 {
                    table(&fs, 1000).unwrap();
                }
            }
            drive.io().flushes - before
        })
    };
    assert_eq!(flushes(false), 1, "no one gains by more");
    assert!(flushes(true) >= 6, "three of its own, next to those of three commits");
}

/// A sealed table of `len` bytes.
fn table(fs: &Fs, len: usize) -> Result<FileId, StoreError> {
    let mut table = fs.create(&options(FileKind::Table))?;
    let id = table.id();
    table.append(&pattern(id.0, 0, len))?;
    table.finish()?;
    let mut transaction = Transaction::new();
    transaction.seal(id, note("a table"));
    fs.commit(transaction).map(|()| id)
}

#[test]
fn a_failed_flush_of_either_device_fails_the_commit() {
    for (failing, seed) in [(0, 1), (1, 2), (0, 3), (1, 4)] {
        let geometry = Geometry::uniform(ByteCount::kib(256), 40);
        let drives = formatted_with_log(geometry, ByteCount::mib(8), seed);
        let fs = mount(&drives);
        let before = table(&fs, 70_000).expect("a table");
        let faults = FaultPlan::new(seed).fail(RequestKind::Flush, 0);
        drives.all()[failing].set_faults(Some(faults));
        let error = table(&fs, 50_000).expect_err("a commit without a flush").to_string();
        assert!(error.contains("flush"), "device {failing}: {error}");
        // Nothing later is acknowledged on top of it.
        table(&fs, 1_000).expect_err("a store that has stopped");
        fs.unmount();
        drop(fs);
        let mut random = Random::seeded(seed);
        drives.all().iter().for_each(|drive| drive.set_faults(None));
        drives.power_cut(PowerCut::DropUnflushed, &mut random).expect("memory");
        drives.power_on();
        let fs = mount(&drives);
        assert_eq!(fs.list().iter().map(|info| info.id).collect::<Vec<_>>(), [before]);
        let mut bytes = vec![0; 70_000];
        fs.open(before).expect("the table").read_at(0, &mut bytes, Cause::Read).expect("a read");
        assert!(bytes == pattern(before.0, 0, 70_000));
        fs.unmount();
    }
}
