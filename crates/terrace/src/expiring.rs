//! Puts that expire: of [`Db`], [`KeySpace`], [`Batch`], [`Transaction`] and their parts for a key
//! space. An entry with an expiry is unseen from that date on.
//!
//! - A method `..._with_expiry` takes a date: a [`SystemTime`](std::time::SystemTime), or a
//!   [`Date`]. A method `..._with_ttl` takes the time that is left: the date is then that of the
//!   call and so much more, to the millisecond.
//! - A later put of the key without an expiry stays; so the last put of a key decides alone.
//! - A put whose date has come already acts as a delete.
//!
//! Any thread may call. Dates are those of the machine's clock ([`Db::put_with_expiry`]).

use std::time::Duration;

use terrace_env::Date;
use terrace_lsm::{KeySpaceId, Swap};

use crate::batch::BatchKeySpace;
use crate::transaction::TransactionKeySpace;
use crate::{Batch, Db, Error, KeySpace, Transaction};

impl Db {
    /// Writes `value` under `key` until a date. From then on it is unseen: no read, scan or
    /// condition finds it, and older values of the key stay hidden. Its space comes back with the
    /// next compaction of its table.
    ///
    /// The date is compared with the clock of the machine on which a read runs. A snapshot keeps
    /// no entry from expiring. If a transaction has read a value that expires before its commit,
    /// the commit is a [conflict](crate::ErrorKind::Conflict). If the clock is set back, entries
    /// that had expired may be seen again, until a compaction has come by them.
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

    /// Writes `value` under `key` for so much time; see
    /// [`put_with_expiry`](Self::put_with_expiry).
    pub fn put_with_ttl(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<(), Error> {
        self.default.put_with_ttl(key, value, ttl)
    }

    /// As [`compare_and_swap`](Self::compare_and_swap), for a new value that expires.
    pub fn compare_and_swap_with_expiry(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<Swap, Error> {
        self.default.compare_and_swap_with_expiry(key, expected, new, expiry)
    }

    /// As [`put_if`](Self::put_if), for a value that expires.
    pub fn put_if_with_expiry(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<bool, Error> {
        self.default.put_if_with_expiry(key, expected, value, expiry)
    }

    /// As [`put_if`](Self::put_if), for a value that expires after so much time.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use terrace::{Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// // A lease: whoever finds none takes it, and renews it as long as it is needed.
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
    /// As [`Db::put_with_expiry`].
    pub fn put_with_expiry(
        &self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<(), Error> {
        let mut batch = terrace_lsm::Batch::new();
        batch.put_with_expiry(self.id, key, value, expiry.into());
        self.write(batch)
    }

    /// As [`Db::put_with_ttl`].
    pub fn put_with_ttl(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<(), Error> {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }

    /// As [`Db::compare_and_swap_with_expiry`].
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

    /// As [`Db::put_if_with_expiry`].
    pub fn put_if_with_expiry(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<bool, Error> {
        Ok(self.compare_and_swap_with_expiry(key, expected, value, expiry)?.is_swapped())
    }

    /// As [`Db::put_if_with_ttl`].
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
    /// As [`Db::put_with_expiry`].
    pub fn put_with_expiry(
        &mut self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> &mut Self {
        self.writes.put_with_expiry(KeySpaceId::DEFAULT, key, value, expiry.into());
        self
    }

    /// As [`Db::put_with_ttl`]; the time begins with this call.
    pub fn put_with_ttl(&mut self, key: &[u8], value: &[u8], ttl: Duration) -> &mut Self {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }
}

impl BatchKeySpace<'_> {
    /// As [`Batch::put_with_expiry`].
    pub fn put_with_expiry(
        &mut self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> &mut Self {
        self.writes.put_with_expiry(self.id, key, value, expiry.into());
        self
    }

    /// As [`Batch::put_with_ttl`].
    pub fn put_with_ttl(&mut self, key: &[u8], value: &[u8], ttl: Duration) -> &mut Self {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }
}

impl Transaction {
    /// As [`Db::put_with_expiry`], when the transaction is committed.
    pub fn put_with_expiry(
        &self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<(), Error> {
        Ok(self.inner.put_with_expiry(KeySpaceId::DEFAULT, key, value, expiry.into())?)
    }

    /// As [`Db::put_with_ttl`], when the transaction is committed; the time begins with this call.
    pub fn put_with_ttl(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<(), Error> {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }
}

impl TransactionKeySpace<'_> {
    /// As [`Transaction::put_with_expiry`].
    pub fn put_with_expiry(
        &self,
        key: &[u8],
        value: &[u8],
        expiry: impl Into<Date>,
    ) -> Result<(), Error> {
        let (inner, space) = (&self.transaction.inner, self.space.id());
        Ok(inner.put_with_expiry(space, key, value, expiry.into())?)
    }

    /// As [`Transaction::put_with_ttl`].
    pub fn put_with_ttl(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<(), Error> {
        self.put_with_expiry(key, value, Date::from_now(ttl))
    }
}
