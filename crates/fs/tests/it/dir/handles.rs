//! Few handles: a store of many files under a limit on open files. Closing a handle must lose no
//! bytes of a file that is still in use.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{Annotation, FileKind, FileReader, StoreError, Transaction};
use terrace_env::{Cause, FileId, Store, runner};
use terrace_fs::dir::{DirStore, Files, MemoryFiles};

use super::world::{create, open, sealed, try_create};

/// The most handles in these tests: a tenth of the files.
const HANDLES: usize = 12;

fn few_handles() -> MemoryFiles {
    MemoryFiles::new().with_handles(HANDLES)
}

fn bytes_of(n: usize) -> Vec<u8> {
    vec![n as u8; 5000 + n]
}

fn read(reader: &dyn FileReader, expected: &[u8]) {
    let mut found = vec![0; expected.len()];
    reader.read_at(0, &mut found, Cause::Read).expect("a read");
    assert!(found == expected, "file {}", reader.id());
}

fn delete(store: &Arc<dyn Store>, id: FileId) -> Result<(), StoreError> {
    let mut transaction = Transaction::new();
    transaction.delete(id);
    store.commit(transaction)
}

/// Seals this many tables in one transaction, as a flush does: all have a writer until then.
fn flush(store: &Arc<dyn Store>, count: usize) -> Vec<FileId> {
    let mut writers: Vec<_> = (0..count).map(|_| create(store, FileKind::Table)).collect();
    let mut transaction = Transaction::new();
    for (n, writer) in writers.iter_mut().enumerate() {
        writer.append(&bytes_of(n)).expect("an append");
        writer.finish().expect("a finish");
        transaction.seal(writer.id(), Annotation::default());
    }
    store.commit(transaction).expect("a commit");
    writers.iter().map(|writer| writer.id()).collect()
}

#[test]
fn ten_times_more_files_than_handles_are_written_and_read() {
    let files = few_handles();
    let store = open(&files).expect("an empty store");
    let ids = flush(&store, 10 * HANDLES);
    assert!(files.handles() <= HANDLES, "{} handles", files.handles());
    let readers: Vec<_> = ids.iter().map(|id| store.open(*id).expect("a reader")).collect();
    for _ in 0..2 {
        for (n, reader) in readers.iter().enumerate() {
            read(&**reader, &bytes_of(n));
            assert!(files.handles() <= HANDLES, "{} handles", files.handles());
        }
    }
    // All bytes are durable, also those of files whose handles were closed.
    let files = files.power_cut(&mut Random::seeded(1)).with_handles(HANDLES);
    let store = open(&files).expect("the store opens after a power cut");
    for (n, id) in ids.iter().enumerate() {
        read(&*store.open(*id).expect("a reader"), &bytes_of(n));
    }
}

