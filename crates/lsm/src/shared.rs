//! What the engine's actors share: the owners of its parts, and the state that jobs and writers
//! wait on. `state` is not held over a call to the store or a wait on anything but its own
//! condition.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{Reservation, Store};
use terrace_env::sync::{Condvar, Mutex, MutexGuard};
use terrace_env::wait::WaitCause;
use terrace_env::{ByteCount, Claim, FileId, SeqNo};
use terrace_policy::{Compaction, Pressure, Span};

use crate::Error;
use crate::counters::Counters;
use crate::event::{Event, Listeners};
use crate::jobs::Slices;
use crate::lifetime::{Written, WrittenBytes};
use crate::memory::Memory;
use crate::memtable::Memtable;
use crate::options::EngineOptions;
use crate::reading::Readers;
use crate::tree::Tree;
use crate::writing::Gathering;
use crate::writing::LogAhead;
use crate::writing::Throttle;
use crate::writing::WriteLane;

/// How long a job that found no space waits before it tries again, at first and at most.
const RETRY_FIRST: Duration = Duration::from_millis(2);
const RETRY_MAX: Duration = Duration::from_millis(500);

/// A full memtable and the log that it came from.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) memtable: Arc<Memtable>,
    pub(crate) log: FileId,
    /// The space for the flush, where it could be set aside.
    pub(crate) hold: Option<Arc<Reservation>>,
    /// The log holds more than this memtable, from this sequence on: the flush does not delete it.
    pub(crate) rest: Option<SeqNo>,
}

/// A client's wish that a range be compacted to the last level.
#[derive(Clone, Debug)]
pub(crate) struct CompactionRequest {
    pub(crate) ticket: u64,
    pub(crate) span: Span,
}

/// A reservation that a merge did not get, and the change of the tree at which it did not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    pub(crate) at: u64,
    pub(crate) bytes: ByteCount,
}

/// What jobs and writers wait on.
#[derive(Debug)]
pub(crate) struct State {
    /// What a job or the log broke on; nothing is written until somebody asks to
    /// [resume](crate::Engine::resume).
    pub(crate) failure: Option<Error>,
    pub(crate) closing: bool,
    /// Somebody found no space, and nobody has found any since.
    pub(crate) no_space: Option<Error>,
    /// What a merge last found no space for.
    pub(crate) refused: Option<Refused>,
    /// How often a job has found no space.
    pub(crate) space_errors: u64,
    /// How often a flush has.
    pub(crate) flush_errors: u64,
    /// Oldest first.
    pub(crate) waiting: VecDeque<Waiting>,
    /// Nothing but snapshots sees some tables, which can go when these end.
    pub(crate) snapshots_keep_tables: bool,
    /// How far the tree is behind.
    pub(crate) pressure: Pressure,
    pub(crate) throttle: Throttle,
    /// How often the tree has changed, and at which change the decider had nothing more to do.
    pub(crate) tree_changes: u64,
    pub(crate) settled_at: Option<u64>,
    /// The same, where nothing more could be done for space.
    pub(crate) spaceless_at: Option<u64>,
    /// The same, where writers rest.
    pub(crate) rested_at: Option<u64>,
    /// How many clients wait for the jobs to be done.
    pub(crate) awaited: usize,
    /// At which change a compaction that was due found no space.
    pub(crate) refused_at: Option<u64>,
    pub(crate) compacting: bool,
    pub(crate) slices: Slices,
    /// How many ingests are putting their tables into the tree: no compaction begins meanwhile.
    pub(crate) ingesting: usize,
    pub(crate) requests: VecDeque<CompactionRequest>,
    pub(crate) next_request: u64,
    /// Requests that are done, and how they ended.
    pub(crate) answered: BTreeMap<u64, Result<(), Error>>,
}

impl State {
    pub(crate) fn new(waiting: VecDeque<Waiting>, pressure: Pressure) -> Self {
        Self {
            failure: None,
            closing: false,
            no_space: None,
            refused: None,
            space_errors: 0,
            flush_errors: 0,
            waiting,
            snapshots_keep_tables: false,
            pressure,
            throttle: Throttle::default(),
            tree_changes: 0,
            settled_at: None,
            spaceless_at: None,
            rested_at: None,
            awaited: 0,
            refused_at: None,
            compacting: false,
            slices: Slices::default(),
            ingesting: 0,
            requests: VecDeque::new(),
            next_request: 0,
            answered: BTreeMap::new(),
        }
    }

