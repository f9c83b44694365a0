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
    /// See [`Db::compare_and_swap`].
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

    /// See [`Db::put_if`].
    pub fn put_if(&self, key: &[u8], expected: Option<&[u8]>, value: &[u8]) -> Result<bool, Error> {
        Ok(self.compare_and_swap(key, expected, Some(value))?.is_swapped())
    }

    /// See [`Db::delete_if`].
    pub fn delete_if(&self, key: &[u8], expected: &[u8]) -> Result<bool, Error> {
        Ok(self.compare_and_swap(key, Some(expected), None)?.is_swapped())
    }
}

impl Db {
    /// Puts `new` under `key` if the key has the value `expected`. `None` stands for no value: an
    /// absent key is expected, or the key is deleted. Otherwise nothing is written, and the key's
    /// value is returned. No other write of the key comes between the read and the write.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, MemoryStore, Options, Swap};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// // A counter that loses no increment of any thread.
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

    /// Writes `value` under `key` if the key has the value `expected`, or no value if that is
    /// `None`; returns whether it was written.
    pub fn put_if(&self, key: &[u8], expected: Option<&[u8]>, value: &[u8]) -> Result<bool, Error> {
        self.default.put_if(key, expected, value)
    }

    /// Removes `key` if it has the value `expected`; returns whether it was removed.
    pub fn delete_if(&self, key: &[u8], expected: &[u8]) -> Result<bool, Error> {
        self.default.delete_if(key, expected)
    }

    /// Begins a transaction, which reads the current state. Its commit has the
    /// [durability](Self::durability) of this handle.
    pub fn transaction(&self) -> Result<Transaction, Error> {
        let (inner, of) = (self.inner.engine.transaction()?, self.inner.identity);
        let handling = self.default.handling;
        Ok(Transaction { inner, of, reads: handling.reads, durability: handling.durability })
    }

    /// Commits transactions, as if as many threads committed one each, in this order: they share
    /// the wait for the medium. Each has an answer of its own, in the order of the transactions. If
    /// a transaction has read a key that one before it writes, it has a
    /// [conflict](ErrorKind::Conflict).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Db, ErrorKind, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// # let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// let claim = |seat: &[u8], guest: &[u8]| -> Result<_, terrace::Error> {
    ///     let transaction = db.transaction()?;
    ///     assert!(!transaction.contains(seat)?);
    ///     transaction.put(seat, guest)?;
    ///     Ok(transaction)
    /// };
    /// let claims = vec![claim(b"7", b"ada")?, claim(b"8", b"grace")?, claim(b"7", b"alan")?];
    /// let answers = db.commit_each(claims);
    /// assert!(answers[0].is_ok() && answers[1].is_ok());
    /// assert_eq!(answers[2].as_ref().unwrap_err().kind(), ErrorKind::Conflict);
    /// assert_eq!(db.get(b"7")?.as_deref(), Some(&b"ada"[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::OtherStore`] for a transaction of another store.
    pub fn commit_each(&self, transactions: Vec<Transaction>) -> Vec<Result<(), Error>> {
        let (mut own, mut answers) = (Vec::with_capacity(transactions.len()), Vec::new());
        for Transaction { inner, of, durability, .. } in transactions {
            let is_own = of == self.inner.identity;
            answers.push(if is_own { None } else { Some(Err(Error::other_transaction())) });
            if is_own {
                own.push((inner, durability));
            }
        }
        let mut committed = self.inner.engine.commit_each(own).into_iter();
        let answer = |foreign: Option<_>| match foreign {
            Some(error) => error,
            None => Ok(committed.next().expect("an answer to each transaction")?),
        };
        answers.into_iter().map(answer).collect()
    }

    /// Runs `attempt` in a transaction and commits it, repeatedly until the commit finds no
    /// [conflict](ErrorKind::Conflict), and returns its last result. An error of the attempt ends
    /// it, and nothing is written.
    ///
    /// Of conflicting transactions, one always succeeds. A long one that reads frequently written
    /// keys may never succeed.
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
