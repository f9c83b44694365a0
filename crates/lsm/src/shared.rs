//! [`Shared`]: what the engine's actors (its threads, and those of its clients) share, and how they
//! tell each other of changes.
//!
//! These owners have one lock and one condition each, at which actors wait:
//!
//! | owner | of |
//! |---|---|
//! | [`Tree`] | view, versions, snapshots, the store's record, the turn to commit |
//! | [`WriteLane`] | queued batches, the log, the lead |
//! | [`FlushQueue`] | immutable memtables |
//! | [`Board`] | tasks of compactions, requests of clients |
//! | [`SpacePressure`] | lack of space, the throttle |
//! | [`Workers`] | parts of merges |
//! | [`PreallocatedLogs`] | the next log |
//! | [`Gathering`] | until when bytes of the log may stay in memory |
//!
//! An actor makes a change first. Then it takes the lock of the owner at which others wait for the
//! change, and notifies them. So nobody looks before the change and sleeps through the call.
//! Example: a commit shows the new version to readers, and then wakes the flush queue and the
//! board.
//!
//! # Locks
//! None is held over a call to the store, or a wait but for its own condition. Order, outermost
//! first: write lane (the lock of [`EmptyRanges`] is taken within it), flush queue, board, space
//! pressure, tree, [`Lifecycle`]. The other owners' locks are not held together with these, except
//! with that of [`Lifecycle`].

use std::sync::Arc;

use terrace_env::Claim;
use terrace_env::store::Store;
use terrace_env::sync::Mutex;
use terrace_policy::{Compaction, WriteRule};

use crate::Error;
use crate::counters::Counters;
use crate::event::{Event, Listeners};
use crate::jobs::{Board, LoadMeter, Seeks, SpacePressure, Workers};
use crate::lifecycle::Lifecycle;
use crate::lifetime::Written;
use crate::memory::Memory;
use crate::memtable::{FlushQueue, ImmutableMemtable};
use crate::options::EngineOptions;
use crate::reading::{EmptyRanges, Readers};
use crate::tree::{EndedSnapshot, LostRange, Tree};
use crate::writing::{Gathering, PreallocatedLogs, WriteLane};

/// State shared by the engine's actors.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    /// Claim on the store, until the engine is closed or dropped.
    pub(crate) claim: Mutex<Option<Claim>>,
    pub(crate) options: EngineOptions,
    pub(crate) decider: Arc<dyn Compaction>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Counters,
    pub(crate) load: LoadMeter,
    pub(crate) seeks: Seeks,
    pub(crate) workers: Workers,
    pub(crate) listeners: Listeners,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) tree: Tree,
    pub(crate) memtables: FlushQueue,
    pub(crate) space: SpacePressure,
    pub(crate) board: Board,
    pub(crate) writes: WriteLane,
    /// Counts of the store's life when it was opened.
    pub(crate) lifetime_at_open: Written,
    /// Counts of the store of files at that time; `lifetime_at_open` has it, or nothing has.
    pub(crate) written_before: Written,
    /// Readers that hold views for long.
    pub(crate) readers: Readers,
    /// Ranges of keys that readers found empty.
    pub(crate) empty_ranges: EmptyRanges,
    pub(crate) ahead: PreallocatedLogs,
    pub(crate) gathering: Gathering,
    /// Ranges of which tables were lost with their device before the opening.
    pub(crate) lost: Vec<LostRange>,
}

impl Shared {
    /// An error if the engine is closed.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        self.tree.glance().closed.check()
    }

    /// Whether anything is in memory alone, and in no log.
    pub(crate) fn has_unlogged(&self) -> bool {
        self.tree.view().memtables().any(|memtable| memtable.has_unlogged())
    }

    /// Carries out an operation that reads from the store; returns an error if the engine is
    /// closed, or was closed meanwhile, whatever the operation found.
    pub(crate) fn while_open<T>(
        &self,
        read: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.check_open()?;
        read().map_err(|error| self.tree.glance().closed.explain(error))
    }

    /// Gives the store up: waits for the write and the commit that are under way, ends the log, and
    /// lets others open the store. All further writes find the engine closed.
    pub(crate) fn give_up_store(&self) {
        // Unwinding must not wait: the actor that writes may be the one that panics.
        if !std::thread::panicking() {
            self.close_writes();
            drop(self.take_turn());
        }
        self.ahead.give_up();
        let claim = self.claim.lock().take();
        drop(claim);
    }

    /// Tells the jobs and the writers of a change of the tree. `flushed`: the memtable whose tables
    /// were put in.
    pub(crate) fn tree_has_changed(&self, rule: WriteRule, flushed: Option<&ImmutableMemtable>) {
        self.space.tree_has_changed(self.tree.changes(), rule);
        match flushed {
            Some(flushed) => self.memtables.remove(flushed),
            None => self.memtables.wake(),
        }
        self.board.wake();
    }

    /// Entries that only this snapshot kept can be dropped now.
    pub(crate) fn snapshot_has_ended(&self, snapshot: EndedSnapshot) {
        let EndedSnapshot { sequence, was_oldest } = snapshot;
        if was_oldest || self.board.is_keeper(sequence) {
            self.space.snapshot_has_ended();
            self.board.snapshot_has_ended(sequence);
        }
    }

    /// Wakes everybody who waits, after a change of the lifecycle.
    pub(crate) fn wake_all(&self) {
        self.memtables.wake();
        self.board.wake();
        self.space.wake();
        self.workers.wake();
        self.ahead.wake();
    }

    /// For a caller that waits for jobs: an error if they have stopped, or if there is no space and
    /// the wait is in vain.
    pub(crate) fn check_progress(&self, in_vain: bool) -> Result<(), Error> {
        self.lifecycle.check_writable()?;
        self.space.lack().filter(|_| in_vain).map_or(Ok(()), Err)
    }

    /// Ends all writing, until somebody asks to go on.
    pub(crate) fn fail(&self, job: &'static str, error: Error) {
        let failure = self.lifecycle.fail(job, error);
        if let Some(failure) = &failure {
            self.board.end_requests(failure);
        }
        self.wake_all();
        if let Some(error) = failure {
            self.listeners.tell(|| Event::Stopped { error });
        }
    }

    /// Notes that there is no space, for writers to be told and jobs to do something about it.
    /// Lack of space for a log on a log device is not to be noted: the flush of the log's memtable
    /// is all that can be done about it, and the writer that finds it sees to that.
    pub(crate) fn note_no_space(&self, error: &Error) {
        self.space.note(error);
        self.memtables.wake();
        self.board.wake();
    }
}

/// Ends all writing if a job ends by a panic, so that nobody waits for it for ever.
pub(crate) struct PanicGuard<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) job: &'static str,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.fail(self.job, Error::Panicked);
        }
    }
}
