//! [`Transaction`]: reads at one moment, which are remembered, and writes that are held back until
//! the commit.
//!
//! - A read looks at the transaction's own writes first and then at its snapshot. A key that is
//!   read from the snapshot is remembered, even if it has no value, and so is the part of a range
//!   that a scan has read.
//! - The commit writes one batch with a [`Guard`] over all that is remembered. If any of these keys
//!   was written since the snapshot, or any value that was read has expired, the commit is
//!   [`Error::Conflict`].
//! - The memory of all transactions together is limited to a part of the memory budget: a read or a
//!   write beyond it is [`Error::TransactionsOverMemory`].
//! - While a transaction is open, its snapshot keeps entries, like every snapshot.
//!
//! Threads: any. One lock, not held over a read of the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::sync::Mutex;
use terrace_env::{Date, MemoryLease};

use super::transaction_scan::TransactionScan;
use super::write_buffer::{self, WriteBuffer, Writes};
use crate::expiry::Shown;
use crate::key::{self, KeySpaceId, check_sizes};
use crate::read::{Reader, Snapshot};
use crate::write::{Guard, KeyRanges, ReadSet, Writer};
use crate::{Batch, Bounds, Durability, Error, ReadOptions};

/// Several reads and writes that take effect as if they were done at once. If it is dropped without
/// a [`commit`](Self::commit), it has written nothing.
pub struct Transaction {
    reader: Arc<Reader>,
    writer: Arc<Writer>,
    snapshot: Snapshot,
    state: Arc<Mutex<State>>,
}

/// Reads and writes of a transaction.
pub(super) struct State {
    reads: ReadSet,
    pub(super) writes: WriteBuffer,
    /// Full keys of the ranges of open scans. Each may be read to its end.
    scans: BTreeMap<u64, (Vec<u8>, Vec<u8>)>,
    scan_next: u64,
    memory: MemoryLease,
}

impl State {
    /// Counts its memory.
    fn count(&mut self) {
        self.memory.resize(self.reads.bytes() + self.writes.bytes());
    }

    /// Notes the expiry of a value that was read.
    pub(super) fn note_expiry(&mut self, full_key: &[u8], expiry: Option<Date>) {
        self.reads.note_expiry(full_key, expiry);
    }

    /// Notes a scan that begins.
    fn begin_scan(&mut self, range: (Vec<u8>, Vec<u8>)) -> u64 {
        let id = self.scan_next;
        self.scan_next += 1;
        self.scans.insert(id, range);
        id
    }

    /// Notes the reads of a scan that ends.
    pub(super) fn end_scan(&mut self, id: u64, read: Vec<(Vec<u8>, Vec<u8>)>) {
        if self.scans.remove(&id).is_some() {
            read.into_iter().for_each(|(start, end)| self.reads.add_range(start, end));
            self.count();
        }
    }
}

impl Transaction {
    pub(crate) fn new(reader: &Arc<Reader>, writer: &Arc<Writer>) -> Result<Self, Error> {
        writer.tree.check_open()?;
        let state = State {
            reads: ReadSet::default(),
            writes: WriteBuffer::default(),
            scans: BTreeMap::new(),
            scan_next: 0,
            memory: writer.memory.transaction(),
        };
        let snapshot = Snapshot::new(reader);
        let (reader, writer) = (Arc::clone(reader), Arc::clone(writer));
        Ok(Self { reader, writer, snapshot, state: Arc::new(Mutex::new(state)) })
    }

