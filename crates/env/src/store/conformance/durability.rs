//! Conformance checks of durability: which files, names, annotations and bytes a store has after it
//! was closed and opened again, after its process ended, and after a power cut; and that ids are
//! not used again.

use std::sync::Arc;

use super::Subject;
use super::actions::{
    assert_contents, commit, contents, create, create_committed, dump, finished, named, note,
    pattern, read, refused, sealed,
};
use super::suite::DurableCheck;
use crate::store::{FileKind, StoreError};
use crate::{FileId, Store};

pub(super) const CHECKS: &[DurableCheck] = &[
    ("committed files are found again", committed_is_found),
    ("sealed files survive a power cut without a sync", sealed_survives),
    ("a log keeps its synced bytes and a prefix of the rest", log_prefix),
    ("a log keeps its written bytes when the process ends", log_written),
    ("bytes written and not synced are cut like any tail", written_is_volatile),
    ("a client's file keeps its synced bytes", client_prefix),
    ("a file that was not committed is gone after a power cut", uncommitted_is_gone),
    ("a log goes on after what survived of it", log_goes_on),
    ("every kind of change survives a power cut", changes_survive),
    ("ids are not used again after a restart", ids_not_reused),
    ("an empty store stays empty", empty_store),
];

/// Closes the store, or cuts the power by seed.
fn restart(subject: &mut dyn Subject, power_cut: Option<u64>) -> Arc<dyn Store> {
    match power_cut {
        Some(seed) => subject.power_cut(seed),
        None => subject.reopen(),
    }
    subject.store()
}

fn committed_is_found(subject: &mut dyn Subject) {
    let store = subject.store();
    for n in 0..20u64 {
        named(&store, &format!("dir/{n}"), &pattern(n, 700 * n as usize));
    }
    let large = sealed(&store, &pattern(99, 500_000));
    commit(&store, |t| t.link("large", large).annotate(FileId::STORE, note("state")));
    let before = dump(&store);
    drop(store);
    for power_cut in [None, Some(1), None, None, Some(2), Some(3)] {
        let store = restart(subject, power_cut);
        assert_eq!(dump(&store), before, "after {power_cut:?}");
        for n in 0..20u64 {
            let id = store.lookup(&format!("dir/{n}")).expect("a name");
            assert_contents(&store, id, &pattern(n, 700 * n as usize));
        }
        assert_contents(&store, large, &pattern(99, 500_000));
    }
}

fn sealed_survives(subject: &mut dyn Subject) {
    for seed in 0..10 {
        let store = subject.store();
        let bytes = pattern(seed, 30_000);
        let id = sealed(&store, &bytes);
        drop(store);
        let store = restart(subject, Some(seed));
        assert!(store.info(id).expect("a sealed file").sealed);
        assert_contents(&store, id, &bytes);
    }
}

/// Appends records of several lengths to a log and cuts the power, after each number of syncs.
fn log_prefix(subject: &mut dyn Subject) {
    let records: Vec<Vec<u8>> = (0..12).map(|n| pattern(n, 100 + 997 * n as usize)).collect();
    for seed in 0..24 {
        let store = subject.store();
        let mut log = create_committed(&store, FileKind::Log);
        let synced = seed as usize % records.len();
        for record in &records[..synced] {
            log.append(record).expect("an append");
            log.sync().expect("a sync");
        }
        for record in &records[synced..] {
            log.append(record).expect("an append");
        }
        let id = log.id();
        drop((log, store));
        let store = restart(subject, Some(seed));
        let found = contents(&store, id);
        let kept = (synced..=records.len()).find(|kept| records[..*kept].concat() == found);
        assert!(
            kept.is_some(),
            "expected at least the {synced} synced records and a prefix of the others, found {} \
             bytes that are no such prefix",
            found.len()
        );
        commit(&store, |t| t.delete(id));
    }
}

/// Appends to a log, hands a part over in groups of several sizes, and ends the process.
fn log_written(subject: &mut dyn Subject) {
    let records: Vec<Vec<u8>> = (0..40).map(|n| pattern(n, 50 + 137 * n as usize)).collect();
    for seed in 0..24 {
        let store = subject.store();
        let mut log = create_committed(&store, FileKind::Log);
        let (synced, written) = (seed as usize % 4, seed as usize * 40 / 24);
        for (n, record) in records.iter().enumerate() {
            log.append(record).expect("an append");
            if n < synced {
                log.sync().expect("a sync");
            } else if n < written && (n % (1 + seed as usize % 5) == 0 || n + 1 == written) {
                log.write_out().expect("a hand-over");
                log.write_out().expect("a hand-over of nothing");
            }
            assert_eq!(log.len(), records[..=n].concat().len() as u64);
        }
        let id = log.id();
        assert_contents(&store, id, &records.concat());
        drop((log, store));
        subject.end_process(seed);
        let store = subject.store();
        let found = contents(&store, id);
        let least = written.max(synced);
        let kept = (least..=records.len()).find(|kept| records[..*kept].concat() == found);
        assert!(
            kept.is_some(),
            "expected at least the {least} written records and a prefix of the others, found {} \
             bytes that are no such prefix",
            found.len()
        );
        // It goes on there, and a power cut then leaves the right contents.
        let mut log = store.reopen(id).expect("an unsealed log reopens");
        log.append(b"behind").expect("an append");
        log.sync().expect("a sync");
        drop((log, store));
        let store = restart(subject, Some(seed));
        assert_contents(&store, id, &[&found[..], b"behind"].concat());
        commit(&store, |t| t.delete(id));
    }
}

