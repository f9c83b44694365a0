//! Many actors at once, failures in the middle, and space given back to the file system.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::store::{Annotation, FileKind, StoreError, Transaction};
use terrace_env::{Cause, FileId, Store, runner};
use terrace_fs::dir::{DirOptions, DirStore, Files, MemoryFiles};

use super::world::{create, open, sealed};

#[test]
fn commits_that_wait_for_a_sync_go_in_one_write() {
    let files = MemoryFiles::new().with_sync_time(Duration::from_millis(5));
    let clients = 8;
    let kept: Vec<FileId> = runner::simulate(3, || {
        let store = open(&files).expect("an empty store");
        let actors: Vec<_> = (0..clients)
            .map(|n| {
                let store = Arc::clone(&store);
                runner::spawn("client", move || -> Vec<FileId> {
                    (0..10).map(|i| sealed(&store, &vec![n; 100 * i])).collect()
                })
            })
            .collect();
        let kept: Vec<FileId> = actors.into_iter().flat_map(|actor| actor.join()).collect();
        let writes = store.io().writes[Cause::Journal as usize];
        assert!(writes < 40, "{} commits in {writes} writes", kept.len());
        kept
    });
    let files = files.power_cut(&mut Random::seeded(1)).with_sync_time(Duration::ZERO);
    let store = open(&files).expect("the store opens after a power cut");
    for (n, id) in kept.iter().enumerate() {
        let reader = store.open(*id).expect("an acknowledged file exists");
        assert_eq!(reader.len(), 100 * (n as u64 % 10), "file {id}");
    }
}

/// Written bytes of a log with appends of this size, and the number of writes.
fn log_of(appends: usize, size: usize, write_out: bool, sync_every: usize) -> (u64, u64) {
    let files = MemoryFiles::new().without_mapping();
    let store = open(&files).expect("an empty store");
    let mut log = create(&store, FileKind::Log);
    for n in 1..=appends {
        log.append(&vec![n as u8; size]).expect("an append");
        if write_out {
            log.write_out().expect("a write-out");
        }
        if n % sync_every == 0 {
            log.sync().expect("a sync");
        }
    }
    log.finish().expect("a finish");
    let io = store.io();
    (io.written_bytes[Cause::Client as usize], io.writes[Cause::Client as usize])
}

#[test]
fn small_appends_that_are_written_one_by_one_share_blocks() {
    let (gathered, few) = log_of(1000, 150, false, usize::MAX);
    let (written, many) = log_of(1000, 150, true, usize::MAX);
    assert!(few < 5 && many == 1000, "{few} and {many} writes");
    // 27 appends fit a block, in addition to the frame's head: 4050 of 4096 bytes.
    assert_eq!(written, 1000_u64.div_ceil(27) * 4096);
    assert!(written < gathered * 21 / 20, "{written} bytes, where {gathered} are buffered");
    // Synced bytes are never written again.
    assert_eq!(log_of(100, 150, true, 10).0, 10 * 4096);
    // An append that does not fit a block has blocks of its own, after the earlier bytes.
    assert_eq!(log_of(10, 5000, true, usize::MAX).0, 10 * 8192);
}

