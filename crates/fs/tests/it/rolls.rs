//! Rolls of a catalog that is large for its zones.

use std::sync::Arc;

use terrace_env::store::{Annotation, FileKind};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId};
use terrace_fs::catalog::Record;
use terrace_fs::journal::{Journal, replay};
use terrace_zone::{Device, Emulator, Geometry, Op};

use crate::journal_world::{make, open};

/// Files with annotations of about 300 bytes.
fn birth(id: FileId) -> Record {
    let annotation =
        Arc::new(Annotation { opaque: vec![id.0 as u8; 300], ..Annotation::default() });
    let (kind, extents) = (FileKind::Table, Vec::new());
    Record::Seal { id, kind, size: 0, extents, epoch: 0, annotation }
}

fn fill(journal: &Journal, files: u32) {
    for _ in 0..files / 100 {
        let records = (0..100).map(|_| birth(journal.new_file())).collect();
        journal.commit(records, false).expect("a commit");
    }
}

/// A store on zones of 256 KiB with 20,000 files: a snapshot of 7 MB in 28 zones.
fn large() -> (Arc<Emulator>, Arc<dyn Device>, Journal) {
    let geometry = Geometry::uniform(ByteCount::kib(256), 400);
    let emulator = Arc::new(Emulator::in_memory(geometry, 1).expect("a possible shape"));
    let device = Arc::clone(&emulator) as Arc<dyn Device>;
    make(&device, 1);
    let journal = open(&device).expect("a mount");
    fill(&journal, 20_000);
    (emulator, device, journal)
}

#[test]
fn a_roll_spans_zones_and_no_commit_waits_for_more_than_a_chunk() {
    let (emulator, device, journal) = large();
    let rolls = journal.rolls();
    let written = Arc::new(Mutex::new(0));
    let count = Arc::clone(&written);
    emulator.set_observer(Some(Arc::new(move |event| {
        // The tenants of the zones that the journal gives back are no part of its commits.
        match &event.request.op {
            Op::Write { data, .. } if event.request.cause != Cause::Client => {
                *count.lock() += data.len();
            }
            _ => {}
        }
    })));
    journal.request_roll();
    let (mut commits, mut most, mut total) = (0, 0, 0);
    while journal.rolls() == rolls {
        journal.commit(vec![birth(journal.new_file())], false).expect("a commit");
        let now = std::mem::take(&mut *written.lock());
        (commits, most, total) = (commits + 1, most.max(now), total + now);
        // Replay works at any moment of a roll.
        if commits % 7 == 0 {
            assert!(replay(&device, false).expect("a store").catalog == journal.read(Clone::clone));
        }
    }
    assert!(most <= 300 << 10, "a commit wrote {most} bytes");
    assert!(commits > 20 && total > 6 << 20, "{total} bytes in {commits} steps");
    assert!(journal.zones().len() < 40, "the zones before the head are free");
    assert!(replay(&device, true).expect("a store").catalog == journal.read(Clone::clone));
}

#[test]
fn the_journal_of_a_busy_store_stays_bounded() {
    let (_, device, journal) = large();
    let most = 3 * 7 * 4 + 4;
    for _ in 0..150 {
        let records = journal.read(|catalog| {
            let old = catalog.files().take(100).map(|(id, _)| Record::Delete { id });
            old.chain((0..100).map(|_| birth(journal.new_file()))).collect()
        });
        journal.commit(records, false).expect("a commit");
        assert!(journal.zones().len() < most, "{} zones", journal.zones().len());
    }
    assert!(replay(&device, true).expect("a store").catalog == journal.read(Clone::clone));
}

#[test]
fn a_roll_that_was_asked_for_is_in_force_when_it_returns() {
    let (_, device, journal) = large();
    let before = replay(&device, false).expect("a store").superblock.generation;
    journal.roll().expect("a roll");
    let after = replay(&device, false).expect("a store");
    assert!(after.superblock.generation > before);
    assert!(after.catalog == journal.read(Clone::clone));
}
