//! [`Engine`]: an ordered map of byte strings over a [`Store`], in key spaces. It passes calls on
//! to the owners that do the work, and ends the owners' actors. (Its constructor is in
//! [`crate::opening`].)
//!
//! - A close or a drop of the engine ends the actors of the background jobs. A read-only engine has
//!   none.
//! - An open engine has a claim on its [`Store`] object: one engine that writes has it alone, or
//!   any number of read-only engines share it.
//! - A call may wait for the device and for jobs.
//! - If a job has panicked, the call or drop that ends the jobs panics too, unless its thread is
//!   panicking already.
//!
//! Any thread may call.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::runner::{self, JoinHandle};
use terrace_env::store::{Store, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Claim, Date};
use terrace_policy::{Marks, Span, TreeView};

use crate::Error;
use crate::batch::Batch;
use crate::bounds::Bounds;
use crate::canary::{self, Rule};
use crate::checkpoint::{CheckpointProgress, Checkpointed, Checkpointer, TableComparison};
use crate::compact::{Board, Notifier};
use crate::counters::Counters;
use crate::event::Listener;
use crate::key::KeySpaceId;
use crate::lifecycle::Lifecycle;
use crate::lifetime_sums::LifetimeSums;
use crate::memory::Memory;
use crate::options::{Durability, EngineOptions, KeySpaceOptions, ReadOptions, TableOptions};
use crate::read::{Cursor, Reader, Salvage, Scan, Snapshot, Verified, verify};
use crate::running::RunningJobs;
use crate::stats::{self, Stats};
use crate::transactions::{Exchange, Swap, Transaction};
use crate::tree::{Committer, KeySpaceEntry, LostRange, SpaceChanges, Tree};
use crate::write::{Ingest, Writer, resume};

/// An open engine. All methods may be called from any actor.
///
/// When it is dropped, it flushes entries that are in no log, ends its jobs and writes out the
/// bytes buffered for the log. If these writes succeed, only a power cut can lose entries. A drop
/// reports no error; [`close`](Self::close) does, and makes everything durable first. In both cases
/// its snapshots, scans, cursors and ingests return [`Error::Closed`] from then on, and the store
/// can be opened again.
pub struct Engine {
    pub(crate) reader: Arc<Reader>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) board: Arc<Board>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) key_spaces: SpaceChanges,
    pub(crate) tree: Arc<Tree>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) running: Arc<RunningJobs>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) sums: Arc<LifetimeSums>,
    /// Number of actors that carry out parts of merges.
    pub(crate) workers: usize,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: EngineOptions,
    /// Claim on the store, until the engine is closed or dropped.
    pub(crate) claim: Mutex<Option<Claim>>,
    /// Ranges of which tables were lost with their device before the opening.
    pub(crate) lost: Vec<LostRange>,
    pub(crate) actors: Mutex<Vec<JoinHandle<()>>>,
}

impl Engine {
    /// An empty batch with room for one entry, whose key and value have `payload` bytes in all. A
    /// large batch uses memory of an earlier one again.
    #[must_use]
    pub fn batch_for(&self, payload: usize) -> Batch {
        Batch::for_entry(payload, &self.writer.memory.large_buffers)
    }

    /// Applies a batch, as a whole.
    pub fn write(&self, batch: Batch, durability: Durability) -> Result<(), Error> {
        let written = self.writer.write(batch, durability);
        written.map_err(|error| self.with_holders(error))
    }

    /// Applies several batches, each as a whole and with its own durability, as if as many threads
    /// each wrote one in this order: they share groups and the wait for the medium. The answers are
    /// in the order of the batches.
    pub fn write_each(&self, writes: Vec<(Batch, Durability)>) -> Vec<Result<(), Error>> {
        let unguarded = writes.into_iter().map(|(batch, durability)| (batch, durability, None));
        let answers = self.writer.write_each(unguarded).into_iter();
        answers.map(|answer| answer.map_err(|error| self.with_holders(error))).collect()
    }