    /// Snapshot of the transaction. Reads of the snapshot itself are not remembered: another write
    /// of such a key is no conflict.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Value of the key, as the transaction sees it.
    pub fn get(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<Option<Bytes>, Error> {
        let own = self.note_key(space, user_key, |own| own.base.is_some())?;
        if let Some(Writes { base: Some(base), operands }) = &own
            && operands.is_empty()
        {
            return Ok(base.clone().map(|base| base.value));
        }
        let below = match &own {
            Some(Writes { base: Some(_), .. }) => None,
            _ => self.snapshot.get_shown(space, user_key, options)?,
        };
        self.note_expiry(space, user_key, below.as_ref().and_then(|found| found.expiry));
        let Some(own) = own else { return Ok(below.map(|found| found.value)) };
        let combined = self.reader.combiner(space).combine(user_key, own.chain(below))?;
        Ok(Some(combined.value))
    }

    /// Whether the key has a value, as the transaction sees it.
    pub fn contains(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<bool, Error> {
        let is_known = |own: &Writes| own.base.is_some() || !own.operands.is_empty();
        if let Some(own) = self.note_key(space, user_key, is_known)? {
            return Ok(!own.operands.is_empty() || own.base.flatten().is_some());
        }
        let found = self.snapshot.contains_shown(space, user_key, options)?;
        self.note_expiry(space, user_key, found.as_ref().and_then(|found| found.expiry));
        Ok(found.is_some())
    }

    fn note_expiry(&self, space: KeySpaceId, user_key: &[u8], expiry: Option<Date>) {
        if expiry.is_some() {
            self.state.lock().note_expiry(&key::full_key(space, user_key), expiry);
        }
    }

    /// The transaction's own writes of a key, if there are any. Unless they are `enough` for the
    /// read, remembers that the key is read.
    fn note_key(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        enough: impl FnOnce(&Writes) -> bool,
    ) -> Result<Option<Writes>, Error> {
        let full_key = key::full_key(space, user_key);
        let mut state = self.state.lock();
        let own = state.writes.get(&full_key);
        if !own.as_ref().is_some_and(enough) {
            self.writer.memory.check_transactions(full_key.len() + ReadSet::KEY_BYTES)?;
            state.reads.add_key(full_key);
            state.count();
        }
        Ok(own)
    }

    /// Entries of the range, in order, as the transaction sees them: with its own writes, even
    /// later ones if the scan has not passed their keys. Once the transaction has ended, the scan
    /// goes on without them.
    pub fn scan(&self, space: KeySpaceId, bounds: &Bounds) -> Result<TransactionScan, Error> {
        let (start, end) = bounds.full_keys(space);
        let range = (start, end.unwrap_or_else(|| vec![0xff; key::SPACE_BYTES + 1]));
        self.check_range(&range.0, &range.1)?;
        let below = self.snapshot.scan(space, bounds)?;
        let id = self.state.lock().begin_scan(range.clone());
        let (keys, state) = ((space, self.reader.combiner(space)), Arc::clone(&self.state));
        Ok(TransactionScan::new(keys, range, below, state, id))
    }

    fn check_range(&self, start: &[u8], end: &[u8]) -> Result<(), Error> {
        let bytes = start.len() + end.len() + KeyRanges::RANGE_BYTES;
        self.writer.memory.check_transactions(bytes)
    }

    /// Writes `value` under `key`, at the commit.
    pub fn put(&self, space: KeySpaceId, user_key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.write(space, user_key, Some((value, None)))
    }

    /// Writes `value` under `key` until a date, at the commit.
    pub fn put_with_expiry(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        value: &[u8],
        expiry: Date,
    ) -> Result<(), Error> {
        self.write(space, user_key, Some((value, Some(expiry))))
    }

    /// Deletes `key`, at the commit.
    pub fn delete(&self, space: KeySpaceId, user_key: &[u8]) -> Result<(), Error> {
        self.write(space, user_key, None)
    }

    /// Combines the value of `key` with an operand, at the commit. The key does not count as read.
    pub fn merge(&self, space: KeySpaceId, user_key: &[u8], operand: &[u8]) -> Result<(), Error> {
        check_sizes(user_key, operand)?;
        self.writer.operands.operator()?;
        let full_key = key::full_key(space, user_key);
        let mut state = self.state.lock();
        let bytes = write_buffer::operand_bytes(&full_key, operand);
        self.writer.memory.check_transactions(bytes)?;
        state.writes.merge(full_key, Bytes::copy_from_slice(operand));
        state.count();
        Ok(())
    }

    fn write(
        &self,
        space: KeySpaceId,
        key: &[u8],
        put: Option<(&[u8], Option<Date>)>,
    ) -> Result<(), Error> {
        let value = put.map(|(value, _)| value);
        check_sizes(key, value.unwrap_or_default())?;
        let full_key = key::full_key(space, key);
        let mut state = self.state.lock();
        self.writer.memory.check_transactions(write_buffer::write_bytes(&full_key, value))?;
        let write = |(value, expiry)| Shown { value: Bytes::copy_from_slice(value), expiry };
        state.writes.write(full_key, put.map(write));
        state.count();
        Ok(())
    }

    /// Deletes the keys of the range, at the commit: one write, and no read of the range.
    pub fn delete_range(&self, space: KeySpaceId, bounds: &Bounds) -> Result<(), Error> {
        // A batch checks the bounds.
        let mut batch = Batch::new();
        batch.delete_range(space, bounds);
        batch.defect()?;
        if batch.is_empty() {
            return Ok(());
        }
        let (start, end) = bounds.full_keys(space);
        let Some(end) = end else { return Err(Error::UnknownKeySpace(space)) };
        self.check_range(&start, &end)?;
        let mut state = self.state.lock();
        state.writes.delete_range(start, end);
        state.count();
        Ok(())
    }

    /// Applies the writes, if no key that was read has changed; otherwise the error is
    /// [`Error::Conflict`], and nothing is applied.
    pub fn commit(self, durability: Durability) -> Result<(), Error> {
        let Some((batch, guard)) = self.take_writes() else {
            return self.writer.tree.check_open();
        };
        let written = self.writer.write_guarded(batch, durability, guard);
        let Self { reader, writer, snapshot, .. } = self;
        // It lives until the guard has been checked.
        drop(snapshot);
        let holders = |of_logs| reader.readers.space_holders(&*writer.room.store, of_logs);
        written.map_err(|error| error.with_holders(holders))
    }

    /// Commits transactions of one store together, in their order; the answers are in that order.
    pub(crate) fn commit_each(
        writer: &Writer,
        transactions: Vec<(Self, Durability)>,
    ) -> Vec<Result<(), Error>> {
        let taken: Vec<_> = transactions.iter().map(|(one, _)| one.take_writes()).collect();
        let is_writing: Vec<bool> = taken.iter().map(Option::is_some).collect();
        let writes = taken.into_iter().zip(&transactions).filter_map(|(taken, (_, durability))| {
            taken.map(|(batch, guard)| (batch, *durability, Some(guard)))
        });
        let mut written = writer.write_each(writes).into_iter();
        // The snapshots live until the guards have been checked.
        drop(transactions);
        let answer = |is_writing| match is_writing {
            true => written.next().expect("an answer to each write"),
            false => writer.tree.check_open(),
        };
        is_writing.into_iter().map(answer).collect()
    }

    /// The writes and their condition; `None` if there are no writes.
    fn take_writes(&self) -> Option<(Batch, Guard)> {
        let mut state = self.state.lock();
        if state.writes.is_empty() {
            return None;
        }
        for (start, end) in std::mem::take(&mut state.scans).into_values() {
            state.reads.add_range(start, end);
        }
        state.count();
        let batch = std::mem::take(&mut state.writes).batch();
        let none = self.writer.memory.transaction();
        let memory = std::mem::replace(&mut state.memory, none);
        let reads = std::mem::take(&mut state.reads);
        Some((batch, Guard::new(reads, self.snapshot.sequence(), Some(memory))))
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transaction(at {})", self.snapshot.sequence())
    }
}