#[test]
fn threads_commit_and_read_in_a_real_directory() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store: Arc<dyn Store> =
        DirStore::open(directory.path(), DirOptions::default()).expect("a new store");
    let threads: Vec<_> = (0..4u8)
        .map(|n| {
            let store = Arc::clone(&store);
            runner::spawn("client", move || {
                for i in 0..12u8 {
                    let bytes = vec![n ^ i; 5000];
                    let id = sealed(&store, &bytes);
                    let reader = store.open(id).expect("the file opens");
                    if i % 3 == 0 {
                        let mut transaction = Transaction::new();
                        transaction.delete(id);
                        store.commit(transaction).expect("a commit");
                    }
                    let mut found = vec![0; 5000];
                    reader.read_at(0, &mut found, Cause::Read).expect("a read");
                    assert!(found == bytes, "file {id}");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join());
    assert_eq!(store.list().len(), 4 * 8);
    let tables = std::fs::read_dir(directory.path()).expect("a directory").filter(|entry| {
        let entry = entry.as_ref().expect("an entry");
        entry.path().extension().is_some_and(|extension| extension == "table")
    });
    assert_eq!(tables.count(), 4 * 8, "deleted files are gone");
}

/// Commits of three blocks each.
fn fill(store: &Arc<dyn Store>, id: FileId) -> Result<(), StoreError> {
    let mut transaction = Transaction::new();
    transaction.annotate(id, Annotation { opaque: vec![1; 10_000], ..Annotation::default() });
    store.commit(transaction)
}

fn journals(files: &MemoryFiles) -> Vec<String> {
    let names = files.list().expect("a list");
    names.into_iter().filter(|name| name.starts_with("JOURNAL")).collect()
}

#[test]
fn the_journal_rolls_as_it_grows() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let id = sealed(&store, b"kept");
    (0..100).for_each(|_| fill(&store, id).expect("a commit"));
    assert_eq!(store.io().journal_rolls, 4, "256 KiB are 22 commits of three blocks");
    assert_eq!(journals(&files), ["JOURNAL-000005"], "the old ones are removed");
}

#[test]
fn a_roll_that_fails_leaves_the_old_journal_in_force() {
    // Operations of a roll: create, three appends, sync; create, write and sync of the superblock;
    // sync.
    for step in 0..9 {
        let files = MemoryFiles::new();
        let store = open(&files).expect("an empty store");
        let id = sealed(&store, b"kept");
        for _ in 0..60 {
            // After the two operations of the commit itself.
            files.fail_at(files.operations() + 2 + step, std::io::ErrorKind::StorageFull);
            fill(&store, id).unwrap_or_else(|error| panic!("step {step}: {error}"));
        }
        assert_eq!((store.io().journal_rolls, journals(&files).len()), (0, 1), "step {step}");
        files.fail_at(u64::MAX, std::io::ErrorKind::StorageFull);
        (0..60).for_each(|_| fill(&store, id).expect("a commit"));
        assert_eq!((store.io().journal_rolls, journals(&files).len()), (1, 1), "step {step}");
    }
    // The next operations: the rename, and another sync.
    for step in 9..11 {
        let files = MemoryFiles::new();
        let store = open(&files).expect("an empty store");
        let id = sealed(&store, b"kept");
        let stopped = (0..60).find_map(|_| {
            files.fail_at(files.operations() + 2 + step, std::io::ErrorKind::Other);
            fill(&store, id).err()
        });
        assert!(matches!(stopped, Some(StoreError::Stopped(_))), "step {step}: {stopped:?}");
        drop(store);
        files.restart();
        assert_eq!(open(&files).expect("either journal will do").list().len(), 1);
    }
}

#[test]
fn a_failed_write_of_the_journal_stops_writing_and_not_reading() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let id = sealed(&store, b"kept");
    let annotate = |text: &str| {
        let mut transaction = Transaction::new();
        transaction.annotate(id, Annotation { opaque: text.into(), ..Annotation::default() });
        store.commit(transaction)
    };
    annotate("first").expect("a commit");
    files.fail_at(files.operations() + 1, std::io::ErrorKind::Other);
    let error = annotate("second").expect_err("the sync fails");
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    let error = annotate("third").expect_err("the journal's end is unknown");
    assert!(matches!(error, StoreError::Stopped(_)), "{error}");
    let mut bytes = [0; 4];
    store.open(id).expect("the file").read_at(0, &mut bytes, Cause::Read).expect("a read");
    assert_eq!(&bytes, b"kept");
    drop(store);
    files.restart();
    let store = open(&files).expect("the store opens again");
    let found = store.info(id).expect("the file").annotation.opaque.clone();
    assert!(found == b"first" || found == b"second", "{found:?}");
}

#[test]
fn a_failed_append_can_be_tried_again_and_a_failed_sync_cannot() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    for kind in [FileKind::Client, FileKind::Log] {
        let mut writer = create(&store, kind);
        let mut transaction = Transaction::new();
        transaction.create(writer.id(), Annotation::default());
        store.commit(transaction).expect("a commit");
        writer.append(b"first ").expect("an append");
        files.fail_at(files.operations(), std::io::ErrorKind::StorageFull);
        let failed = writer.append(b"second").and_then(|()| writer.sync());
        assert!(failed.as_ref().is_err_and(StoreError::is_space), "{failed:?}");
        if kind == FileKind::Client {
            writer.append(b"second").expect("there is room again");
        }
        writer.sync().expect("there is room again");
        let mut bytes = [0; 12];
        let reader = store.open(writer.id()).expect("the file");
        reader.read_at(0, &mut bytes, Cause::Read).expect("a read");
        assert_eq!(&bytes, b"first second");
        writer.append(b"third").expect("an append");
        let sync = files.operations() + u64::from(kind == FileKind::Log);
        files.fail_at(sync, std::io::ErrorKind::Other);
        writer.sync().expect_err("the sync fails");
        writer.sync().expect_err("the content of the medium is unknown");
        writer.append(b"fourth").expect_err("the content of the medium is unknown");
    }
}

