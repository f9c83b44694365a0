//! The tail of a directory's log: bytes that are written out, and in no frame.

use std::sync::Arc;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{Annotation, FileKind, FileWriter, Transaction};
use terrace_env::{Cause, FileId, Store, test_seeds};
use terrace_fs::canary::Rule;
use terrace_fs::dir::{DirOptions, DirStore, Files, MemoryFiles};
use terrace_fs::inspect::Inspector;
use terrace_fs::{Access, BLOCK, Beside};

use super::world::{create, open, open_for};
use crate::canary::is_noticed;

/// The feature bit of directories whose tail may hold bytes of a log.
const TAIL_BIT: u64 = 2;

/// A log that is committed.
fn log_of(store: &Arc<dyn Store>) -> Box<dyn FileWriter> {
    let writer = create(store, FileKind::Log);
    let mut transaction = Transaction::new();
    transaction.create(writer.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
    writer
}

fn write(log: &mut Box<dyn FileWriter>, bytes: &[u8]) {
    log.append(bytes).expect("an append");
    log.write_out().expect("a write-out");
}

fn bytes_of(store: &dyn Store, id: FileId) -> Vec<u8> {
    let reader = store.open(id).expect("the log");
    let mut bytes = vec![0; reader.len() as usize];
    reader.read_at(0, &mut bytes, Cause::Read).expect("a read");
    bytes
}

/// The bytes of a log that another process finds now, by each way to open the store.
fn found(files: &MemoryFiles, id: FileId) -> Vec<u8> {
    let shared: Arc<dyn Files> = Arc::new(files.copy());
    let inspector = Inspector::files(Arc::clone(&shared)).expect("a store");
    let walk = inspector.log(id).expect("the log");
    let walked = walk.flat_map(|append| append.expect("no damage").payload).collect::<Vec<u8>>();
    let read_only = open_for(&files.copy(), Access::ReadOnly).expect("the store opens");
    let beside = open_for(&files.copy(), Access::Beside).expect("the store opens");
    let bytes = bytes_of(&*open(&files.copy()).expect("the store opens"), id);
    for (way, other) in
        [walked, bytes_of(&*read_only, id), bytes_of(&*beside, id)].iter().enumerate()
    {
        assert!(*other == bytes, "way {way}: {} instead of {} bytes", other.len(), bytes.len());
    }
    bytes
}

#[test]
fn small_write_outs_write_no_file_and_outlast_the_process() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let mut log = log_of(&store);
    let mut all = Vec::new();
    for n in 0..5000_u32 {
        let record = [n as u8; 150];
        all.extend_from_slice(&record);
        write(&mut log, &record);
        if n % 499 == 0 {
            assert!(found(&files, log.id()) == all, "after {n} appends");
            assert!(bytes_of(&*store, log.id()) == all, "after {n} appends");
        }
    }
    let writes = store.io().writes[Cause::Client as usize];
    assert!(writes < 6, "{writes} writes");
    log.sync().expect("a sync");
    assert_eq!(store.io().written_bytes[Cause::Client as usize] / BLOCK as u64, 184);
    assert!(found(&files.power_cut(&mut Random::seeded(4)), log.id()) == all);
}

#[test]
fn a_full_disk_and_a_killed_process_lose_nothing_that_was_written_out() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let mut log = log_of(&store);
    write(&mut log, b"first");
    let mut all = b"first".to_vec();
    // As many as the tail takes.
    let refused = loop {
        files.fail_at(files.operations(), std::io::ErrorKind::StorageFull);
        let record = [all.len() as u8; 1000];
        if let Err(refused) = log.append(&record).and_then(|()| log.write_out()) {
            break refused;
        }
        all.extend_from_slice(&record);
    };
    assert!(refused.is_space(), "{refused}");
    assert!(all.len() > 200_000, "{} bytes", all.len());
    assert!(found(&files, log.id()) == all);
    // There is room again.
    write(&mut log, b"more");
    assert!(found(&files, log.id()).starts_with(&all));
}

#[test]
fn an_opening_that_cannot_write_the_bytes_fails_and_the_next_one_finds_them() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let mut log = log_of(&store);
    write(&mut log, &[7; 5000]);
    let id = log.id();
    files.restart();
    drop((log, store));
    let mut refused = 0;
    for operation in 0..60 {
        let copy = files.copy();
        copy.fail_at(copy.operations() + operation, std::io::ErrorKind::StorageFull);
        match open(&copy) {
            Ok(store) => assert!(bytes_of(&*store, id) == [7; 5000], "operation {operation}"),
            Err(_) => {
                refused += 1;
                copy.restart();
                assert!(found(&copy, id) == [7; 5000], "operation {operation}");
            }
        }
    }
    assert!(refused > 5, "{refused} openings failed");
}

#[test]
fn one_log_at_a_time_has_the_tail() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let (mut one, mut other) = (log_of(&store), log_of(&store));
    let (mut bytes, mut others) = (Vec::new(), Vec::new());
    let mut random = Random::seeded(7);
    for n in 0..400 {
        let (log, all) =
            if random.random() { (&mut one, &mut bytes) } else { (&mut other, &mut others) };
        let mut record = vec![0; random.random_range(1..1500)];
        random.fill_bytes(&mut record);
        all.extend_from_slice(&record);
        write(log, &record);
        if n % 23 == 0 {
            log.sync().expect("a sync");
        }
        if n % 10 == 0 {
            assert!(found(&files, one.id()) == bytes, "after {n} appends");
            assert!(found(&files, other.id()) == others, "after {n} appends");
        }
    }
}

