//! [`Ingest`]: writes sorted input directly into tables, without log and memtable.
//!
//! - Keys come in order, each once, key space by key space in the order of their creation. A key is
//!   refused and left out, and the ingest goes on, if the key is out of order, if it or its value
//!   is too long, or if its key space was dropped before the key space's first key came. If a key
//!   space is dropped later, [`Ingest::finish`] fails.
//! - Nothing is visible before [`Ingest::finish`]. If that succeeds, all of it is visible and
//!   durable.
//! - Space for the tables is taken while keys come. If there is too little, and after any other
//!   error of the medium, the ingest has ended and leaves no trace.
//!
//! One thread at a time uses an ingest; other threads can read and write the store meanwhile.

use terrace_lsm::{Ingested, KeySpaceId};

use crate::identity::Identity;
use crate::{Error, KeySpace};

/// Sorted input on its way into a store, from [`Db::ingest`](crate::Db::ingest). It goes into
/// tables directly, without log and memtable, in bounded memory; no entry is visible until
/// [`finish`](Self::finish). If it is dropped before that, it leaves no trace.
///
/// ```
/// # use std::sync::Arc;
/// # use terrace::{Db, MemoryStore, Options};
/// # fn main() -> Result<(), terrace::Error> {
/// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
/// let mut ingest = db.ingest()?;
/// for number in 0..1000u32 {
///     ingest.put(&number.to_be_bytes(), b"value")?;
/// }
/// assert!(db.get(&7u32.to_be_bytes())?.is_none());
/// assert_eq!(ingest.finish()?.entries, 1000);
/// assert!(db.get(&7u32.to_be_bytes())?.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Ingest {
    pub(crate) inner: terrace_lsm::Ingest,
    pub(crate) of: Identity,
}

impl Ingest {
    /// Adds a key of the default key space, after all earlier keys. Each key comes once. A key that
    /// is out of order or too long is refused and left out; an error of the medium ends the ingest.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        Ok(self.inner.put(KeySpaceId::DEFAULT, key, value)?)
    }

    /// The ingest for keys of a key space. Key spaces come in the order of their creation.
    pub fn key_space<'a>(&'a mut self, space: &'a KeySpace) -> Result<IngestKeySpace<'a>, Error> {
        self.of.check(space)?;
        Ok(IngestKeySpace { inner: &mut self.inner, space })
    }

    /// Number of keys so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.inner.entries()
    }

    /// Makes everything visible at once: durable, newer than all earlier writes, and not seen by
    /// earlier snapshots. After an error no entry is there. Writers wait while memtables with the
    /// same keys are flushed.
    pub fn finish(self) -> Result<Ingested, Error> {
        Ok(self.inner.finish()?)
    }
}

/// An [`Ingest`] for keys of one key space, from [`Ingest::key_space`].
#[derive(Debug)]
pub struct IngestKeySpace<'a> {
    inner: &'a mut terrace_lsm::Ingest,
    space: &'a KeySpace,
}

impl IngestKeySpace<'_> {
    /// See [`Ingest::put`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let id = self.space.id();
        self.inner.put(id, key, value).map_err(|error| self.space.explain(error))
    }
}