/// A host may drop bytes that it could not write: the next sync of the file would succeed.
#[test]
fn a_file_whose_sync_failed_at_its_seal_is_not_sealed_by_a_second_commit() {
    for kind in [FileKind::Table, FileKind::Log, FileKind::Client] {
        let files = MemoryFiles::new();
        let store = open(&files).expect("an empty store");
        let mut writer = create(&store, kind);
        writer.append(b"some bytes").expect("an append");
        writer.finish().expect("a finish");
        let seal = || {
            let mut transaction = Transaction::new();
            transaction.seal(writer.id(), Annotation::default());
            store.commit(transaction)
        };
        files.fail_at(files.operations(), std::io::ErrorKind::Other);
        let first = seal().expect_err("the sync fails");
        assert!(first.to_string().contains("syncing file"), "{first}");
        let second = seal().expect_err("the content of the medium is unknown");
        assert_eq!(second.to_string(), first.to_string(), "{kind:?}");
        assert_eq!(store.list().len(), 0, "{kind:?}");
        sealed(&store, b"another");
        assert_eq!(store.list().len(), 1, "others go on");
    }
}

#[test]
fn a_write_out_that_fails_leaves_what_an_earlier_one_has_handed_over() {
    let files = MemoryFiles::new().without_mapping();
    let store = open(&files).expect("an empty store");
    let mut writer = create(&store, FileKind::Log);
    let mut transaction = Transaction::new();
    transaction.create(writer.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
    let id = writer.id();
    let read = |store: &Arc<dyn Store>, len: usize| {
        let mut bytes = vec![0; len];
        let reader = store.open(id).expect("the file");
        reader.read_at(0, &mut bytes, Cause::Read).expect("a read");
        bytes
    };
    writer.append(b"first ").expect("an append");
    writer.write_out().expect("a write");
    writer.append(b"second").expect("an append");
    files.fail_at(files.operations(), std::io::ErrorKind::StorageFull);
    let failed = writer.write_out();
    assert!(failed.as_ref().is_err_and(StoreError::is_space), "{failed:?}");
    // The process may be killed now: another process finds the bytes of the first write-out.
    let copy = files.copy();
    let other = open(&copy).expect("the store opens again");
    assert_eq!(other.open(id).expect("the log").len(), 6);
    assert_eq!(read(&other, 6), b"first ");
    writer.write_out().expect("there is room again");
    assert_eq!(read(&store, 12), b"first second");
    writer.append(b" third").expect("an append");
    drop(writer);
    drop(store);
    files.restart();
    let store = open(&files).expect("the store opens again");
    assert_eq!(read(&store, 12), b"first second");
}

#[test]
fn trimmed_blocks_come_free_once_older_readers_are_gone() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store: Arc<dyn Store> =
        DirStore::open(directory.path(), DirOptions::default()).expect("a new store");
    let id = sealed(&store, &vec![9; 1 << 20]);
    let path = directory.path().join(format!("{id:06}.table"));
    let used = || std::fs::metadata(&path).expect("the table").blocks() * 512;
    let before = used();
    let reader = store.open(id).expect("the file");
    let mut transaction = Transaction::new();
    transaction.trim(id, 0, 1 << 19);
    store.commit(transaction).expect("a commit");
    let mut bytes = vec![0; 1 << 20];
    reader.read_at(0, &mut bytes, Cause::Read).expect("a reader older than the trim");
    assert!(bytes.iter().all(|byte| *byte == 9));
    assert_eq!(used(), before);
    drop(reader);
    assert!(used() < before, "{} of {before} bytes are still there", used());
    let reader = store.open(id).expect("the file");
    assert!(reader.read_at(0, &mut bytes[..1], Cause::Read).is_err());
    reader.read_at(1 << 19, &mut bytes[..1 << 19], Cause::Read).expect("the rest");
}

