//! What the tests of the directory store share: stores in memory and on disk, and their contents.

use std::sync::Arc;

use terrace_env::Store;
use terrace_env::store::StoreError;
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