fn written_is_volatile(subject: &mut dyn Subject) {
    let records: Vec<Vec<u8>> = (0..30).map(|n| pattern(n, 20 + 61 * n as usize)).collect();
    for seed in 0..24 {
        let store = subject.store();
        let mut log = create_committed(&store, FileKind::Log);
        let synced = seed as usize;
        for (n, record) in records.iter().enumerate() {
            log.append(record).expect("an append");
            if n % 3 != 2 {
                log.write_out().expect("a hand-over");
            }
            if n + 1 == synced {
                log.sync().expect("a sync");
            }
        }
        let id = log.id();
        drop((log, store));
        let store = restart(subject, Some(seed));
        let found = contents(&store, id);
        let kept = (synced..=records.len()).find(|kept| records[..*kept].concat() == found);
        assert!(kept.is_some(), "{} bytes that are no prefix of at least {synced}", found.len());
        commit(&store, |t| t.delete(id));
    }
}

fn client_prefix(subject: &mut dyn Subject) {
    for seed in 0..12 {
        let store = subject.store();
        let mut file = create_committed(&store, FileKind::Client);
        commit(&store, |t| t.link(format!("client/{seed}"), file.id()));
        let bytes = pattern(seed, 20_000);
        let synced = 1500 * seed as usize;
        file.append(&bytes[..synced]).expect("an append");
        file.sync().expect("a sync");
        file.append(&bytes[synced..]).expect("an append");
        let id = file.id();
        drop((file, store));
        let store = restart(subject, Some(seed));
        let found = contents(&store, id);
        assert!(found.len() >= synced && bytes.starts_with(&found), "{} bytes", found.len());
        assert_eq!(store.lookup(&format!("client/{seed}")), Some(id));
    }
}

fn uncommitted_is_gone(subject: &mut dyn Subject) {
    let store = subject.store();
    let kept = sealed(&store, b"kept");
    let mut log = create(&store, FileKind::Log);
    log.append(b"record").expect("an append");
    log.sync().expect("a sync");
    let table = finished(&store, &pattern(1, 50_000));
    let live = store.space().live;
    drop((log, table, store));
    let store = restart(subject, Some(1));
    let left: Vec<FileId> = store.list().iter().map(|file| file.id).collect();
    assert_eq!(left, [kept]);
    assert!(store.space().live < live, "the live bytes without the files that are gone");
}

/// Cuts the power in each of several lives of one log, so that bytes of an earlier life that were
/// cut off could come back if nothing kept them from it.
fn log_goes_on(subject: &mut dyn Subject) {
    let store = subject.store();
    let id = create_committed(&store, FileKind::Log).id();
    drop(store);
    let mut expected = Vec::new();
    for life in 0..8u64 {
        let store = subject.store();
        let mut log = store.reopen(id).expect("an unsealed log reopens");
        let synced = pattern(life, 300 + 1000 * life as usize % 5000);
        log.append(&synced).expect("an append");
        log.sync().expect("a sync");
        expected.extend_from_slice(&synced);
        let unsynced: Vec<Vec<u8>> = (0..5).map(|n| pattern(100 + life * 5 + n, 2000)).collect();
        for record in &unsynced {
            log.append(record).expect("an append");
        }
        drop((log, store));
        let store = restart(subject, Some(life));
        let found = contents(&store, id);
        let kept = (0..=unsynced.len()).find(|kept| {
            found.len() == expected.len() + 2000 * kept
                && found.starts_with(&expected)
                && found[expected.len()..] == unsynced[..*kept].concat()
        });
        assert!(kept.is_some(), "life {life}: {} bytes that are no prefix", found.len());
        expected = found;
        drop(store);
        // A second cut before anything is written finds the same.
        let store = restart(subject, Some(life + 100));
        assert_contents(&store, id, &expected);
    }
    let store = subject.store();
    let mut log = store.reopen(id).expect("an unsealed log reopens");
    log.finish().expect("a finish");
    commit(&store, |t| t.seal(id, note("sealed")));
    assert_contents(&store, id, &expected);
}

fn changes_survive(subject: &mut dyn Subject) {
    let store = subject.store();
    let files: Vec<FileId> = (0..5).map(|n| sealed(&store, &pattern(n, 40_000))).collect();
    commit(&store, |t| t.link("a", files[0]).link("b", files[1]).link("c", files[2]));
    commit(&store, |t| t.link("d", files[2]).unlink("c"));
    commit(&store, |t| t.rename("a", "b").trim(files[3], 4096, 8 * 4096));
    commit(&store, |t| t.delete(files[4]).annotate(files[0], note("moved")));
    let before = dump(&store);
    drop(store);
    for power_cut in [Some(1), None, Some(2)] {
        let store = restart(subject, power_cut);
        assert_eq!(dump(&store), before, "after {power_cut:?}");
        let reader = store.open(files[3]).expect("a trimmed file opens");
        refused!(read(&*reader, 4096, 8192), StoreError::OutOfRange { .. });
        assert!(read(&*reader, 0, 4096).expect("a read") == pattern(3, 40_000)[..4096]);
        let tail = read(&*reader, 8 * 4096, 40_000).expect("a read");
        assert!(tail == pattern(3, 40_000)[8 * 4096..]);
    }
}

fn ids_not_reused(subject: &mut dyn Subject) {
    let mut last = FileId::STORE;
    for seed in 0..10 {
        let store = subject.store();
        let id = sealed(&store, b"x");
        assert!(id > last, "id {id} comes after id {last}");
        last = id;
        commit(&store, |t| t.delete(id));
        drop(store);
        restart(subject, (seed % 2 == 0).then_some(seed));
    }
}

fn empty_store(subject: &mut dyn Subject) {
    let before = dump(&subject.store());
    assert_eq!(before.len(), 1, "an empty store lists no files");
    for power_cut in [Some(1), None, Some(2)] {
        assert_eq!(dump(&restart(subject, power_cut)), before);
    }
}