#[test]
fn a_log_that_is_given_up_leaves_the_tail_to_the_next() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    for round in 0..8_u8 {
        let mut log = log_of(&store);
        // A large append goes to the file at once, and leaves nothing to write out.
        let size = if round < 4 { 500 } else { 50_000 };
        write(&mut log, &vec![round; size]);
        log.write_out().expect("nothing to write out");
        match round % 4 {
            0 => log.finish().expect("a finish"),
            1 => drop(log),
            2 => log.sync().expect("a sync"),
            _ => {
                let mut transaction = Transaction::new();
                transaction.delete(log.id());
                store.commit(transaction).expect("a commit");
            }
        }
    }
    let mut last = log_of(&store);
    let writes = || store.io().writes[Cause::Client as usize];
    let before = writes();
    for _ in 0..100 {
        write(&mut last, &[9; 500]);
    }
    assert_eq!(writes(), before, "the last log has the tail");
    let kept = store.list().into_iter().map(|info| info.id).zip([0_u8, 1, 2, 4, 5, 6]);
    for (id, round) in kept {
        let size = if round < 4 { 500 } else { 50_000 };
        assert!(found(&files, id) == vec![round; size], "log {id}");
    }
}

#[test]
fn a_closed_store_needs_no_program_that_knows_the_tail() {
    let bits = |files: &MemoryFiles| {
        let inspector = Inspector::files(Arc::new(files.copy())).expect("a store");
        inspector.superblock().expect("a superblock").features.incompat
    };
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let mut log = log_of(&store);
    write(&mut log, b"some");
    assert_eq!(bits(&files), TAIL_BIT);
    drop(log);
    drop(store);
    assert_eq!(bits(&files), 0);
    // A process that dies leaves the bit, and so does a store that is opened again.
    let store = open(&files).expect("the store opens");
    assert_eq!(bits(&files), TAIL_BIT);
    drop(store);
    assert_eq!(bits(&files), 0);
}

#[test]
fn an_opening_next_to_the_writer_sees_the_tail_and_its_changes() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let mut log = log_of(&store);
    let beside = || {
        let options = DirOptions { access: Access::Beside };
        DirStore::open_on(Arc::new(files.clone()), options).expect("the store opens")
    };
    let mut all = Vec::new();
    let mut changed = beside();
    for n in 0..2000_u32 {
        assert!(!changed.has_changed().expect("a look"), "before append {n}");
        let record = vec![n as u8; 1 + n as usize % 700];
        all.extend_from_slice(&record);
        write(&mut log, &record);
        assert!(changed.has_changed().expect("a look"), "after append {n}");
        changed = beside();
        assert!(bytes_of(&*changed, log.id()) == all, "after append {n}");
        if n % 97 == 0 {
            log.sync().expect("a sync");
            changed = beside();
        }
    }
}

/// Writes a log in several lives, each of which ends with its process or by a power cut.
///
/// # Panics
/// If a life finds other bytes than a prefix of those that were written, or lacks bytes that were
/// durable.
fn live_several_times(seed: u64) {
    let mut random = Random::seeded(seed);
    let mut files = MemoryFiles::new();
    let (mut all, mut id): (Vec<u8>, Option<FileId>) = (Vec::new(), None);
    for life in 0..5 {
        let store = open(&files).expect("the store opens");
        let mut log = match id {
            None => log_of(&store),
            Some(id) => {
                let bytes = bytes_of(&*store, id);
                assert!(all.starts_with(&bytes), "seed {seed}, life {life}");
                all = bytes;
                store.reopen(id).expect("the log")
            }
        };
        id = Some(log.id());
        let mut synced = all.len();
        // A life with large records alone leaves the tail as it was.
        let sizes = if random.random_ratio(1, 3) { 33_000..60_000 } else { 1..20_000 };
        for _ in 0..random.random_range(0..60) {
            let mut record = vec![0; random.random_range(sizes.clone())];
            random.fill_bytes(&mut record);
            all.extend_from_slice(&record);
            write(&mut log, &record);
            if random.random_ratio(1, 16) {
                log.sync().expect("a sync");
                synced = all.len();
            }
        }
        let old = files.clone();
        if random.random() {
            files = files.power_cut(&mut random);
            let bytes = found(&files, log.id());
            assert!(bytes.len() >= synced, "seed {seed}, life {life}");
        } else {
            assert!(found(&files, log.id()) == all, "seed {seed}, life {life}");
        }
        old.restart();
        drop((log, store));
    }
}

#[test]
fn a_power_cut_leaves_a_prefix_and_never_older_bytes() {
    test_seeds(60).for_each(live_several_times);
}

/// A power cut takes a log's frame, and leaves records that follow it in the tail. The next process
/// writes the log to just that length, and no record.
///
/// # Panics
/// If the records then follow the bytes of the next process.
fn grow_to_the_records_of_an_older_epoch(seed: u64) {
    let mut random = Random::seeded(seed);
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let mut log = log_of(&store);
    // The frame has 262 records.
    for _ in 0..random.random_range(280..400) {
        write(&mut log, &[1; 1000]);
    }
    let files = files.power_cut(&mut random);
    let store = open(&files).expect("the store opens");
    let mut all = bytes_of(&*store, log.id());
    let mut log = store.reopen(log.id()).expect("the log");
    while all.len() < 263_000 {
        let record = [2; 33_000];
        all.extend_from_slice(&record);
        write(&mut log, &record);
    }
    assert!(found(&files, log.id()) == all, "seed {seed}");
}

#[test]
fn records_of_an_older_epoch_do_not_come_back() {
    test_seeds(60).for_each(grow_to_the_records_of_an_older_epoch);
}

#[test]
fn the_canaries_of_the_tail_are_noticed() {
    let older = grow_to_the_records_of_an_older_epoch;
    assert!(is_noticed(Rule::TailOfItsEpoch, 200, older));
    assert!(is_noticed(Rule::TailDurableAtOpening, 200, live_several_times));
}