    /// Why nothing can be written, if nothing can.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        match &self.failure {
            _ if self.closing => Err(Error::Closed),
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// Answers everybody who waits for a compaction.
    pub(crate) fn end_requests(&mut self, error: &Error) {
        while let Some(request) = self.requests.pop_front() {
            self.answered.insert(request.ticket, Err(error.clone()));
        }
    }

    /// That there is no space, as long as no compaction is under way or to be tried that may free
    /// some.
    pub(crate) fn out_of_space(&self) -> Option<Error> {
        let tree = Some(self.tree_changes);
        let tried = self.spaceless_at == tree || self.refused_at == tree || self.ingesting > 0;
        self.no_space.clone().filter(|_| tried && !self.compacting)
    }

    /// Whether jobs should drop what they are at.
    pub(crate) fn must_stop(&self) -> bool {
        self.closing || self.failure.is_some()
    }
}

/// What the engine's actors share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    /// That of the store, until the engine is closed or dropped.
    pub(crate) claim: Mutex<Option<Claim>>,
    pub(crate) options: EngineOptions,
    pub(crate) decider: Arc<dyn Compaction>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Counters,
    /// How many slices of a merge are carried out at once.
    pub(crate) workers: usize,
    pub(crate) listeners: Listeners,
    pub(crate) tree: Tree,
    pub(crate) state: Mutex<State>,
    pub(crate) changed: Condvar,
    pub(crate) writes: WriteLane,
    /// What was written in the store's life when it was opened.
    pub(crate) lifetime_at_open: Written,
    /// What the store of files had written already, which is in that or nowhere.
    pub(crate) written_before: WrittenBytes,
    /// Who reads at length.
    pub(crate) readers: Readers,
    pub(crate) ahead: LogAhead,
    pub(crate) gathering: Gathering,
}

impl Shared {
    /// An error if the engine is closed.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        self.tree.glance().closed.check()
    }

    /// Carries out what reads from the store; if the engine is closed, or closed meanwhile, it says
    /// so instead of what it found.
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
        // Unwinding must not wait: who writes may be who panics.
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
    pub(crate) fn tree_has_changed(&self, pressure: Pressure, flushed: Option<&Waiting>) {
        let mut state = self.state.lock();
        if let Some(flushed) = flushed {
            state.waiting.retain(|waiting| waiting.log != flushed.log);
        }
        state.pressure = pressure;
        state.tree_changes = self.tree.changes();
        state.no_space = None;
        drop(state);
        self.changed.notify_all();
    }

    /// What the oldest snapshot kept can be dropped now.
    pub(crate) fn oldest_snapshot_has_ended(&self) {
        let mut state = self.state.lock();
        if state.no_space.is_some() {
            state.spaceless_at = None;
            self.changed.notify_all();
        }
        if std::mem::take(&mut state.snapshots_keep_tables) {
            state.settled_at = None;
            self.changed.notify_all();
        }
    }

    /// Ends all writing, until somebody asks to go on.
    pub(crate) fn fail(&self, job: &'static str, error: Error) {
        let mut state = self.state.lock();
        let first = state.failure.is_none();
        if first {
            let failure = match error {
                stopped @ Error::Stopped { .. } => stopped,
                cause => Error::Stopped { job, cause: Arc::new(cause) },
            };
            state.failure = Some(failure.clone());
            state.end_requests(&failure);
        }
        let failure = state.failure.clone().filter(|_| first);
        drop(state);
        self.changed.notify_all();
        if let Some(error) = failure {
            self.listeners.tell(|| Event::Stopped { error });
        }
    }

    /// Notes that there is no space, for writers to be told and jobs to do something about it.
    pub(crate) fn note_no_space(&self, error: &Error) {
        debug_assert!(error.is_space(), "a lack of space, not {error}");
        let mut state = self.state.lock();
        state.no_space = Some(error.clone());
        state.space_errors += 1;
        self.changed.notify_all();
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

/// Waits longer after each try that found no space.
#[derive(Debug)]
pub(crate) struct Retry(Duration);

impl Retry {
    pub(crate) fn new() -> Self {
        Self(RETRY_FIRST)
    }

    /// Waits for a change of the state, but not for ever.
    pub(crate) fn wait(&mut self, shared: &Shared, mut state: MutexGuard<'_, State>) {
        if !state.must_stop() {
            shared.counters.waits.during(WaitCause::Retry, || {
                let _ = shared.changed.wait_for(&mut state, self.0);
            });
        }
        self.0 = (self.0 * 2).min(RETRY_MAX);
    }
}
