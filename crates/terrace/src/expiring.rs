//! Puts that expire: of [`Db`], [`KeySpace`], [`Batch`], [`Transaction`] and their parts for a key
//! space. An entry with an expiry is unseen from that date on.
//!
//! - A method `..._with_expiry` takes a date: a [`SystemTime`](std::time::SystemTime), or a
//!   [`Date`]. A method `..._with_ttl` takes a time to live, which is added to the date of the
//!   call, to the millisecond.
//! - A later put of the key without an expiry does not expire: only the last put of a key counts.
//! - A put whose date is already past acts as a delete.
//!
//! Any thread may call. Dates are those of the machine's clock ([`Db::put_with_expiry`]).

use std::time::Duration;

use terrace_env::Date;
use terrace_lsm::{KeySpaceId, Swap};

use crate::batch::BatchKeySpace;
use crate::transaction::TransactionKeySpace;
use crate::{Batch, Db, Error, KeySpace, Transaction};

impl Db {
    /// Writes `value` under `key` until a date. Then it is unseen: no read, scan or condition finds
    /// it, and older values of the key stay hidden. The next compaction of its table frees its
    /// space.
    ///
    /// The date is compared with the clock of the machine on which a read runs. An entry also
    /// expires for snapshots. If a transaction has read a value that expires before its commit, the
    /// commit is a [conflict](crate::ErrorKind::Conflict). If the clock is set back, entries that
    /// had expired may be seen again, until a compaction has replaced them.
    ///
    /// A store with such entries cannot be opened by a version of Terrace that does not know them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::{Duration, SystemTime};
    /// # use terrace::{Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// db.put_with_ttl(b"session/ada", b"a token", Duration::from_secs(1800))?;
    /// assert!(db.contains(b"session/ada")?);
    /// db.put_with_expiry(b"offer", b"half price", SystemTime::UNIX_EPOCH)?;
    /// assert!(!db.contains(b"offer")?, "that was long ago");
    /// # Ok(())
    /// # }
    /// ```
    pub fn put_with_expiry(
        &self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<(), Error> {
        self.default.put_with_expiry(key, value, expiry)
    }

    /// Writes `value` under `key` for a time to live; see
    /// [`put_with_expiry`](Self::put_with_expiry).
    pub fn put_with_ttl(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<(), Error> {
        self.default.put_with_ttl(key, value, ttl)
    }

    /// See [`compare_and_swap`](Self::compare_and_swap); the new value expires.
    pub fn compare_and_swap_with_expiry(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<Swap, Error> {
        self.default.compare_and_swap_with_expiry(key, expected, new, expiry)
    }

    /// See [`put_if`](Self::put_if); the value expires.
    pub fn put_if_with_expiry(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<bool, Error> {
        self.default.put_if_with_expiry(key, expected, value, expiry)
    }

    /// See [`put_if`](Self::put_if); the value expires after a time to live.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use terrace::{Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// // A lease: a client that finds none takes it, and renews it while it needs it.
    /// let minute = Duration::from_secs(60);
    /// assert!(db.put_if_with_ttl(b"lease", None, b"ada", minute)?);
    /// assert!(!db.put_if_with_ttl(b"lease", None, b"grace", minute)?);
    /// assert!(db.put_if_with_ttl(b"lease", Some(b"ada"), b"ada", minute)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn put_if_with_ttl(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: &[u8],
        ttl: Duration,
    ) -> Result<bool, Error> {
        self.default.put_if_with_ttl(key, expected, value, ttl)
    }
}

impl KeySpace {
    /// See [`Db::put_with_expiry`].
    pub fn put_with_expiry(
        &self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<(), Error> {
        let mut batch = self.inner.engine.batch_for(key.len() + value.len());
        batch.put_with_expiry(self.id, key, value, expiry.into());
        self.write(batch)
    }

    /// See [`Db::put_with_ttl`].
    pub fn put_with_ttl(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<(), Error> {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }

    /// See [`Db::compare_and_swap_with_expiry`].
    pub fn compare_and_swap_with_expiry(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<Swap, Error> {
        let (place, new, handling) = ((self.id, key), (new, expiry.into()), self.handling);
        let engine = &self.inner.engine;
        let (reads, durability) = (handling.reads, handling.durability);
        let swap = engine.compare_and_swap_with_expiry(place, expected, new, reads, durability);
        swap.map_err(|error| self.explain(error))
    }

    /// See [`Db::put_if_with_expiry`].
    pub fn put_if_with_expiry(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<bool, Error> {
        Ok(self.compare_and_swap_with_expiry(key, expected, value, expiry)?.is_swapped())
    }

    /// See [`Db::put_if_with_ttl`].
    pub fn put_if_with_ttl(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: &[u8],
        ttl: Duration,
    ) -> Result<bool, Error> {
        self.put_if_with_expiry(key, expected, value, Date::from_now(ttl))
    }
}

impl Batch {
    /// See [`Db::put_with_expiry`].
    pub fn put_with_expiry(
        &mut self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> &mut Self {
        self.writes.put_with_expiry(KeySpaceId::DEFAULT, key, value, expiry.into());
        self
    }

    /// See [`Db::put_with_ttl`]; the time begins with this call.
    pub fn put_with_ttl(&mut self, key: &[u8], value: &[u8], ttl: Duration) -> &mut Self {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }
}

impl BatchKeySpace<'_> {
    /// See [`Batch::put_with_expiry`].
    pub fn put_with_expiry(
        &mut self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> &mut Self {
        self.writes.put_with_expiry(self.id, key, value, expiry.into());
        self
    }

    /// See [`Batch::put_with_ttl`].
    pub fn put_with_ttl(&mut self, key: &[u8], value: &[u8], ttl: Duration) -> &mut Self {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }
}

impl Transaction {
    /// See [`Db::put_with_expiry`]; written when the transaction is committed.
    pub fn put_with_expiry(
        &self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<(), Error> {
        Ok(self.inner.put_with_expiry(KeySpaceId::DEFAULT, key, value, expiry.into())?)
    }

    /// See [`Db::put_with_ttl`]; written when the transaction is committed. The time begins with
    /// this call.
    pub fn put_with_ttl(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<(), Error> {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }
}

impl TransactionKeySpace<'_> {
    /// See [`Transaction::put_with_expiry`].
    pub fn put_with_expiry(
        &self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<(), Error> {
        let (inner, space) = (&self.transaction.inner, self.space.id());
        Ok(inner.put_with_expiry(space, key, value, expiry.into())?)
    }

    /// See [`Transaction::put_with_ttl`].
    pub fn put_with_ttl(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<(), Error> {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }
}
