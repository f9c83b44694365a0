//! Common parts of the tests of the directory store: stores in memory and on disk, and their
//! contents.

use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileKind, FileWriter, PlacementHint, Rank, StoreError, Transaction,
};
use terrace_env::{Cause, FileId, Store};
use terrace_fs::Access;
use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};

/// Opens a store for writing.
pub(super) fn open(files: &MemoryFiles) -> Result<Arc<dyn Store>, StoreError> {
    open_for(files, Access::ReadWrite)
}

/// Opens a store.
pub(super) fn open_for(files: &MemoryFiles, access: Access) -> Result<Arc<dyn Store>, StoreError> {
    let store = DirStore::open_on(Arc::new(files.clone()), DirOptions { access })?;
    Ok(store)
}

/// Starts a file.
pub(super) fn create(store: &Arc<dyn Store>, kind: FileKind) -> Box<dyn FileWriter> {
    try_create(store, kind).expect("a new file")
}

/// Starts a file, or returns the error.
pub(super) fn try_create(
    store: &Arc<dyn Store>,
    kind: FileKind,
) -> Result<Box<dyn FileWriter>, StoreError> {
    let (hint, rank, cause) = (PlacementHint::default(), Rank::Log, Cause::Client);
    let options = CreateOptions {
        kind,
        hint,
        size: None,
        rank,
        reservation: None,
        group: None,
        offload: false,
        cause,
    };
    store.create(&options)
}

/// Writes and seals a table.
pub(super) fn sealed(store: &Arc<dyn Store>, bytes: &[u8]) -> FileId {
    let mut writer = create(store, FileKind::Table);
    writer.append(bytes).expect("an append");
    writer.finish().expect("a finish");
    let mut transaction = Transaction::new();
    transaction.seal(writer.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
    writer.id()
}
