//! Tests of opening a directory: exclusion of other openings, changes to the directory, and refused
//! directories.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use terrace_env::store::{Annotation, FileKind, StoreError, Transaction};
use terrace_env::{Cause, Store};
use terrace_fs::Access;
use terrace_fs::dir::{DirOptions, DirStore, Files, MemoryFiles};

use super::world::{create, open, open_for, sealed};

const READ_ONLY: DirOptions = DirOptions { access: Access::ReadOnly };

fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(path).expect("a directory");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        (name, std::fs::read(entry.path()).expect("a file"))
    };
    entries.map(read).collect()
}

#[test]
fn a_second_writer_is_told_that_the_store_is_open() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let first = DirStore::open(directory.path(), DirOptions::default()).expect("a new store");
    for options in [DirOptions::default(), READ_ONLY] {
        let error = DirStore::open(directory.path(), options).expect_err("a second opener");
        assert!(matches!(&error, StoreError::InUse(_)), "{error}");
    }
    drop(first);
    let readers = [READ_ONLY, READ_ONLY].map(|o| DirStore::open(directory.path(), o));
    assert!(readers.iter().all(Result::is_ok), "any number may read");
    DirStore::open(directory.path(), DirOptions::default()).expect_err("readers keep writers out");
}

#[test]
fn a_reader_writes_nothing_at_all() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let store: Arc<dyn Store> = DirStore::open(path, DirOptions::default()).expect("a new store");
    let id = sealed(&store, b"a table");
    let mut log = create(&store, FileKind::Log);
    let mut transaction = Transaction::new();
    transaction.create(log.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
    log.append(b"a record").expect("an append");
    log.sync().expect("a sync");
    let log_id = log.id();
    // A file that was never committed, as a crash leaves it.
    let leftover = create(&store, FileKind::Table);
    let left = path.join(format!("{:06}.table", leftover.id()));
    drop((log, leftover, store));
    std::fs::write(left, b"left over").expect("a write");

    let before = contents(path);
    let store = DirStore::open(path, READ_ONLY).expect("the store opens for reading");
    let mut bytes = [0; 8];
    store.open(log_id).expect("the log").read_at(0, &mut bytes, Cause::Read).expect("a read");
    assert_eq!(&bytes, b"a record");
    assert_eq!(store.list().len(), 2);
    let mut transaction = Transaction::new();
    transaction.delete(id);
    assert!(matches!(store.commit(transaction), Err(StoreError::ReadOnly(_))));
    assert!(matches!(store.reopen(log_id).map(drop), Err(StoreError::ReadOnly(_))));
    drop(store);
    assert!(contents(path) == before, "nothing has changed");
    let store = DirStore::open(path, DirOptions::default()).expect("the store opens for writing");
    assert_eq!(store.list().len(), 2);
    drop(store);
    assert_eq!(before.len(), contents(path).len() + 1, "the leftover is removed by a writer");
}

#[test]
fn handles_of_a_closed_store_change_and_read_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let first = DirStore::open(path, DirOptions::default()).expect("a new store");
    let store: Arc<dyn Store> = Arc::clone(&first) as Arc<dyn Store>;
    let (mut log, mut table) = (create(&store, FileKind::Log), create(&store, FileKind::Table));
    let mut transaction = Transaction::new();
    transaction.create(log.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
    log.append(b"a record").expect("an append");
    log.sync().expect("a sync");
    let reader = store.open(log.id()).expect("the log");
    first.close();

    // Another process may have the directory now.
    let second: Arc<dyn Store> = DirStore::open(path, DirOptions::default()).expect("the store");
    let mut other = second.reopen(log.id()).expect("the log");
    other.append(b", and one more").expect("an append");
    other.sync().expect("a sync");
    for writer in [&mut log, &mut table] {
        let refused = [writer.append(b"late"), writer.write_out(), writer.sync(), writer.finish()];
        let is_closed = |result: &Result<(), StoreError>| matches!(result, Err(StoreError::Closed));
        // A table's writer has no buffer to write out.
        assert!(refused.iter().filter(|result| is_closed(result)).count() >= 3, "{refused:?}");
    }
    assert!(matches!(reader.read_at(0, &mut [0; 8], Cause::Read), Err(StoreError::Closed)));
    drop((log, table, reader, store, first));
    let mut bytes = [0; 22];
    let id = other.id();
    drop(other);
    second.open(id).expect("the log").read_at(0, &mut bytes, Cause::Read).expect("a read");
    assert_eq!(&bytes, b"a record, and one more");
}

#[test]
fn handles_that_are_dropped_after_the_store_was_closed_change_nothing() {
    let files = MemoryFiles::new();
    let first = DirStore::open_on(Arc::new(files.clone()), DirOptions::default());
    let first = first.expect("a new store");
    let store: Arc<dyn Store> = Arc::clone(&first) as Arc<dyn Store>;
    let mut uncommitted = create(&store, FileKind::Table);
    uncommitted.append(&[7; 4096]).expect("an append");
    let id = sealed(&store, &[7; 8192]);
    let reader = store.open(id).expect("the table");
    let mut transaction = Transaction::new();
    transaction.trim(id, 0, 4096);
    store.commit(transaction).expect("a commit");
    first.close();
    // Another process may have the directory now.
    let before = files.operations();
    drop((uncommitted, reader, store, first));
    assert_eq!(files.operations(), before, "the directory was changed");
    let store = open(&files).expect("the store");
    assert_eq!(store.list().len(), 1);
    let tables = |name: &String| name.ends_with(".table");
    assert_eq!(files.list().expect("a list").iter().filter(|name| tables(name)).count(), 1);
}