    /// Commits transactions, each as by [`Transaction::commit`] and with its own durability, as if
    /// as many threads each committed one in this order: they share groups and the wait for the
    /// medium. The answers are in the order of the transactions.
    pub fn commit_each(
        &self,
        transactions: Vec<(Transaction, Durability)>,
    ) -> Vec<Result<(), Error>> {
        let answers = Transaction::commit_each(&self.writer, transactions).into_iter();
        answers.map(|answer| answer.map_err(|error| self.with_holders(error))).collect()
    }

    /// Puts `new` under the key, or deletes the key if that is `None`, if the key has the value
    /// `expected`; `None`: no value. No other write of the key comes between the read and the
    /// write.
    pub fn compare_and_swap(
        &self,
        (space, user_key): (KeySpaceId, &[u8]),
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        options: ReadOptions,
        durability: Durability,
    ) -> Result<Swap, Error> {
        let key = (space, user_key);
        let (reader, writer) = (&self.reader, &*self.writer);
        let new = new.map(|value| (value, None));
        let swap = Exchange { reader, writer, options, durability }.swap(key, expected, new);
        swap.map_err(|error| self.with_holders(error))
    }

    /// The same for a new value that expires at a date.
    pub fn compare_and_swap_with_expiry(
        &self,
        (space, user_key): (KeySpaceId, &[u8]),
        expected: Option<&[u8]>,
        (new, expiry): (&[u8], Date),
        options: ReadOptions,
        durability: Durability,
    ) -> Result<Swap, Error> {
        let (key, new) = ((space, user_key), Some((new, Some(expiry))));
        let (reader, writer) = (&self.reader, &*self.writer);
        let swap = Exchange { reader, writer, options, durability }.swap(key, expected, new);
        swap.map_err(|error| self.with_holders(error))
    }

    /// Begins a transaction: it reads the entries that are visible now.
    pub fn transaction(&self) -> Result<Transaction, Error> {
        Transaction::new(&self.reader, &self.writer)
    }

    /// Newest value of the key; `None` if there is none.
    pub fn get(&self, space: KeySpaceId, user_key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.get_with(space, user_key, ReadOptions::default())
    }

