//! Small appends to a table: they gather in memory until they fill a piece of the file.

use std::io;
use std::sync::Arc;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{Annotation, FileKind, FileReader, FileWriter, StoreError, Transaction};
use terrace_env::{Cause, FileId, Store, test_seeds};
use terrace_fs::Access;
use terrace_fs::dir::MemoryFiles;

use super::world::{create, open, open_for};

/// A writer of a table that the catalog has.
fn committed(store: &Arc<dyn Store>) -> Box<dyn FileWriter> {
    let writer = create(store, FileKind::Table);
    let mut transaction = Transaction::new();
    transaction.create(writer.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
    writer
}

fn finish(store: &dyn Store, mut writer: Box<dyn FileWriter>) {
    writer.finish().expect("finished");
    let mut transaction = Transaction::new();
    transaction.seal(writer.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
}

/// A range of the file, by one of the two calls.
fn read(reader: &dyn FileReader, from: usize, len: usize) -> Result<Vec<u8>, StoreError> {
    if from.is_multiple_of(2) {
        return reader.read(from as u64, len, Cause::Read);
    }
    let mut bytes = vec![0; len];
    reader.read_at(from as u64, &mut bytes, Cause::Read).map(|()| bytes)
}

/// The sealed file that a later opening finds, verified by its checksum.
fn found(files: &MemoryFiles, id: FileId) -> Vec<u8> {
    let store = open_for(&files.copy(), Access::ReadOnly).expect("the store opens");
    let reader = store.open(id).expect("the file");
    read(&*reader, 0, reader.len() as usize).expect("a read")
}

#[test]
fn blocks_of_a_table_take_a_write_for_each_piece() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let mut writer = create(&store, FileKind::Table);
    let before = files.operations();
    let mut all = Vec::new();
    for n in 0..1000_u32 {
        let block = [n as u8; 4204];
        writer.append(&block).expect("an append");
        all.extend_from_slice(&block);
    }
    writer.finish().expect("finished");
    // 4.2 MB are 32 pieces of 128 KiB, and the rest.
    assert_eq!(files.operations() - before, 33);
    let id = writer.id();
    finish(&*store, writer);
    assert!(found(&files, id) == all);
}

#[test]
fn appends_can_be_read_at_once_whatever_fails_and_whoever_writes() {
    let mut failures = 0;
    for seed in test_seeds(30) {
        let mut random = Random::seeded(seed);
        let files = MemoryFiles::new();
        let store = open(&files).expect("an empty store");
        let mut writer = committed(&store);
        let id = writer.id();
        let reader = store.open(id).expect("the file");
        let mut all = Vec::new();
        for _ in 0..80 {
            let most = [100, 9000, 30_000, 200_000][random.random_range(0..4)];
            let mut bytes = vec![0; random.random_range(0..most)];
            random.fill_bytes(&mut bytes);
            if random.random_bool(0.3) {
                files.fail_at(files.operations(), io::ErrorKind::StorageFull);
            }
            match writer.append(&bytes) {
                Ok(()) => all.extend_from_slice(&bytes),
                Err(error) => {
                    failures += 1;
                    assert!(error.is_space(), "seed {seed}: {error}");
                }
            }
            files.fail_at(u64::MAX, io::ErrorKind::Other);
            assert_eq!(writer.len(), all.len() as u64, "seed {seed}");
            let from = random.random_range(0..=all.len());
            let len = random.random_range(0..=all.len() - from);
            let got = read(&*reader, from, len).expect("a read");
            assert!(got == all[from..from + len], "seed {seed}: {len} bytes from {from}");
            let beyond = read(&*reader, from, all.len() - from + 1);
            assert!(matches!(beyond, Err(StoreError::OutOfRange { .. })), "seed {seed}");
            match random.random_range(0..20) {
                0 => writer.sync().expect("a sync"),
                1 => {
                    drop(writer);
                    writer = store.reopen(id).expect("a writer");
                }
                _ => {}
            }
        }
        files.fail_at(files.operations(), io::ErrorKind::StorageFull);
        failures += u32::from(writer.finish().is_err());
        files.fail_at(u64::MAX, io::ErrorKind::Other);
        finish(&*store, writer);
        assert!(read(&*reader, 0, all.len()).expect("a read") == all, "seed {seed}");
        assert!(found(&files, id) == all, "seed {seed}");
    }
    assert!(failures >= 30, "{failures} appends failed");
}

#[test]
fn a_writer_that_ends_on_a_full_disk_leaves_a_shorter_file() {
    let files = MemoryFiles::new();
    let store = open(&files).expect("an empty store");
    let mut writer = committed(&store);
    let id = writer.id();
    let reader = store.open(id).expect("the file");
    writer.append(&[1; 200_000]).expect("an append that is written");
    writer.append(&[2; 5000]).expect("an append that is gathered");
    files.fail_at(files.operations(), io::ErrorKind::StorageFull);
    drop(writer);
    assert_eq!(reader.len(), 200_000);
    let mut writer = store.reopen(id).expect("a writer");
    writer.append(&[3; 100]).expect("an append");
    finish(&*store, writer);
    assert!(found(&files, id) == [vec![1; 200_000], vec![3; 100]].concat());
}