#[test]
fn threads_read_more_files_than_there_are_handles() {
    let files = few_handles();
    let store = open(&files).expect("an empty store");
    let ids = flush(&store, 3 * HANDLES);
    let readers: Vec<_> = ids.iter().map(|id| store.open(*id).expect("a reader")).collect();
    let readers = Arc::new(readers);
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            let (readers, files) = (Arc::clone(&readers), files.clone());
            runner::spawn("reader", move || {
                let mut random = Random::seeded(seed);
                for _ in 0..3000 {
                    let n = random.random_range(0..readers.len());
                    read(&*readers[n], &bytes_of(n));
                    assert!(files.handles() <= HANDLES, "{} handles", files.handles());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join());
}

#[test]
fn logs_that_are_written_together_share_few_handles() {
    let files = few_handles();
    let store = open(&files).expect("an empty store");
    let mut logs: Vec<_> = (0..3 * HANDLES).map(|_| create(&store, FileKind::Log)).collect();
    let mut transaction = Transaction::new();
    for log in &logs {
        transaction.create(log.id(), Annotation::default());
    }
    store.commit(transaction).expect("a commit");
    for round in 0..3 {
        for log in &mut logs {
            log.append(&[round; 700]).expect("an append");
            log.sync().expect("a sync");
        }
    }
    let ids: Vec<FileId> = logs.iter().map(|log| log.id()).collect();
    let files = files.power_cut(&mut Random::seeded(1)).with_handles(HANDLES);
    let store = open(&files).expect("the store opens after a power cut");
    for id in ids {
        let expected: Vec<u8> = (0..3).flat_map(|round| [round; 700]).collect();
        read(&*store.open(id).expect("a reader"), &expected);
    }
}

#[test]
fn a_deleted_file_is_read_on_after_its_handle_was_closed() {
    let files = few_handles();
    let store = open(&files).expect("an empty store");
    let ids = flush(&store, 4 * HANDLES);
    let readers: Vec<_> = ids.iter().map(|id| store.open(*id).expect("a reader")).collect();
    delete(&store, ids[0]).expect("a commit");
    for _ in 0..2 {
        for (n, reader) in readers.iter().enumerate() {
            read(&**reader, &bytes_of(n));
        }
    }
    let name = format!("{:06}.table", ids[0].0);
    assert!(files.bytes(&name).is_some(), "the file keeps its name as long as it is read");
    assert_eq!(store.space().pinned.0, bytes_of(0).len() as u64);
    drop(readers);
    assert!(files.bytes(&name).is_none(), "the last reader removes the file");
}

#[test]
fn a_file_stays_if_the_commit_that_deletes_it_fails() {
    for has_reader in [false, true] {
        // The commit writes the journal, then syncs it.
        for operation in 0..2 {
            let files = MemoryFiles::new();
            let store = open(&files).expect("an empty store");
            let id = sealed(&store, &bytes_of(3));
            let reader = has_reader.then(|| store.open(id).expect("a reader"));
            files.fail_at(files.operations() + operation, ErrorKind::Other);
            delete(&store, id).expect_err("a commit whose journal fails");
            drop((reader, store));
            let name = format!("{:06}.table", id.0);
            assert!(files.bytes(&name).is_some(), "{name}, {has_reader}, {operation}");
            // The failed commit may take effect or not after a power cut.
            for seed in 0..8 {
                let files = files.power_cut(&mut Random::seeded(seed));
                let store = open(&files).expect("the store opens");
                let found = store.open(id).map(|reader| read(&*reader, &bytes_of(3)));
                assert!(matches!(found, Ok(()) | Err(StoreError::NotFound(_))), "{found:?}");
            }
        }
    }
}

#[test]
fn a_deleted_file_that_is_read_leaves_no_trace_in_a_closed_store() {
    for closes in [true, false] {
        let files = few_handles();
        let store = DirStore::open_on(Arc::new(files.clone()), Default::default());
        let directory = store.expect("an empty store");
        let store: Arc<dyn Store> = Arc::clone(&directory) as _;
        let id = sealed(&store, &bytes_of(1));
        let reader = store.open(id).expect("a reader");
        delete(&store, id).expect("a commit");
        if closes {
            directory.close();
            let mut bytes = [0];
            let error = reader.read_at(0, &mut bytes, Cause::Read).expect_err("a closed store");
            assert!(matches!(error, StoreError::Closed), "{error}");
        }
        drop((store, directory));
        let checked = DirStore::check_on(Arc::new(files.copy()), &mut |_, _| {}).expect("a check");
        assert!(checked.problems.is_empty(), "{:?}", checked.problems);
        assert_eq!((checked.closed, checked.leftovers.is_empty()), (closes, closes));
        drop(reader);
        assert_eq!(files.bytes(&format!("{:06}.table", id.0)), None);
    }
}

/// Writes tables at the same time, and commits each by itself. Returns the acknowledged tables, and
/// the first error.
fn flush_under_failure(store: &Arc<dyn Store>) -> (Vec<(usize, FileId)>, Option<StoreError>) {
    let (mut first, mut sealed) = (None, Vec::new());
    let mut note = |error| {
        first.get_or_insert(error);
    };
    let mut writers = Vec::new();
    for n in 0..HANDLES {
        let written = try_create(store, FileKind::Table).and_then(|mut writer| {
            writer.append(&bytes_of(n))?;
            writer.finish()?;
            Ok(writer)
        });
        match written {
            Ok(writer) => writers.push((n, writer)),
            Err(error) => note(error),
        }
    }
    for (n, writer) in &writers {
        let mut transaction = Transaction::new();
        transaction.seal(writer.id(), Annotation::default());
        match store.commit(transaction) {
            Ok(()) => sealed.push((*n, writer.id())),
            Err(error) => note(error),
        }
    }
    (sealed, first)
}

#[test]
fn a_failure_of_any_operation_with_few_handles_fails_the_commit_that_needs_it() {
    for operation in 0.. {
        let files = few_handles();
        let store = open(&files).expect("an empty store");
        let first = files.operations();
        files.fail_at(first + operation, ErrorKind::Other);
        let (sealed, error) = flush_under_failure(&store);
        let has_failed = files.operations() > first + operation;
        assert_eq!(error.is_some(), has_failed, "operation {operation}: {error:?}");
        for seed in 0..4 {
            let files = files.power_cut(&mut Random::seeded(seed)).with_handles(HANDLES);
            let store = open(&files).expect("the store opens after a power cut");
            for (n, id) in &sealed {
                read(&*store.open(*id).expect("an acknowledged table"), &bytes_of(*n));
            }
        }
        if !has_failed {
            assert!(operation > 3 * HANDLES as u64, "{operation} operations");
            break;
        }
    }
}

#[test]
fn handles_that_the_rest_of_the_program_takes_are_given_up() {
    let files = few_handles();
    let store = open(&files).expect("an empty store");
    let ids = flush(&store, HANDLES);
    let readers: Vec<_> = ids.iter().map(|id| store.open(*id).expect("a reader")).collect();
    // The journal has one handle, and one is left for all tables.
    for taken in 0..HANDLES - 1 {
        files.take_handles(taken);
        for (n, reader) in readers.iter().enumerate() {
            read(&**reader, &bytes_of(n));
        }
    }
    let writes = || sealed(&store, b"one more");
    files.take_handles(HANDLES - 2);
    writes();
    // No handle is left: the error names the limit and the number needed, and the store still works
    // afterwards.
    files.take_handles(2 * HANDLES);
    let read_all = |readers: &[Arc<dyn FileReader>]| {
        let mut byte = [0];
        readers.iter().try_for_each(|reader| reader.read_at(0, &mut byte, Cause::Read))
    };
    let error = read_all(&readers).expect_err("no handle").to_string();
    let expected = ["expected 6 open files", "limit of 12", "ulimit -n"];
    assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    files.take_handles(0);
    read_all(&readers).expect("handles again");
    writes();
}

#[test]
fn more_actors_than_handles_wait_for_each_other() {
    for seed in 0..20 {
        let files = MemoryFiles::new().with_handles(6).with_sync_time(Duration::from_millis(1));
        runner::simulate(seed, || {
            let store = open(&files).expect("an empty store");
            let actors: Vec<_> = (0..10)
                .map(|n| {
                    let store = Arc::clone(&store);
                    runner::spawn("client", move || {
                        for i in 0..6 {
                            let id = sealed(&store, &bytes_of(n * i));
                            let reader = store.open(id).expect("a reader");
                            delete(&store, id).expect("a commit");
                            read(&*reader, &bytes_of(n * i));
                        }
                    })
                })
                .collect();
            actors.into_iter().for_each(|actor| actor.join());
            assert!(store.list().is_empty());
        });
        let tables = files.list().expect("a list").into_iter().filter(|n| n.ends_with("table"));
        assert_eq!(tables.count(), 0, "deleted files are gone");
    }
}
