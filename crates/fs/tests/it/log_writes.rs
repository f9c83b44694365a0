//! Tests of log writes: which callers wait, for what, and the fate of writes that fail.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{
    Annotation, CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId, runner, test_seeds};
use terrace_fs::Fs;
use terrace_zone::emulator::{FaultPlan, RandomLatency, RequestKind};
use terrace_zone::{Emulator, Geometry, PowerCut};

use crate::drive::{formatted, mount};

/// Time of each request.
const LATENCY: Duration = Duration::from_millis(10);
const MIB: usize = 1 << 20;

fn drive(seed: u64) -> Arc<Emulator> {
    let drive = formatted(Geometry::uniform(ByteCount::mib(16), 32), seed);
    drive.set_timing(Some(Box::new(RandomLatency::new(LATENCY, LATENCY, seed))));
    drive
}

fn log(fs: &Fs) -> Box<dyn FileWriter> {
    let options = CreateOptions {
        kind: FileKind::Log,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Log,
    };
    let writer = fs.create(&options).unwrap();
    let mut transaction = Transaction::new();
    transaction.create(writer.id(), Annotation::default());
    fs.commit(transaction).unwrap();
    writer
}

fn bytes(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(|at| (at / 7 + at / 4096) as u8).collect()
}

fn contents(fs: &Fs, id: FileId) -> Vec<u8> {
    let file = fs.open(id).unwrap();
    let mut found = vec![0; file.len() as usize];
    file.read_at(0, &mut found, Cause::Read).unwrap();
    found
}

#[test]
fn appends_do_not_wait_until_some_mib_are_under_way_and_then_for_the_oldest_only() {
    runner::simulate(1, || {
        let fs = mount(drive(1));
        let mut writer = log(&fs);
        let start = runner::now();
        let step = 64 << 10;
        let append = |writer: &mut dyn FileWriter, to: usize| {
            while (writer.len() as usize) < to {
                writer.append(&bytes(writer.len() as usize, step)).unwrap();
            }
            runner::now().since(start)
        };
        assert_eq!(append(&mut *writer, 4 * MIB), Duration::ZERO);
        // Writes overlap, so that a further one takes a part of a request's time on average.
        let most = 11 * MIB;
        let elapsed = append(&mut *writer, most);
        assert!(elapsed > Duration::ZERO && elapsed <= 3 * LATENCY, "{elapsed:?}");
        assert!(contents(&fs, writer.id()) == bytes(0, most), "bytes in flight can be read");
        writer.sync().unwrap();
        assert!(contents(&fs, writer.id()) == bytes(0, most));
        fs.unmount();
    });
}

#[test]
fn what_fails_under_way_is_written_to_another_zone_in_order() {
    for seed in test_seeds(20) {
        runner::simulate(seed, || {
            let drive = drive(seed);
            let fs = mount(&drive);
            let mut random = Random::seeded(seed);
            let mut writer = log(&fs);
            let spared = random.random_range(0..8);
            drive.set_faults(Some(FaultPlan::new(seed).fail(RequestKind::Write, spared)));
            let size = 12 * MIB;
            while (writer.len() as usize) < size {
                let len = random.random_range(1..300 << 10);
                writer.append(&bytes(writer.len() as usize, len)).unwrap();
            }
            let synced = writer.len() as usize;
            writer.sync().unwrap();
            drive.set_faults(None);
            let id = writer.id();
            assert!(contents(&fs, id) == bytes(0, synced), "before the cut");
            drop(writer);
            drive.power_cut(PowerCut::DropUnflushed, &mut random).unwrap();
            drop(fs);
            drive.power_on();
            let fs = mount(&drive);
            assert!(contents(&fs, id) == bytes(0, synced), "after the cut");
            fs.unmount();
            assert_eq!(fs.audit(), Vec::<String>::new());
        });
    }
}

#[test]
fn a_write_that_fails_for_good_is_told_by_a_later_append_or_the_sync() {
    runner::simulate(1, || {
        let drive = drive(1);
        let fs = mount(&drive);
        let mut writer = log(&fs);
        drive.set_faults(Some(FaultPlan::new(1).fail_by_chance(RequestKind::Write, 1)));
        let mut appended = 0;
        let failure = loop {
            if let Err(error) = writer.append(&bytes(appended, 128 << 10)) {
                break error;
            }
            appended += 128 << 10;
            assert!(appended < 32 * MIB, "no error was returned");
        };
        assert!(appended >= 4 * MIB, "{failure} after {appended} bytes");
        assert!(writer.sync().is_err());
        assert!(writer.append(b"more").is_err());
        drive.set_faults(None);
        drop(writer);
        fs.unmount();
        assert_eq!(fs.audit(), Vec::<String>::new());
    });
}
