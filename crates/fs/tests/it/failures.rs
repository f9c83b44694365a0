//! The journal on a drive that fails, and on one that may only be read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::store::StoreError;
use terrace_env::{Cause, IoBuf, ZoneId, runner};
use terrace_fs::catalog::Record;
use terrace_fs::journal::{Journal, replay};
use terrace_fs::{BLOCK, ZonePlace};
use terrace_zone::emulator::{FaultPlan, RandomLatency, RequestKind};
use terrace_zone::{Device, Emulator, PowerCut, ZoneState};

use crate::changes::Changes;
use crate::journal_world::{make, open, shape};

fn store(seed: u64) -> (Arc<Emulator>, Arc<dyn Device>) {
    let emulator = Arc::new(Emulator::in_memory(shape(seed), seed).expect("a possible shape"));
    let device = Arc::clone(&emulator) as Arc<dyn Device>;
    make(&device, seed);
    (emulator, device)
}

fn commit(journal: &Journal, changes: &mut Changes) -> Result<(), StoreError> {
    let records = journal.read(|catalog| changes.transaction(catalog));
    journal.commit(records, false).map(drop)
}

#[test]
fn a_failed_write_stops_the_journal_and_the_next_mount_goes_on_elsewhere() {
    for (seed, state) in [(3, None), (3, Some(ZoneState::ReadOnly)), (2, None)] {
        let (emulator, device) = store(seed);
        let journal = open(&device).expect("a mount");
        let mut changes = Changes::new(seed, 100);
        for _ in 0..5 {
            commit(&journal, &mut changes).expect("a commit");
        }
        let acked = journal.read(Clone::clone);
        match state {
            Some(state) => {
                let zone = journal.zones()[0];
                emulator.set_zone_condition(zone, state).expect("a zone that fails");
            }
            None => emulator.set_faults(Some(FaultPlan::new(1).fail(RequestKind::Write, 0))),
        }
        let first = commit(&journal, &mut changes).expect_err("the write fails");
        assert!(matches!(first, StoreError::Stopped(_)), "{first}");
        let second = commit(&journal, &mut changes).expect_err("no commits any more");
        assert!(matches!(second, StoreError::Stopped(_)), "{second}");
        let staged = journal.read(Clone::clone);
        emulator.set_faults(None);
        drop(journal);
        // A write that failed may have reached the medium.
        let found = replay(&device, true).expect("a store").catalog;
        assert!(found == acked || found == staged);
        let journal = open(&device).expect("a mount");
        commit(&journal, &mut changes).expect("a commit");
    }
}

#[test]
fn a_flush_that_fails_stops_the_journal_before_anything_is_acknowledged() {
    let (emulator, device) = store(3);
    let journal = open(&device).expect("a mount");
    let before = replay(&device, false).expect("a store").catalog;
    emulator.set_faults(Some(FaultPlan::new(1).fail(RequestKind::Flush, 0)));
    let records = Changes::new(1, 10).transaction(&before);
    let error = journal.commit(records, true).expect_err("the flush fails");
    assert!(matches!(error, StoreError::Stopped(_)), "{error}");
    emulator.set_faults(None);
    assert!(replay(&device, false).expect("a store").catalog == before);
}

#[test]
fn a_zone_that_cannot_take_the_journal_is_passed_over() {
    let (emulator, device) = store(0);
    let journal = open(&device).expect("a mount");
    // The zone that is taken next is the lowest free one.
    let next = ZoneId(journal.zones().iter().map(|zone| zone.0).max().unwrap_or(0) + 1);
    emulator.set_faults(Some(FaultPlan::new(1).fail_in(next, RequestKind::Write, 0)));
    let mut changes = Changes::new(0, 100);
    for _ in 0..20 {
        commit(&journal, &mut changes).expect("a commit");
    }
    assert!(replay(&device, false).expect("a store").catalog == journal.read(Clone::clone));
}

#[test]
fn a_read_only_mount_changes_nothing_and_refuses_commits() {
    let (emulator, device) = store(0);
    let writer = open(&device).expect("a mount");
    let mut changes = Changes::new(0, 100);
    for _ in 0..30 {
        commit(&writer, &mut changes).expect("a commit");
    }
    let changed = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&changed);
    emulator.set_observer(Some(Arc::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    })));
    let journal = Journal::read_only(replay(&device, false).expect("a store"));
    assert!(journal.read(Clone::clone) == writer.read(Clone::clone));
    let error = commit(&journal, &mut changes).expect_err("a read-only store");
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
    assert_eq!(changed.load(Ordering::Relaxed), 0);
}

#[test]
fn data_that_a_commit_covers_is_durable_before_it() {
    let (emulator, device) = store(3);
    let journal = open(&device).expect("a mount");
    let data = ZonePlace { zone: ZoneId(60), block: 0 }.lba(device.geometry());
    let content = IoBuf::copy_of(&[0xab; BLOCK]);
    device.write(data, content.clone(), false, Cause::Flush).expect("a write");
    let annotation = Changes::new(1, 10).annotation();
    let id = terrace_env::FileId::STORE;
    journal.commit(vec![Record::Annotate { id, annotation }], true).expect("a commit");
    let cut = PowerCut::DropUnflushed;
    let after = emulator.snapshot().expect("a drive in memory").cut(cut, &mut Random::seeded(1));
    assert_eq!(*after.read(data, 1, Cause::Read).expect("a read"), *content);
}

/// Commits that wait while another one is written become one group. It flushes the device if one of
/// them asks for it, in whatever order they came.
#[test]
fn data_that_one_commit_of_a_group_covers_is_durable_before_it() {
    for first_covers in [true, false] {
        runner::simulate(1, || {
            let (emulator, device) = store(3);
            let time = Duration::from_millis(10);
            emulator.set_timing(Some(Box::new(RandomLatency::new(time, time, 1))));
            let journal = Arc::new(open(&device).expect("a mount"));
            let data = ZonePlace { zone: ZoneId(60), block: 0 }.lba(device.geometry());
            let content = IoBuf::copy_of(&[0xab; BLOCK]);
            device.write(data, content.clone(), false, Cause::Flush).expect("a write");
            let begin = |covers: bool| {
                let journal = Arc::clone(&journal);
                let annotation = Changes::new(1, 10).annotation();
                let actor = runner::spawn("a commit", move || {
                    let id = terrace_env::FileId::STORE;
                    journal.commit(vec![Record::Annotate { id, annotation }], covers).map(drop)
                });
                runner::sleep(Duration::from_millis(1));
                actor
            };
            let leader = begin(false);
            let members = [begin(first_covers), begin(!first_covers)];
            leader.join().expect("a commit");
            members.into_iter().for_each(|member| member.join().expect("a commit"));
            let (snapshot, cut) = (emulator.snapshot(), PowerCut::DropUnflushed);
            let after = snapshot.expect("a drive in memory").cut(cut, &mut Random::seeded(1));
            let found = after.read(data, 1, Cause::Read).expect("a read");
            assert_eq!(*found, *content, "the first covers: {first_covers}");
        });
    }
}