    /// Newest value of the key, read with these options; `None` if there is none.
    pub fn get_with(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<Option<Bytes>, Error> {
        self.reader.get(space, user_key, None, options)
    }

    /// Whether the key has a value.
    pub fn contains(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<bool, Error> {
        self.reader.contains(space, user_key, None, options)
    }

    /// Newest value of each of the keys at one moment, in their order; `None` for a key without
    /// one.
    pub fn multi_get(
        &self,
        space: KeySpaceId,
        keys: &[&[u8]],
        options: ReadOptions,
    ) -> Result<Vec<Option<Bytes>>, Error> {
        self.reader.multi_get(space, keys, None, options)
    }

    /// Whether the range is empty. Mostly known without a read of the store, if whole tables lie in
    /// the range or none does.
    pub fn is_empty(&self, space: KeySpaceId, bounds: &Bounds) -> Result<bool, Error> {
        self.reader.is_empty(space, bounds)
    }

    /// Approximate bytes of tables in the range, as stored, including overwritten and deleted
    /// entries. Entries that are only in memory and log do not count.
    pub fn size_of(&self, space: KeySpaceId, bounds: &Bounds) -> Result<ByteCount, Error> {
        self.reader.size_of(space, bounds)
    }

    /// Entries of the range, in order.
    pub fn scan(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Scan, Error> {
        self.reader.scan(space, bounds, None)
    }

    /// Entries of the range that are certainly right although tables are damaged, in order; and the
    /// ranges that are left out. Reads and verifies every table of the range before it returns.
    pub fn salvage(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Salvage, Error> {
        self.tree.while_open(|| self.reader.salvage(space, bounds))
    }

    /// Cursor over the range, in both directions.
    pub fn cursor(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Cursor, Error> {
        self.reader.cursor(space, bounds, None)
    }

    /// A view of the store at this moment, for later reads.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(&self.reader)
    }

    /// Begins an ingest: sorted input that becomes tables directly, and visible as a whole.
    pub fn ingest(&self) -> Result<Ingest, Error> {
        Ingest::new(&self.writer)
    }

    /// Copies the current state into an empty store, while writes go on, and reports its progress.
    /// The target is then a store like this one; after an error, it is as empty as before.
    pub fn checkpoint(
        &self,
        target: &dyn Store,
        progress: CheckpointProgress<'_>,
    ) -> Result<Checkpointed, Error> {
        let (writer, readers) = (&*self.writer, &self.reader.readers);
        let checkpointer = Checkpointer { writer, readers };
        self.tree.while_open(|| checkpointer.copy(target, progress))
    }

    /// Copies the current state into an empty store, as [`checkpoint`](Self::checkpoint) does, or
    /// brings an earlier backup of this store up to date: tables that it has are not copied. One
    /// transaction at the end replaces the earlier backup; after an error before it, that is as it
    /// was. A store that is neither, or was opened for writing since its backup, is
    /// [`Error::NotABackup`].
    pub fn backup(
        &self,
        target: &dyn Store,
        comparison: TableComparison,
        progress: CheckpointProgress<'_>,
    ) -> Result<Checkpointed, Error> {
        let (writer, readers) = (&*self.writer, &self.reader.readers);
        let checkpointer = Checkpointer { writer, readers };
        self.tree.while_open(|| checkpointer.back_up(target, comparison, progress))
    }

    /// Makes everything written so far durable.
    pub fn sync(&self) -> Result<(), Error> {
        if self.tree.has_unlogged() && !canary::is_broken(Rule::SyncFlushesUnlogged) {
            // Entries are durable once their tables are in the tree, and the log is then deleted.
            return self.flush();
        }
        self.writer.write(Batch::new(), Durability::Synced)
    }

    /// Writes all entries that are only in memory and log into tables, and waits for it.
    pub fn flush(&self) -> Result<(), Error> {
        self.check_writable("a flush")?;
        let flushed = self.writer.flush_all();
        flushed.map_err(|error| self.with_holders(error))
    }

    /// Has background jobs free the space that deletes have made, for a file in the same store that
    /// does not belong to the engine and was refused space by this error. Waits for them; returns
    /// whether some may have come since the call. `flushes`: the newest deletes are to be flushed
    /// first.
    pub fn win_space(&self, refused: &StoreError, flushes: bool) -> Result<bool, Error> {
        self.check_writable("a file")?;
        self.writer.win_space(&refused.clone().into(), flushes)
    }

    /// Merges the range until it is in one run, and waits for it. Entries that are only in memory
    /// are flushed first. Then overwritten entries are gone, except those that a snapshot saw at
    /// their last merge.
    pub fn compact(&self, space: KeySpaceId, bounds: &Bounds) -> Result<(), Error> {
        self.writer.tree.view().spaces.check_read(space)?;
        let (start, end) = bounds.full_keys(space);
        self.compact_span(Span::new(start, end.unwrap_or_else(|| vec![0xff; 5])))
    }

    /// The same for all key spaces.
    pub fn compact_all(&self) -> Result<(), Error> {
        self.compact_span(Span::new(vec![0; 4], vec![0xff; 65_540]))
    }

    fn compact_span(&self, span: Span) -> Result<(), Error> {
        self.flush()?;
        if span.is_empty() {
            return Ok(());
        }
        let answer = self.board.request(span);
        answer.map_err(|error| self.with_holders(error))
    }

    /// Waits until no flush and no compaction is due, including compactions for idle writers, if
    /// the options allow them.
    pub fn wait_idle(&self) -> Result<(), Error> {
        self.check_writable("a wait for jobs")?;
        self.board.await_idle()
    }

    /// Adds a listener for events in the background.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.notifier.listen(listener);
    }

    /// Goes on after a failure that stopped all writing ([`Error::Stopped`]), once its cause is
    /// gone: all entries go to tables, and the jobs repeat their unfinished work. When it returns
    /// `Ok`, all earlier writes are durable; a write that the failure refused has taken effect as a
    /// whole or not at all. If the engine has not stopped, the call changes nothing. After an
    /// error, the engine stays stopped, or is short of space, as the error says.
    pub fn resume(&self) -> Result<(), Error> {
        self.tree.check_open()?;
        if self.options.read_only {
            return Err(Error::ReadOnly("a call to resume"));
        }
        resume::resume(&self.writer)
    }

    /// The key space of this name; a new one if there is none.
    pub fn create_key_space(&self, name: &str) -> Result<KeySpaceId, Error> {
        self.create_key_space_with(name, KeySpaceOptions::default())
    }

    /// The same, with options of its own, which it has from now on. If it remembers another value
    /// of one that is stated, that is an error. An engine that only reads makes no tables, and
    /// takes any options.
    pub fn create_key_space_with(
        &self,
        name: &str,
        options: KeySpaceOptions,
    ) -> Result<KeySpaceId, Error> {
        options.check()?;
        if let Some(space) =
            self.key_space(name).filter(|_| options.is_none() || self.options.read_only)
        {
            return Ok(space);
        }
        self.check_writable("a new key space, or options of one")?;
        self.key_spaces.create(name, options.rounded())
    }

    /// The options that a key space has of its own; none if there is no such key space.
    #[must_use]
    pub fn key_space_options(&self, space: KeySpaceId) -> KeySpaceOptions {
        self.key_spaces.options(space)
    }

    /// Changes the options of a key space: those that are stated. New tables, and writes that begin
    /// after this has returned, go by them. The change is durable when this returns.
    pub fn set_key_space_options(
        &self,
        space: KeySpaceId,
        options: KeySpaceOptions,
    ) -> Result<(), Error> {
        options.check()?;
        self.check_writable("other options of a key space")?;
        self.key_spaces.change_options(space, options.rounded())
    }

    /// The key space of this name.
    #[must_use]
    pub fn key_space(&self, name: &str) -> Option<KeySpaceId> {
        self.key_spaces.find(name)
    }

    /// Drops the key space of this name and all its entries, for snapshots as well; `false` if
    /// there is none. It is gone at once and for good: its id is never used again, and calls with
    /// its id get the error that there is no such key space. Cursors and scans that were opened
    /// before go on. Its space is freed in the background.
    ///
    /// After an error it may be gone. If its entries could not be hidden, the next drop of a key
    /// space or the next opening hides them.
    pub fn drop_key_space(&self, name: &str) -> Result<bool, Error> {
        self.check_writable("the drop of a key space")?;
        let dropped = match self.key_spaces.find(name) {
            None => return Ok(false),
            Some(KeySpaceId::DEFAULT) => return Err(Error::DefaultKeySpace),
            Some(_) => self.writer.lane.leading(|_| self.key_spaces.drop(name))?,
        };
        self.hide_dropped_spaces()?;
        Ok(dropped)
    }

    /// The name of a key space, if there is one of this id.
    #[must_use]
    pub fn key_space_name(&self, id: KeySpaceId) -> Option<String> {
        self.tree.with_spaces(|list| list.name(id).map(str::to_owned))
    }

    /// All key spaces, by id.
    #[must_use]
    pub fn key_spaces(&self) -> Vec<KeySpaceEntry> {
        self.tree.with_spaces(|list| list.iter().cloned().collect())
    }

    /// The name of the operator that combines operands in this opening, if there is one.
    #[must_use]
    pub fn merge_operator(&self) -> Option<&str> {
        Some(self.writer.operands.operator().ok()?.name())
    }

    /// The options that shape tables, as the store remembers them; `None`: the default.
    #[must_use]
    pub fn table_options(&self) -> TableOptions {
        self.tree.with_record(|record| record.tables)
    }

    /// Changes the options that shape tables: those that are stated. New tables are made with them,
    /// also after the store was opened again; an existing table keeps its form until it is merged.
    /// The change is durable when this returns.
    pub fn set_table_options(&self, tables: TableOptions) -> Result<(), Error> {
        tables.check()?;
        self.check_writable("other options of tables")?;
        let now = self.table_options();
        if tables.or(now) == now {
            return Ok(());
        }
        self.committer.commit_record(|record| record.tables = tables.or(record.tables))
    }

    /// Reads every table and checks its checksums, its order and its annotation. Ends at the first
    /// defect.
    pub fn verify(&self) -> Result<Verified, Error> {
        self.tree.while_open(|| verify::verify(&self.tree))
    }

    /// Metrics of the engine.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let sources = stats::Sources {
            store: &*self.store,
            tree: &self.tree,
            counters: &self.counters,
            memory: &self.memory,
            lifecycle: &self.lifecycle,
            sums: &self.sums,
            readers: &self.reader.readers,
            running: &self.running,
            workers: self.workers,
        };
        sources.read()
    }

    /// The tree as deciders see it, for a picture of it.
    #[must_use]
    pub fn tree_view(&self) -> TreeView {
        self.tree.view().version.view().clone()
    }

    /// The marks in the committed state of the compaction decider.
    #[must_use]
    pub fn marks(&self) -> Marks {
        self.tree.with_record(|record| Marks::of(&record.decider, &record.state))
    }

    /// Ranges whose tables the opening left out, because they were lost with their device.
    #[must_use]
    pub fn lost_ranges(&self) -> &[LostRange] {
        &self.lost
    }

    /// The store below.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Makes everything durable and ends the jobs. Entries that are only in memory stay in the log,
    /// which has no writer any more: when the store below is closed, it records the end of the log.
    pub fn close(&self) -> Result<(), Error> {
        let synced = if self.options.read_only { Ok(()) } else { self.sync_last() };
        self.stop(synced.is_ok() && !self.options.read_only);
        if !self.options.read_only {
            self.writer.end_logs();
        }
        match synced {
            Err(Error::Closed) => Ok(()),
            other => other,
        }
    }

    /// Makes all writes of clients durable, and refuses further ones.
    fn sync_last(&self) -> Result<(), Error> {
        self.tree.check_open()?;
        self.writer.sync_last()
    }

    /// Hides the entries of dropped key spaces that are not hidden yet.
    pub(crate) fn hide_dropped_spaces(&self) -> Result<(), Error> {
        self.key_spaces.hide_dropped(|batch| self.write_unchecked(batch))
    }

    /// Makes a batch durable that writes to key spaces that need not exist.
    fn write_unchecked(&self, batch: Batch) -> Result<(), Error> {
        self.writer.submit_unchecked(batch, Durability::Synced)
    }

    /// The same error, with the holders of the space if it is one of space.
    fn with_holders(&self, error: Error) -> Error {
        error.with_holders(|of_logs| self.reader.readers.space_holders(&*self.store, of_logs))
    }

    /// The error with which a write would be refused now, whatever it writes.
    pub fn check_writes(&self) -> Result<(), Error> {
        self.check_writable("a write")
    }

    fn check_writable(&self, what: &'static str) -> Result<(), Error> {
        self.tree.check_open()?;
        if self.options.read_only {
            return Err(Error::ReadOnly(what));
        }
        self.lifecycle.check_writable()
    }

    /// Ends the jobs between two of their steps, writes out the buffered bytes of the log, and
    /// releases the store. `record`: also makes the sums of the store's life durable, including
    /// those of the jobs that have just ended.
    fn stop(&self, record: bool) {
        self.writer.gathering.close();
        self.lifecycle.close();
        self.tree.glance().closed.set();
        self.lifecycle.wake_all();
        let actors = std::mem::take(&mut *self.actors.lock());
        // An actor may be the last user of the engine, by a listener or a function of the user that
        // holds a handle: it does not wait for itself.
        let others = actors.into_iter().filter(|actor| !actor.is_current());
        let ends: Vec<_> = others.map(JoinHandle::try_join).collect();
        if record && ends.iter().all(Result::is_ok) {
            self.committer.record_end(self.writer.empty_log());
        }
        // A simulation that unwinds has no device to wait for any more.
        if !(std::thread::panicking() && runner::is_simulated()) {
            self.writer.write_out_last();
        }
        self.give_up_store();
        if let Some(panic) = ends.into_iter().find_map(Result::err)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Engine {
    /// Releases the store: waits for the write and the commit in flight, ends the log, and lets
    /// others open the store. All further writes get the error that the engine is closed.
    fn give_up_store(&self) {
        // Unwinding must not wait: the actor that writes may be the one that panics.
        if !std::thread::panicking() {
            self.writer.lane.close();
            drop(self.committer.take_turn());
        }
        self.writer.ahead.give_up();
        let claim = self.claim.lock().take();
        drop(claim);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !std::thread::panicking() && self.tree.has_unlogged() {
            // After an error the entries are lost, like at the end of the process: a drop cannot
            // report it.
            let _ = self.flush();
        }
        self.stop(false);
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine(at {})", self.tree.visible())
    }
}
