//! Facts about a range of keys that [`Db`] has with little or no reading: whether it is empty, and
//! its approximate size. [`KeySpace`](crate::KeySpace) has the same.
//!
//! Any thread may call. A call may wait for the device, and for no other client.

use terrace_env::ByteCount;
use terrace_lsm::Bounds;

use crate::{Db, Error};

impl Db {
    /// Whether the range is empty, for example the keys of a prefix. Memory and the key ranges of
    /// tables are searched first; a scan reads only if they cannot tell.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Bounds, Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// db.put(b"tenant 7/name", b"ada")?;
    /// assert!(!db.is_empty(Bounds::prefix(b"tenant 7/"))?);
    /// assert!(db.is_empty(Bounds::prefix(b"tenant 8/"))?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_empty(&self, bounds: impl Into<Bounds>) -> Result<bool, Error> {
        self.default.is_empty(bounds)
    }

    /// Approximate bytes of tables in the range, as stored: compressed, with overwritten and
    /// deleted entries until a merge drops them. Of each table, the blocks at both ends of the
    /// range count as a whole. Entries that are only in memory and log do not count. No data is
    /// read.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Bounds, ByteCount, Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// db.put(b"a/1", &[7; 1000])?;
    /// db.flush()?;
    /// assert!(db.size_of(Bounds::prefix(b"a/"))? > ByteCount(0));
    /// assert_eq!(db.size_of(Bounds::prefix(b"b/"))?, ByteCount(0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn size_of(&self, bounds: impl Into<Bounds>) -> Result<ByteCount, Error> {
        self.default.size_of(bounds)
    }
}
