//! [`Transaction`]: several reads and writes that take effect as if they were done at once, and
//! [`TransactionScan`].
//!
//! - All reads are at the moment at which it began, with its own writes. The commit succeeds if no
//!   key that was read has been written since, even if it had no value, and no key of the scanned
//!   part of a range. Otherwise it fails with [`ErrorKind::Conflict`](crate::ErrorKind::Conflict),
//!   and nothing is written. The expiry of a value that was read counts as a write.
//! - So committed transactions, batches and conditional writes are serializable.
//! - It takes no locks, and delays no other client. While it is open, its snapshot keeps the space
//!   of old entries from being freed.
//! - The memory of open transactions together is at most an eighth of the memory budget.
//!
//! Any thread may use a transaction; one thread at a time uses a scan.

use bytes::Bytes;
use terrace_lsm::{Bounds, Durability, KeySpaceId, ReadOptions};

use crate::identity::Identity;
use crate::{Error, KeySpace, Snapshot};

/// Several reads and writes that take effect as if they were done at once, by
/// [`commit`](Self::commit). If it is dropped before, it has written nothing.
///
/// Its own methods are for the default key space; [`key_space`](Self::key_space) has them for any
/// other. [`Db::transact`](crate::Db::transact) repeats one that conflicts.
///
/// ```
/// # use std::sync::Arc;
/// # use terrace::{Db, ErrorKind, MemoryStore, Options};
/// # fn main() -> Result<(), terrace::Error> {
/// # let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
/// let (rooms, guests) = (db.create_key_space("rooms")?, db.create_key_space("guests")?);
/// rooms.put(b"7", b"free")?;
/// let transaction = db.transaction()?;
/// if transaction.key_space(&rooms)?.get(b"7")?.as_deref() == Some(&b"free"[..]) {
///     transaction.key_space(&rooms)?.put(b"7", b"ada")?;
///     transaction.key_space(&guests)?.put(b"ada", b"7")?;
/// }
/// // Another client is first.
/// rooms.put(b"7", b"grace")?;
/// let error = transaction.commit().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Conflict);
/// assert_eq!(guests.get(b"ada")?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Transaction {
    pub(crate) inner: terrace_lsm::Transaction,
    pub(crate) of: Identity,
    pub(crate) reads: ReadOptions,
    pub(crate) durability: Durability,
}

impl Transaction {
    /// The transaction for reads and writes of a key space.
    pub fn key_space<'a>(&'a self, space: &'a KeySpace) -> Result<TransactionKeySpace<'a>, Error> {
        self.of.check(space)?;
        Ok(TransactionKeySpace { transaction: self, space })
    }

    /// Snapshot of the transaction. Reads of the snapshot are not remembered: a later write of such
    /// a key is no conflict.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { inner: self.inner.snapshot().clone(), of: self.of, reads: self.reads }
    }

    /// The value under `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.inner.get(KeySpaceId::DEFAULT, key, self.reads)?)
    }

    /// Whether there is a value under `key`.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.inner.contains(KeySpaceId::DEFAULT, key, self.reads)?)
    }

    /// The keys and values in the range, in order, from both ends, with the transaction's own
    /// writes, even later ones if the scan has not passed their keys. The part of the range that
    /// the scan has passed counts as read; while it is open, all of the range does.
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<TransactionScan, Error> {
        Ok(TransactionScan(self.inner.scan(KeySpaceId::DEFAULT, &bounds.into())?))
    }

    /// Writes `value` under `key` when the transaction is committed.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        Ok(self.inner.put(KeySpaceId::DEFAULT, key, value)?)
    }

    /// Removes `key` when the transaction is committed. The key does not count as read.
    pub fn delete(&self, key: &[u8]) -> Result<(), Error> {
        Ok(self.inner.delete(KeySpaceId::DEFAULT, key)?)
    }

    /// Removes all keys of the range when the transaction is committed. The range does not count as
    /// read.
    pub fn delete_range(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        Ok(self.inner.delete_range(KeySpaceId::DEFAULT, &bounds.into())?)
    }

    /// Applies all writes as a batch, if no key that was read has been written since; otherwise
    /// fails with [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) and applies nothing. A
    /// transaction without writes always succeeds.
    pub fn commit(self) -> Result<(), Error> {
        let durability = self.durability;
        self.commit_with(durability)
    }

    /// The same, with its own durability.
    pub fn commit_with(self, durability: Durability) -> Result<(), Error> {
        Ok(self.inner.commit(durability)?)
    }
}

/// A [`Transaction`] for reads and writes of one key space, from [`Transaction::key_space`].
#[derive(Clone, Copy, Debug)]
pub struct TransactionKeySpace<'a> {
    pub(crate) transaction: &'a Transaction,
    pub(crate) space: &'a KeySpace,
}

impl TransactionKeySpace<'_> {
    /// See [`Transaction::get`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        let Transaction { inner, reads, .. } = self.transaction;
        inner.get(self.space.id(), key, *reads).map_err(|error| self.space.explain(error))
    }

    /// See [`Transaction::contains`].
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        let Transaction { inner, reads, .. } = self.transaction;
        inner.contains(self.space.id(), key, *reads).map_err(|error| self.space.explain(error))
    }

    /// See [`Transaction::scan`].
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<TransactionScan, Error> {
        let scan = self.transaction.inner.scan(self.space.id(), &bounds.into());
        scan.map(TransactionScan).map_err(|error| self.space.explain(error))
    }

    /// See [`Transaction::put`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        Ok(self.transaction.inner.put(self.space.id(), key, value)?)
    }

    /// See [`Transaction::delete`].
    pub fn delete(&self, key: &[u8]) -> Result<(), Error> {
        Ok(self.transaction.inner.delete(self.space.id(), key)?)
    }

    /// See [`Transaction::delete_range`].
    pub fn delete_range(&self, bounds: impl Into<Bounds>) -> Result<(), Error> {
        Ok(self.transaction.inner.delete_range(self.space.id(), &bounds.into())?)
    }
}

/// The entries of a range in order, as a [`Transaction`] sees them. `scan.rev()` goes backward.
/// Ends after the first error.
#[derive(Debug)]
pub struct TransactionScan(terrace_lsm::TransactionScan);

impl Iterator for TransactionScan {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|entry| Ok(entry?))
    }
}

impl DoubleEndedIterator for TransactionScan {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|entry| Ok(entry?))
    }
}

impl std::iter::FusedIterator for TransactionScan {}
