//! Conditional writes of [`Db`] and [`KeySpace`]: of one key, if it has an expected value; and the
//! begin of a [`Transaction`].
//!
//! - Of several conditional writes of one key that expect the same value, one succeeds. They are
//!   linearizable with all other reads and writes of the key.
//! - A condition that does not hold is no error. Errors are those of a put.
//!
//! Any thread may call. A call may wait for the device, for background jobs and other writers.

use terrace_lsm::Swap;

use crate::{Db, Error, ErrorKind, KeySpace, Transaction};

impl KeySpace {
    /// As [`Db::compare_and_swap`].
    pub fn compare_and_swap(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Swap, Error> {
        let (place, handling) = ((self.id, key), self.handling);
        let engine = &self.inner.engine;
        let (reads, durability) = (handling.reads, handling.durability);
        let swap = engine.compare_and_swap(place, expected, new, reads, durability);
        swap.map_err(|error| self.explain(error))
    }

    /// As [`Db::put_if`].
    pub fn put_if(&self, key: &[u8], expected: Option<&[u8]>, value: &[u8]) -> Result<bool, Error> {
        Ok(self.compare_and_swap(key, expected, Some(value))?.is_swapped())
    }

    /// As [`Db::delete_if`].
    pub fn delete_if(&self, key: &[u8], expected: &[u8]) -> Result<bool, Error> {
        Ok(self.compare_and_swap(key, Some(expected), None)?.is_swapped())
    }
}

impl Db {
    /// Puts `new` under `key` if `expected` is under it; `None` means nothing: an absent key is
    /// expected, or the key is deleted. Otherwise nothing is written, and the value that is there
    /// is returned. No other write of the key comes between the look and the write.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, MemoryStore, Options, Swap};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// // A counter that loses no increment, whatever other threads do.
    /// let mut before: Option<Vec<u8>> = None;
    /// loop {
    ///     let count = before.as_deref().map_or(0, |bytes| bytes[0]) + 1;
    ///     match db.compare_and_swap(b"count", before.as_deref(), Some(&[count]))? {
    ///         Swap::Swapped => break,
    ///         Swap::Kept(found) => before = found.map(Into::into),
    ///     }
    /// }
    /// assert_eq!(db.get(b"count")?.as_deref(), Some(&[1][..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn compare_and_swap(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Swap, Error> {
        self.default.compare_and_swap(key, expected, new)
    }

    /// Writes `value` under `key` if `expected` is under it, or nothing is if that is `None`;
    /// whether it was written.
    pub fn put_if(&self, key: &[u8], expected: Option<&[u8]>, value: &[u8]) -> Result<bool, Error> {
        self.default.put_if(key, expected, value)
    }

    /// Removes what is under `key` if that is `expected`; whether it was removed.
    pub fn delete_if(&self, key: &[u8], expected: &[u8]) -> Result<bool, Error> {
        self.default.delete_if(key, expected)
    }

    /// Begins a transaction, which reads what is there now. Its commit has the
    /// [durability](Self::durability) of this handle.
    pub fn transaction(&self) -> Result<Transaction, Error> {
        let (inner, of) = (self.inner.engine.transaction()?, self.inner.identity);
        let handling = self.default.handling;
        Ok(Transaction { inner, of, reads: handling.reads, durability: handling.durability })
    }

    /// Carries out `attempt` in a transaction and commits it, again and again until the commit
    /// finds no [conflict](ErrorKind::Conflict), and returns its last result. An error of the
    /// attempt ends it, and nothing is written.
    ///
    /// Of transactions that conflict, one always succeeds. A long one that reads what is written
    /// all the time may never do.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// # let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// db.put(b"waiting/7", b"a job")?;
    /// let taken = db.transact(|transaction| {
    ///     let Some(job) = transaction.get(b"waiting/7")? else { return Ok(false) };
    ///     transaction.delete(b"waiting/7")?;
    ///     transaction.put(b"running/7", &job)?;
    ///     Ok(true)
    /// })?;
    /// assert!(taken && db.contains(b"running/7")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transact<T>(
        &self,
        mut attempt: impl FnMut(&Transaction) -> Result<T, Error>,
    ) -> Result<T, Error> {
        loop {
            let transaction = self.transaction()?;
            let result = attempt(&transaction)?;
            match transaction.commit() {
                Ok(()) => return Ok(result),
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                Err(error) => return Err(error),
            }
        }
    }
}
