//! Operands: of [`Db`], [`KeySpace`], [`Batch`], [`Transaction`] and their parts for a key space;
//! and the operator that combines them with values, of [`Options`].
//!
//! - An operand is a write like a put: it has a sequence, a durability and a place in its batch.
//! - It needs no read. So writers of one key do not wait for each other, and a transaction that
//!   merges into a key conflicts with no other write of it.
//! - A read combines the operands of a key with the value below them. Flushes and compactions
//!   combine operands with each other, and with values below them.
//! - A delete, a range delete or a put of the key ends older operands, like an older value.
//!
//! Any thread may call.

use std::sync::Arc;

use terrace_lsm::{KeySpaceId, MergeOperator, Operator};

use crate::batch::BatchKeySpace;
use crate::transaction::TransactionKeySpace;
use crate::{Batch, Db, Error, KeySpace, Options, Transaction};

impl Options {
    /// Sets the operator that combines operands with values ([`Db::merge`]): one for all key
    /// spaces, which gets the name of the key space. It belongs to this opening; the store
    /// remembers its name from the first operand on.
    ///
    /// - *Another name* than the remembered one: the store is not opened.
    /// - *No operator*: the store is opened, and keys without operands are read and written as
    ///   before. A read of a key with operands fails, and so does the write of an operand.
    ///   Compactions keep operands.
    /// - *Refusals*: if the operator refuses an operand ([`MergeOperator::check`]), the write of it
    ///   fails. If it refuses to combine, or panics, reads of the key fail until it is put, or
    ///   deleted. Compactions keep the operands.
    /// - *Calls*: it must not call the store. It is called from several threads at once, and more
    ///   than once for the same operands.
    ///
    /// These errors are of the kind [`ErrorKind::MergeOperator`](crate::ErrorKind::MergeOperator).
    #[must_use]
    pub fn merge_operator(mut self, operator: impl MergeOperator + 'static) -> Self {
        self.merge_operator = Some(Operator::new(operator));
        self
    }

    /// The same for a shared operator.
    #[must_use]
    pub fn shared_merge_operator(mut self, operator: Arc<dyn MergeOperator>) -> Self {
        self.merge_operator = Some(Operator::from(operator));
        self
    }

    /// Sets [`shipped_merge_operators`](field@Self::shipped_merge_operators).
    #[must_use]
    pub fn shipped_merge_operators(mut self, shipped: bool) -> Self {
        self.shipped_merge_operators = shipped;
        self
    }
}

impl Db {
    /// Combines the value of `key` with an operand, by the store's
    /// [operator](Options::merge_operator()), without reading it. If the key has no value, the
    /// operand alone makes it.
    ///
    /// Reads pay for it: a read collects operands of the key until it finds a value. Therefore, a
    /// large number of operands of one key makes its reads slower, until a flush or a compaction
    /// has combined them. If the value below expires, the operands count alone from then on.
    ///
    /// A store with operands cannot be opened by a version of Terrace that does not know them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use terrace::{Counter, Db, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let options = Options::default().merge_operator(Counter);
    /// let db = Db::open(Arc::new(MemoryStore::new()), options)?;
    /// db.merge(b"visits", &Counter::bytes(3))?;
    /// db.merge(b"visits", &Counter::bytes(-1))?;
    /// let visits = db.get(b"visits")?.unwrap_or_default();
    /// assert_eq!(Counter::number(&visits), Some(2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<(), Error> {
        self.default.merge(key, operand)
    }

    /// The name of the operator that combines operands in this opening: the one of the
    /// [options](Options::merge_operator()), or a
    /// [shipped](field@Options::shipped_merge_operators) one that the store remembers. `None`:
    /// there is none, and [`merge`](Self::merge) fails.
    #[must_use]
    pub fn merge_operator(&self) -> Option<&str> {
        self.inner.engine.merge_operator()
    }
}

impl KeySpace {
    /// See [`Db::merge`].
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<(), Error> {
        let mut batch = self.inner.engine.batch_for(key.len() + operand.len());
        batch.merge(self.id, key, operand);
        self.write(batch)
    }
}

impl Batch {
    /// See [`Db::merge`]. Operands of a key come after earlier writes of the batch.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> &mut Self {
        self.writes.merge(KeySpaceId::DEFAULT, key, operand);
        self
    }
}

impl BatchKeySpace<'_> {
    /// See [`Batch::merge`].
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> &mut Self {
        self.writes.merge(self.id, key, operand);
        self
    }
}

impl Transaction {
    /// See [`Db::merge`]; written when the transaction is committed. The key does not count as
    /// read, so other writes of it are no conflict, until the transaction reads it.
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<(), Error> {
        Ok(self.inner.merge(KeySpaceId::DEFAULT, key, operand)?)
    }
}

impl TransactionKeySpace<'_> {
    /// See [`Transaction::merge`].
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<(), Error> {
        Ok(self.transaction.inner.merge(self.space.id(), key, operand)?)
    }
}
