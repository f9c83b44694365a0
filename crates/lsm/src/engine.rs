//! [`Engine`]: an ordered map of byte strings over a [`Store`], in key spaces. This file opens and
//! ends the engine, and passes calls on to the modules that do the work.
//!
//! - Opening starts the actors of the background jobs (threads, or coroutines of a simulation);
//!   closing or dropping the engine ends them. A read-only engine has none.
//! - An open engine has a claim on its [`Store`] object: one engine that writes has it alone, or
//!   any number that only read share it.
//! - A call may wait for the device and for jobs.
//! - If a job has panicked, the call or drop that ends the jobs panics too, unless its thread is
//!   panicking already.
//!
//! Any thread may call.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::runner::{self, JoinHandle};
use terrace_env::store::Store;
use terrace_env::sync::Mutex;
use terrace_policy::{Compaction, Span};

use crate::Error;
use crate::bounds::Bounds;
use crate::canary::{self, Rule};
use crate::event::Listener;
use crate::jobs::{CheckpointProgress, Checkpointed};
use crate::jobs::{compaction, flush, worker};
use crate::key::KeySpaceId;
use crate::options::{Durability, EngineOptions, ReadOptions};
use crate::reading::Cursor;
use crate::reading::Salvage;
use crate::reading::Scan;
use crate::reading::Snapshot;
use crate::reading::Verified;
use crate::reading::verify;
use crate::shared::Shared;
use crate::stats::Stats;
use crate::table_options::TableOptions;
use crate::tree::LostRange;
use crate::writing::Batch;
use crate::writing::Ingest;
use crate::writing::{gathering, preallocated_log};

/// An open engine. All methods may be called from any actor.
///
/// Dropped, it flushes entries that are in no log, ends its jobs and writes out the bytes gathered
/// in the log. If these writes succeed, only a power cut can lose anything. A drop reports no
/// error; [`close`](Self::close) does, and makes everything durable first. Either way its
/// snapshots, scans, cursors and ingests return [`Error::Closed`] from then on, and the store can
/// be opened again.
pub struct Engine {
    shared: Arc<Shared>,
    actors: Mutex<Vec<JoinHandle<()>>>,
}

impl Engine {
    /// Opens what is in the store; an empty store becomes an empty engine.
    pub fn open(
        store: Arc<dyn Store>,
        decider: Arc<dyn Compaction>,
        options: EngineOptions,
    ) -> Result<Self, Error> {
        let read_only = options.read_only;
        let shared = Arc::new(Shared::open(store, decider, options)?);
        let mut actors = Vec::new();
        if !read_only {
            let of = Arc::clone(&shared);
            actors.push(runner::spawn("flush", move || flush::run(&of)));
            let of = Arc::clone(&shared);
            actors.push(runner::spawn("next log", move || preallocated_log::run(&of)));
            for _ in 0..shared.board.jobs_max() {
                let of = Arc::clone(&shared);
                actors.push(runner::spawn("compaction", move || compaction::run(&of)));
            }
            let of = Arc::clone(&shared);
            actors.push(runner::spawn("log writer", move || gathering::run(&of)));
            // One alone leaves its work to the compaction's own actor.
            let workers = shared.workers.count();
            let workers = if workers > 1 { workers } else { 0 };
            for _ in 0..workers {
                let of = Arc::clone(&shared);
                actors.push(runner::spawn("compaction worker", move || worker::run(&of)));
            }
        }
        let engine = Self { shared, actors: Mutex::new(actors) };
        if !read_only {
            match engine.shared.hide_dropped_spaces() {
                // A full store must open; it is tried again with the next one that is dropped.
                Err(error) if !error.is_space() => return Err(error),
                _ => {}
            }
        }
        Ok(engine)
    }

    /// Applies a batch, as a whole.
    pub fn write(&self, batch: Batch, durability: Durability) -> Result<(), Error> {
        let written = self.shared.write(batch, durability);
        written.map_err(|error| error.with_holders(|of_logs| self.shared.space_holders(of_logs)))
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
        self.shared.get(space, user_key, None, options)
    }

