//! Logs of large appends that are seldom synced: several frames are in flight at once when the
//! power is cut, and block by block some of each reach the medium. Other actors carry out early
//! flushes, after which frames are forced, and a sync needs no flush.
//!
//! The bytes found are a prefix of the appended bytes that ends with an append, and no shorter than
//! the bytes that were acknowledged as synced.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::runner;
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId, marks, test_seeds};
use terrace_fs::{Access, Fs, MountOptions};
use terrace_zone::emulator::RandomLatency;
use terrace_zone::{Device, Geometry, PowerCut, Snapshot};

use crate::cuts::facts::{note, pattern};
use crate::drive::{formatted, mount};

const LOGS: usize = 2;
/// Bytes that a log grows to.
const SIZE: u64 = 3 << 20;
/// Cut points that are tried in each life.
const CUTS: usize = 24;

/// Expected state of a log.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Where appends end that have begun.
    ends: Vec<u64>,
    synced: u64,
}

type Logs = Vec<(FileId, Known)>;

fn grow(
    log: &mut dyn FileWriter,
    logs: &Mutex<Logs>,
    random: &mut Random,
) -> Result<(), StoreError> {
    let mut beside = None;
    let id = log.id();
    let note = |change: &dyn Fn(&mut Known)| {
        let mut logs = logs.lock();
        change(&mut logs.iter_mut().find(|(of, _)| *of == id).expect("a log").1);
    };
    while log.len() < SIZE {
        let most = [3_000, 200_000, 1_500_000][random.random_range(0..3)];
        let (start, len) = (log.len(), random.random_range(1..most));
        note(&|known| known.ends.push(start + len as u64));
        log.append(&pattern(id.0, start, len))?;
        match random.random_range(0..10) {
            0 => {
                log.sync()?;
                let end = log.len();
                note(&|known| known.synced = end);
            }
            1 => log.write_out()?,
            2 | 3 => log.begin_write_out()?,
            4 => {
                // One that is never carried out is dropped.
                match (log.early_flush(), random.random_range(0..3)) {
                    (Some(flush), 0) => flush.carry_out(),
                    (Some(flush), 1) => {
                        beside = Some(runner::spawn("flush", move || flush.carry_out()));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    beside.into_iter().for_each(runner::JoinHandle::join);
    Ok(())
}

/// Some moments of a life, and the knowledge then.
fn live(seed: u64) -> Vec<(Snapshot, Logs)> {
    let mut random = Random::seeded(seed);
    let drive = formatted(Geometry::uniform(ByteCount::mib(2), 32), seed);
    let (least, most) = (Duration::from_micros(50), Duration::from_millis(4));
    drive.set_timing(Some(Box::new(RandomLatency::new(least, most, seed))));
    let fs = mount(&drive);
    // Early flushes are for devices that jobs flush.
    fs.set_flush_every(if seed.is_multiple_of(3) { ByteCount(0) } else { ByteCount::mib(1) });
    let (logs, moments) = (Arc::new(Mutex::new(Logs::new())), Arc::new(Mutex::new(Vec::new())));
    let mut writers = Vec::new();
    for _ in 0..LOGS {
        let (hint, rank) = (PlacementHint::default(), Rank::Log);
        let (kind, cause) = (FileKind::Log, Cause::Log);
        let options = CreateOptions {
            kind,
            hint,
            size: None,
            rank,
            reservation: None,
            group: None,
            offload: false,
            cause,
        };
        let writer = fs.create(&options).expect("a writer");
        let mut transaction = Transaction::new();
        transaction.create(writer.id(), note("a log"));
        fs.commit(transaction).expect("a commit");
        logs.lock().push((writer.id(), Known { ends: vec![0], synced: 0 }));
        writers.push(writer);
    }
    let watched = (Arc::clone(&logs), Arc::clone(&moments));
    drive.set_observer(Some(Arc::new(move |event| {
        let logs = watched.0.lock().clone();
        watched.1.lock().push((event.snapshot().expect("a drive in memory"), logs));
    })));
    let actors: Vec<_> = writers
        .into_iter()
        .map(|mut writer| {
            let (logs, mut random) = (Arc::clone(&logs), random.fork());
            runner::spawn("log", move || grow(&mut *writer, &logs, &mut random))
        })
        .collect();
    actors.into_iter().for_each(|actor| actor.join().expect("a sound drive"));
    drive.set_observer(None);
    fs.unmount();
    let all = std::mem::take(&mut *moments.lock());
    let step = all.len().div_ceil(CUTS).max(1);
    all.into_iter().step_by(step).collect()
}

/// Checks that a cut left a log that is allowed. Returns the number of bytes beyond the synced
/// ones.
fn judge(fs: &Fs, id: FileId, known: &Known) -> u64 {
    let reader = fs.open(id).unwrap_or_else(|error| panic!("log {id}: {error}"));
    let len = reader.len();
    assert!(len >= known.synced, "log {id}: {len} bytes of {} that were synced", known.synced);
    assert!(known.ends.contains(&len), "log {id}: {len} bytes end amid an append");
    let mut bytes = vec![0; len as usize];
    reader.read_at(0, &mut bytes, Cause::Recovery).expect("its bytes");
    assert!(bytes == pattern(id.0, 0, bytes.len()), "log {id}: other bytes");
    len - known.synced
}

/// Cuts a life at many of its moments. Returns how many unsynced bytes were found again.
pub(crate) fn cut_frames_under_way(seed: u64) -> u64 {
    let moments = runner::simulate(seed, || live(seed));
    let mut random = Random::seeded(seed);
    let mut kept = 0;
    for (snapshot, logs) in moments {
        for cut in [PowerCut::Blocks, PowerCut::Prefixes, PowerCut::DropUnflushed] {
            let drive: Arc<dyn Device> = Arc::new(snapshot.cut(cut, &mut random));
            for access in [Access::ReadOnly, Access::ReadWrite] {
                let options = MountOptions { access, background: false, ..MountOptions::default() };
                let fs = Fs::mount(Arc::clone(&drive), &options)
                    .unwrap_or_else(|error| panic!("{cut:?}: {error}"));
                kept += logs.iter().map(|(id, known)| judge(&fs, *id, known)).sum::<u64>();
                fs.unmount();
            }
        }
    }
    kept
}

#[test]
fn cuts_amid_several_frames_of_large_appends_leave_whole_appends() {
    let (kept, marks) = marks::during(|| test_seeds(12).map(cut_frames_under_way).sum::<u64>());
    assert!(kept > 0, "no unsynced append was ever found again");
    if cfg!(debug_assertions) && test_seeds(12).count() == 12 {
        marks.must_have(&["fs: an early flush makes a log durable"]);
    }
}