#[test]
fn a_directory_of_other_things_does_not_become_a_store() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(directory.path().join("notes.txt"), b"mine").expect("a write");
    for options in [DirOptions::default(), READ_ONLY] {
        let error = DirStore::open(directory.path(), options).expect_err("no store here");
        assert!(matches!(error, StoreError::Invalid(_)), "{error}");
    }
    assert!(directory.path().join("notes.txt").exists());
    let missing = directory.path().join("missing");
    DirStore::open(&missing, READ_ONLY).expect_err("a reader makes no directory");
    assert!(!missing.exists());
    DirStore::open(missing.join("deep"), DirOptions::default()).expect("a writer makes it");
}

#[test]
fn a_store_may_be_made_at_the_root_of_an_ext_file_system() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let found = directory.path().join("lost+found");
    std::fs::create_dir(&found).expect("a directory");
    assert!(DirStore::is_blank(directory.path()).expect("a directory"));
    DirStore::open(directory.path(), DirOptions::default()).expect("a new store").close();
    DirStore::open(directory.path(), DirOptions::default()).expect("the same store");
    assert!(found.exists());
}

#[test]
fn what_a_failed_start_leaves_is_blank_and_nothing_else_is() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let blank = |name: &str| {
        let path = directory.path().join(name);
        (DirStore::is_blank(&path).expect("a directory or nothing"), path)
    };
    assert!(blank("store").0, "it is not there");
    std::fs::create_dir(blank("store").1).expect("a directory");
    for name in ["LOCK", "JOURNAL-000001", "CURRENT.new"] {
        std::fs::write(blank("store").1.join(name), b"cut").expect("a write");
        assert!(blank("store").0, "{name}");
    }
    for name in ["JOURNAL-000002", "000007.table", "CURRENT", "notes", "lock"] {
        let file = blank("store").1.join(name);
        std::fs::write(&file, b"").expect("a write");
        assert!(!blank("store").0, "{name}");
        std::fs::remove_file(file).expect("it is there");
    }
    DirStore::open(blank("store").1, DirOptions::default()).expect("a new store");
    assert!(!blank("store").0);
}

#[test]
fn a_store_whose_superblock_is_gone_is_not_started_over() {
    let files = MemoryFiles::new();
    sealed(&open(&files).expect("an empty store"), b"precious");
    files.remove("CURRENT").expect("it is there");
    let error = open(&files).err().expect("files of a store, and no superblock");
    assert!(matches!(&error, StoreError::Invalid(text) if text.contains("CURRENT")), "{error}");
}

#[test]
fn leftovers_are_removed_and_foreign_files_are_not() {
    let files = MemoryFiles::new();
    let id = sealed(&open(&files).expect("an empty store"), b"kept");
    let kept = format!("{id:06}.table");
    let leftovers = ["000100.table", "JOURNAL-000077", "CURRENT.new", "000001.log"];
    let foreign = ["notes.txt", "1.table", "JOURNAL-x"];
    for name in leftovers.iter().chain(&foreign) {
        files.create(name).expect("a file");
    }
    drop(open_for(&files, Access::ReadOnly).expect("the store opens"));
    assert!(leftovers.iter().all(|name| files.bytes(name).is_some()));
    let store = open(&files).expect("the store opens");
    let names = files.list().expect("a list");
    assert!(leftovers.iter().all(|name| !names.iter().any(|other| other == name)), "{names:?}");
    assert!(foreign.iter().all(|name| names.iter().any(|other| other == name)), "{names:?}");
    assert!(names.contains(&kept));
    let next = sealed(&store, b"next");
    assert!(next.0 > 100, "the id of a leftover is not used again: {next}");
}

#[test]
fn files_of_an_opening_that_was_killed_are_no_damage_to_a_store_that_was_closed() {
    let files = MemoryFiles::new();
    drop(open(&files).expect("an empty store"));
    let leftovers = ["CURRENT.new", "JOURNAL-000077"];
    for name in leftovers {
        files.create(name).expect("a file");
    }
    let checked = DirStore::check_on(Arc::new(files), &mut |_, _| {}).expect("a check");
    assert!(checked.closed && checked.is_clean(), "{:?}", checked.problems);
    let regions = checked.leftovers.iter().map(|leftover| leftover.region.as_str());
    let regions: Vec<&str> = regions.collect();
    assert!(
        regions.len() == 2 && regions.iter().zip(leftovers).all(|(at, name)| at.ends_with(name))
    );
}

#[test]
fn a_reader_finds_no_store_in_an_empty_directory_and_leaves_it_empty() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let error = DirStore::open(directory.path(), READ_ONLY).expect_err("no store");
    assert!(matches!(&error, StoreError::Invalid(_)), "{error}");
    assert!(contents(directory.path()).is_empty(), "{:?}", contents(directory.path()).keys());
}