    /// Whether something is under the key.
    pub fn contains(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<bool, Error> {
        self.shared.contains(space, user_key, None, options)
    }

    /// Newest value of each of the keys at one moment, in their order; `None` for a key without
    /// one.
    pub fn multi_get(
        &self,
        space: KeySpaceId,
        keys: &[&[u8]],
        options: ReadOptions,
    ) -> Result<Vec<Option<Bytes>>, Error> {
        self.shared.multi_get(space, keys, None, options)
    }

    /// Entries of the range, in order.
    pub fn scan(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Scan, Error> {
        self.shared.scan(space, bounds, None)
    }

    /// Entries of the range that can be read for certain though tables are damaged, in order; and
    /// the ranges that are left out. Reads and verifies every table of the range before it returns.
    pub fn salvage(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Salvage, Error> {
        self.shared.while_open(|| self.shared.salvage(space, bounds))
    }

    /// Walks what is in the range, in both directions.
    pub fn cursor(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Cursor, Error> {
        self.shared.cursor(space, bounds, None)
    }

    /// A view of the store as it is now, for later reads.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(&self.shared)
    }

    /// Begins an ingest: sorted input that becomes tables directly, and visible as a whole.
    pub fn ingest(&self) -> Result<Ingest, Error> {
        Ingest::new(&self.shared)
    }

    /// Copies what is there now into an empty store, while writes go on, and tells how far it is.
    /// The target is then a store like this one; with an error, it is as empty as it was.
    pub fn checkpoint(
        &self,
        target: &dyn Store,
        progress: CheckpointProgress<'_>,
    ) -> Result<Checkpointed, Error> {
        self.shared.while_open(|| self.shared.checkpoint(target, progress))
    }

    /// Makes everything written so far durable.
    pub fn sync(&self) -> Result<(), Error> {
        if self.shared.has_unlogged() && !canary::is_broken(Rule::SyncFlushesUnlogged) {
            // Tables are durable once they are in the tree, and the log goes with them.
            return self.flush();
        }
        self.shared.write(Batch::new(), Durability::Synced)
    }

    /// Writes everything that is only in memory and log into tables, and waits for it.
    pub fn flush(&self) -> Result<(), Error> {
        self.check_writable("a flush")?;
        let flushed = self.shared.flush_all();
        flushed.map_err(|error| error.with_holders(|of_logs| self.shared.space_holders(of_logs)))
    }

    /// Merges what is in the range until it is in one run, and waits for it. Entries that are only
    /// in memory are flushed first. Overwritten entries are gone then, except those that snapshots
    /// saw when they were merged last.
    pub fn compact(&self, space: KeySpaceId, bounds: &Bounds) -> Result<(), Error> {
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
        let answer = self.shared.board.request(&self.shared, span);
        answer.map_err(|error| error.with_holders(|of_logs| self.shared.space_holders(of_logs)))
    }

    /// Waits until no flush and no compaction is due; those that are due at rest are included, if
    /// the options allow them.
    pub fn wait_idle(&self) -> Result<(), Error> {
        self.check_writable("a wait for jobs")?;
        self.shared.board.await_idle(&self.shared)
    }

    /// From now on tells the listener what happens in the background.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.shared.listeners.add(listener);
    }

    /// Goes on after a failure that stopped all writing ([`Error::Stopped`]), once its reason is
    /// gone: everything that was written goes to tables, and the jobs begin anew what they had not
    /// finished. When it returns `Ok`, everything written so far is durable; a write that was
    /// refused by the failure is there as a whole or not at all. If the engine has not stopped,
    /// nothing happens. Otherwise it stays stopped, or is short of space, as the error says.
    pub fn resume(&self) -> Result<(), Error> {
        self.shared.check_open()?;
        if self.shared.options.read_only {
            return Err(Error::ReadOnly("a call to resume"));
        }
        self.shared.resume()
    }

    /// The key space of this name; a new one if there is none.
    pub fn create_key_space(&self, name: &str) -> Result<KeySpaceId, Error> {
        if let Some(space) = self.key_space(name) {
            return Ok(space);
        }
        self.check_writable("a new key space")?;
        self.shared.create_space(name)
    }

    /// The key space of this name.
    #[must_use]
    pub fn key_space(&self, name: &str) -> Option<KeySpaceId> {
        self.shared.space(name)
    }

    /// Drops the key space of this name and everything in it, for snapshots as well; `false` if
    /// there is none. It is gone at once and for good, whatever happens: its id is never used
    /// again, and who still has it is told that there is no such key space. Cursors and scans that
    /// were opened before go on. Its space comes back in the background.
    ///
    /// After an error it may be gone; should hiding its entries have failed, that is done when the
    /// next one is dropped or the store is opened.
    pub fn drop_key_space(&self, name: &str) -> Result<bool, Error> {
        self.check_writable("the drop of a key space")?;
        self.shared.drop_space(name)
    }

    /// The name of a key space, if there is one of this id.
    #[must_use]
    pub fn key_space_name(&self, id: KeySpaceId) -> Option<String> {
        self.shared.tree.with_spaces(|list| list.name(id).map(str::to_owned))
    }

    /// All key spaces, by id.
    #[must_use]
    pub fn key_spaces(&self) -> Vec<(KeySpaceId, String)> {
        let named = |(id, name): (KeySpaceId, &str)| (id, name.to_owned());
        self.shared.tree.with_spaces(|list| list.iter().map(named).collect())
    }

    /// The options that shape tables, as the store remembers them; `None`: the default.
    #[must_use]
    pub fn table_options(&self) -> TableOptions {
        self.shared.tree.with_record(|record| record.tables)
    }

    /// Changes the options that shape tables: those that are stated. New tables are made with them,
    /// also after the store was opened again; a table that is there keeps its form until it is
    /// merged. The change is durable when this returns.
    pub fn set_table_options(&self, tables: TableOptions) -> Result<(), Error> {
        tables.check()?;
        self.check_writable("other options of tables")?;
        let now = self.table_options();
        if tables.or(now) == now {
            return Ok(());
        }
        self.shared.commit_record(|record| record.tables = tables.or(record.tables))
    }

    /// Reads every table and checks its checksums, its order and that it holds what its annotation
    /// says. Ends at the first thing that is wrong.
    pub fn verify(&self) -> Result<Verified, Error> {
        self.shared.while_open(|| verify::verify(&self.shared))
    }

    /// Metrics of the engine.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Ranges of keys of which the opening left tables out, because they were lost with their
    /// device.
    #[must_use]
    pub fn lost_ranges(&self) -> &[LostRange] {
        &self.shared.lost
    }

    /// The store below.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// Makes everything durable and ends the jobs. Entries that are only in memory stay in the log,
    /// which has no writer any more: when the store below is closed, it records where the log ends.
    pub fn close(&self) -> Result<(), Error> {
        let synced = if self.shared.options.read_only { Ok(()) } else { self.sync_last() };
        self.stop(synced.is_ok() && !self.shared.options.read_only);
        if !self.shared.options.read_only {
            self.shared.end_logs();
        }
        match synced {
            Err(Error::Closed) => Ok(()),
            other => other,
        }
    }

    /// Makes everything durable that any client has written, and refuses further writes.
    fn sync_last(&self) -> Result<(), Error> {
        self.shared.check_open()?;
        self.shared.sync_last()
    }

    fn check_writable(&self, what: &'static str) -> Result<(), Error> {
        self.shared.check_open()?;
        if self.shared.options.read_only {
            return Err(Error::ReadOnly(what));
        }
        self.shared.lifecycle.check_writable()
    }

    /// Ends the jobs between two of their steps, hands what has gathered in the log to the medium,
    /// and gives the store up. With `record` it makes the sums of the store's life durable, those
    /// of the jobs that have just ended included.
    fn stop(&self, record: bool) {
        self.shared.gathering.close();
        self.shared.lifecycle.close();
        self.shared.tree.glance().closed.set();
        self.shared.wake_all();
        let actors = std::mem::take(&mut *self.actors.lock());
        let ends: Vec<_> = actors.into_iter().map(JoinHandle::try_join).collect();
        if record && ends.iter().all(Result::is_ok) {
            self.shared.record_lifetime();
        }
        // A simulation that unwinds has no device any more to wait for.
        if !(std::thread::panicking() && runner::is_simulated()) {
            self.shared.write_out_last();
        }
        self.shared.give_up_store();
        if let Some(panic) = ends.into_iter().find_map(Result::err)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !std::thread::panicking() && self.shared.has_unlogged() {
            // After an error it is lost, as it is with the process: nobody is left to be told.
            let _ = self.flush();
        }
        self.stop(false);
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine(at {})", self.shared.tree.visible())
    }
}
