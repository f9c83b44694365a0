//! [`PooledFiles`]: the files of a host, with a bound on open handles.
//!
//! | call | handle |
//! |---|---|
//! | `create_pooled`, `open_pooled` | the [`HandlePool`] closes and reopens it; for store files |
//! | `create` and `open` of the trait | open until it is dropped; for journal and superblock |
//!
//! If a call finds no descriptor left, the pool closes handles, and the call is made again.

use std::io;
use std::sync::Arc;

use terrace_env::ByteCount;

use super::handle_pool::HandlePool;
use super::pooled_file::PooledFile;
use super::{FileHandle, Files, HandleLimit, Mapping, Room};
use crate::Access;

/// See the [module](self).
pub(super) struct PooledFiles {
    files: Arc<dyn Files>,
    pool: Arc<HandlePool>,
}

impl PooledFiles {
    pub(super) fn new(files: Arc<dyn Files>) -> Self {
        let pool = HandlePool::new(Arc::clone(&files));
        Self { files, pool }
    }

    /// Makes an empty file. It must keep its name as long as it is used.
    pub(super) fn create_pooled(&self, name: &str) -> io::Result<Arc<dyn FileHandle>> {
        Ok(Arc::new(PooledFile::create(&self.files, &self.pool, name)?))
    }

    /// Opens a file. It must keep its name as long as it is used.
    pub(super) fn open_pooled(
        &self,
        name: &str,
        access: Access,
    ) -> io::Result<Arc<dyn FileHandle>> {
        Ok(Arc::new(PooledFile::open(&self.files, &self.pool, name, access)?))
    }
}

impl Files for PooledFiles {
    fn list(&self) -> io::Result<Vec<String>> {
        self.pool.retry(|| self.files.list())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn FileHandle>> {
        self.pool.retry(|| self.files.create(name))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn FileHandle>> {
        self.pool.retry(|| self.files.open(name, access))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.remove(name)
    }

    fn map(&self, name: &str, size: usize) -> io::Result<Option<Box<dyn Mapping>>> {
        self.pool.retry(|| self.files.map(name, size))
    }

    fn sync(&self) -> io::Result<()> {
        self.pool.retry(|| self.files.sync())
    }

    fn unlock(&self) {
        self.files.unlock();
    }

    fn views_max(&self) -> ByteCount {
        self.files.views_max()
    }

    fn room(&self) -> io::Result<Room> {
        self.files.room()
    }

    fn handle_limit(&self) -> HandleLimit {
        self.files.handle_limit()
    }

    fn describe(&self) -> String {
        self.files.describe()
    }
}