#[test]
fn a_commit_that_is_longer_than_a_frame_is_found_again_as_a_whole() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let ids: Vec<FileId> = (0..3).map(|_| sealed(&store, b"kept")).collect();
    let mut transaction = Transaction::new();
    for number in 0..240 {
        let annotation = Annotation { opaque: vec![number; 10_000], ..Annotation::default() };
        transaction.annotate(ids[usize::from(number) % 3], annotation);
    }
    // After the two operations of the commit itself: the roll that it makes due fails.
    files.fail_at(files.operations() + 2, std::io::ErrorKind::StorageFull);
    store.commit(transaction).expect("a commit");
    assert_eq!(store.io().journal_rolls, 0);
    let copy = files.power_cut(&mut Random::seeded(1));
    let found = open(&copy).expect("the store opens again");
    for (id, last) in ids.iter().zip(237..240) {
        let info = found.info(*id).expect("the file");
        assert!(info.annotation.opaque == vec![last; 10_000], "file {id}");
    }
}

#[test]
fn an_append_of_several_frames_that_fails_leaves_none_of_them() {
    let mut failures = 0;
    for nth in 0..6 {
        let files = MemoryFiles::new().without_mapping();
        let store = open(&files).expect("an empty store");
        let mut writer = create(&store, FileKind::Log);
        let mut transaction = Transaction::new();
        transaction.create(writer.id(), Annotation::default());
        store.commit(transaction).expect("a commit");
        writer.append(b"first").expect("an append");
        writer.sync().expect("a sync");
        let name = format!("{:06}.log", writer.id());
        let before = files.bytes(&name).expect("the log").len();
        files.fail_at(files.operations() + nth, std::io::ErrorKind::StorageFull);
        if writer.append(&vec![7; 5 << 19]).is_ok() {
            // It was no write that failed, but the request for space before it.
            continue;
        }
        failures += 1;
        assert_eq!(files.bytes(&name).expect("the log").len(), before, "write {nth}");
        writer.append(b" second").expect("an append");
        writer.sync().expect("a sync");
        let found = open(&files.power_cut(&mut Random::seeded(1))).expect("the store opens again");
        let reader = found.open(writer.id()).expect("the log");
        let mut bytes = vec![0; reader.len() as usize];
        reader.read_at(0, &mut bytes, Cause::Read).expect("a read");
        assert_eq!(bytes.escape_ascii().to_string(), "first second", "write {nth}");
    }
    assert!(failures >= 2, "only {failures} of them failed");
}

#[test]
fn a_sync_of_a_clients_file_without_new_bytes_writes_nothing() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let mut writer = create(&store, FileKind::Client);
    let mut transaction = Transaction::new();
    transaction.create(writer.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
    for _ in 0..3 {
        writer.append(b"some bytes").expect("an append");
        writer.sync().expect("a sync");
        let before = (store.io().writes, store.io().flushes);
        writer.sync().expect("a sync");
        assert_eq!((store.io().writes, store.io().flushes), before);
    }
}
