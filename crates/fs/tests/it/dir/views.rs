//! Files of a directory that are mapped for reading: which ones are, and what happens to one that
//! is trimmed, deleted or cut short meanwhile.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use terrace_env::store::{Annotation, FileKind, StoreError, Transaction};
use terrace_env::{Cause, FileId, Store};
use terrace_fs::Access;
use terrace_fs::dir::{DirOptions, DirStore};

use super::world::{create, sealed};

const BLOCK: usize = terrace_fs::BLOCK;

/// A store in a directory of the host, and that directory.
struct World {
    dir: TempDir,
    store: Arc<DirStore>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir, Access::ReadWrite);
        Self { dir, store }
    }

    /// Writes and seals a table.
    fn sealed(&self, bytes: &[u8]) -> FileId {
        sealed(&(Arc::clone(&self.store) as Arc<dyn Store>), bytes)
    }

    /// The path of the only table.
    fn table(&self) -> PathBuf {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.extension().is_some_and(|kind| kind == "table")).expect("a table")
    }

    fn commit(&self, change: impl FnOnce(&mut Transaction)) {
        let mut transaction = Transaction::new();
        change(&mut transaction);
        self.store.commit(transaction).expect("a commit");
    }
}

fn open(dir: &TempDir, access: Access) -> Arc<DirStore> {
    DirStore::open(dir.path(), DirOptions { access }).expect("a store")
}

fn contents() -> Vec<u8> {
    (0..10 * BLOCK + 100).map(|at| (at / 7) as u8).collect()
}

/// Whether the file is mapped, with these bytes.
fn is_mapped(store: &DirStore, id: FileId, bytes: &[u8]) -> bool {
    let mapped = store.open(id).expect("a reader").mapped();
    mapped.is_some_and(|mapped| {
        assert!((*mapped).as_ref() == bytes);
        true
    })
}

#[test]
fn sealed_files_are_mapped_and_no_others() {
    let (world, bytes) = (World::new(), contents());
    let id = world.sealed(&bytes);
    assert!(is_mapped(&world.store, id, &bytes));
    for kind in [FileKind::Log, FileKind::Client] {
        let mut writer = create(&(Arc::clone(&world.store) as Arc<dyn Store>), kind);
        writer.append(&bytes).expect("an append");
        world.commit(|transaction| {
            transaction.create(writer.id(), Annotation::default());
        });
        assert!(!is_mapped(&world.store, writer.id(), &bytes), "{kind:?}");
    }
    world.store.close();
    let reader = open(&world.dir, Access::ReadOnly);
    assert!(is_mapped(&reader, id, &bytes));
    drop(reader);
    // A writer next to it may punch bytes out at any time.
    let reader = open(&world.dir, Access::Beside);
    assert!(!is_mapped(&reader, id, &bytes));
}

#[test]
fn bytes_that_are_trimmed_stay_until_the_mapping_ends() {
    let (world, bytes) = (World::new(), contents());
    let id = world.sealed(&bytes);
    let mapped = world.store.open(id).expect("a reader").mapped().expect("a mapped file");
    let allocated = || fs::metadata(world.table()).unwrap().blocks();
    let before = allocated();
    world.commit(|transaction| {
        transaction.trim(id, 0, 8 * BLOCK as u64).annotate(id, Annotation::default());
    });
    assert!((*mapped).as_ref() == bytes, "the bytes of the mapping");
    assert_eq!(allocated(), before);
    assert!(!is_mapped(&world.store, id, &bytes), "a file with trimmed parts");
    drop(mapped);
    assert_eq!(allocated(), before - 8 * BLOCK as u64 / 512);
}

#[test]
fn a_file_that_is_deleted_goes_when_its_mapping_ends() {
    let (world, bytes) = (World::new(), contents());
    let id = world.sealed(&bytes);
    let mapped = world.store.open(id).expect("a reader").mapped().expect("a mapped file");
    let path = world.table();
    world.commit(|transaction| {
        transaction.delete(id);
    });
    assert!((*mapped).as_ref() == bytes && path.exists());
    drop(mapped);
    assert!(!path.exists());
}

#[test]
fn a_mapping_outlives_its_store() {
    let (world, bytes) = (World::new(), contents());
    let id = world.sealed(&bytes);
    let mapped = world.store.open(id).expect("a reader").mapped().expect("a mapped file");
    let reader = world.store.open(id).expect("a reader");
    world.store.close();
    assert!(reader.mapped().is_none(), "a closed store maps nothing");
    drop(reader);
    assert!(is_mapped(&open(&world.dir, Access::ReadWrite), id, &bytes), "the lock is free");
    assert!((*mapped).as_ref() == bytes);
}

#[test]
fn a_file_that_was_cut_short_is_an_error_and_not_mapped() {
    let (world, bytes) = (World::new(), contents());
    let id = world.sealed(&bytes);
    let reader = world.store.open(id).expect("a reader");
    let file = fs::File::options().write(true).open(world.table()).unwrap();
    file.set_len(bytes.len() as u64 - 1).unwrap();
    assert!(reader.mapped().is_none());
    let error = reader.read_at(0, &mut vec![0; bytes.len()], Cause::Read).unwrap_err();
    assert!(matches!(error, StoreError::Corruption { .. }), "{error}");
}
