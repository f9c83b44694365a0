//! [`Board`]: decides which task an actor of compaction (a background thread) gets next. Clients
//! wait here for compactions.
//!
//! An actor gets the first of these tasks that is due:
//! 1. A manual compaction that a client has asked for. The client waits here for the answer.
//! 2. A compaction that frees space, if a job or a writer found no space.
//! 3. A compaction that the shape of the tree needs. If the decider (the policy that chooses
//!    compactions) finds none, it is asked again once the tree has changed, or a *keeper* has
//!    ended: a snapshot that kept tables or old versions in them. A decider that heeds the load is
//!    also asked again when the number of scans has doubled and grown by [`SCANS_PER_LOOK`]. A
//!    decider that counts misses is asked again when a table becomes due for them ([`Seeks`]).
//! 4. If the options allow it, a compaction that pays only while writers are idle: once they are
//!    ([`Rest`]), or while a client waits for all jobs.
//!
//! No task is given out after a failure (until the engine is resumed), once the engine closes,
//! while another actor chooses a plan, or while new data is on its way below level 0
//! ([`Admitted`]).
//!
//! # Several compactions at once
//! 1. One actor at a time chooses. A task comes with the turn to choose ([`Choosing`]).
//! 2. [`Choosing::claim`] claims the part of the tree that the plan may change, and ends the turn.
//!    A claim that overlaps another one is refused.
//! 3. While plans are in flight, the tasks 1 to 4 wait. Another actor can then get a fifth kind of
//!    task: to choose an additional plan. It gets none while space is short or a client waits for a
//!    manual compaction.
//! 4. Choices are numbered. An additional choice begins with the decider's state after the last
//!    choice.
//!
//! # Threads
//! Any. One lock and one condition. An actor must end each task that it was given
//! ([`end_task`](Board::end_task)).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{Date, FileId, SeqNo, runner};
use terrace_policy::{Claim, Claims, Compaction, RunId, Span, Urgency};

pub(crate) use turns::{Admitted, Choosing, Claimed};

use super::load::LoadMeter;
use super::rest::Rest;
use super::seeks::Seeks;
use crate::Error;
use crate::counters::Counters;
use crate::lifecycle::{Lifecycle, Waiter};
use crate::space::Space;
use crate::tree::{TableHandle, Tree};

/// Number of scans after which the actors that wait for a compaction are woken.
pub(crate) const SCANS_PER_LOOK: u64 = 1000;

/// A client's request to compact a range to the last level.
#[derive(Clone, Debug)]
pub(crate) struct CompactionRequest {
    pub(crate) ticket: u64,
    pub(crate) span: Span,
    /// The newest table of the tree when the client asked.
    pub(crate) newest: FileId,
    /// The newest run of level 0 when the client asked. Newer runs are not compacted for it: so the
    /// request ends, although a writer goes on.
    pub(crate) newest_run: Option<RunId>,
    /// Date of the request.
    pub(crate) date: Date,
    /// Tasks for it in a row that have found no space.
    tries: u32,
}

/// Task of a compaction.
#[derive(Debug)]
pub(crate) enum Task {
    Request(CompactionRequest),
    /// Ask the decider for a plan, at this change of the tree.
    Pick {
        urgency: Urgency,
        tree: u64,
    },
    /// Ask the decider for a plan in addition to those in flight, at this change of the tree.
    PickBeside {
        tree: u64,
    },
}

impl Task {
    /// Whether the task pays only while writers are idle.
    pub(crate) fn is_for_rest(&self) -> bool {
        matches!(self, Self::Pick { urgency: Urgency::Rest, .. })
    }

    /// Whether the shape of the tree needs the task, and no other plan is in flight.
    pub(crate) fn is_for_shape(&self) -> bool {
        matches!(self, Self::Pick { urgency: Urgency::Shape, .. })
    }

    /// Urgency of the merge that the task leads to.
    pub(crate) fn urgency(&self) -> Urgency {
        match self {
            Self::Pick { urgency, .. } => *urgency,
            Self::Request(_) | Self::PickBeside { .. } => Urgency::Shape,
        }
    }

    /// Whether the task is due to the writes of clients. A client's request is not.
    pub(crate) fn is_burden(&self) -> bool {
        !self.is_for_rest() && !matches!(self, Self::Request(_))
    }
}

/// Owners that the board asks whether a task is due.
pub(crate) struct Signals {
    pub(crate) tree: Arc<Tree>,
    pub(crate) space: Arc<Space>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) decider: Arc<dyn Compaction>,
    pub(crate) load: Arc<LoadMeter>,
}

/// See the [module](self).
pub(crate) struct Board {
    /// The most compactions in flight at once.
    jobs_max: usize,
    /// Whether compactions that pay only while writers are idle are due at all.
    compact_at_rest: bool,
    signals: Signals,
    seeks: Seeks,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: VecDeque<CompactionRequest>,
    next_request: u64,
    /// Requests that have ended, with their results.
    answered: BTreeMap<u64, Result<(), Error>>,
    /// Change of the tree at which the decider had no plan, and the same while writers were idle.
    idle_at: Option<u64>,
    rested_at: Option<u64>,
    /// Scans in the load when the decider had no plan.
    scans_when_idle: u64,
    /// Date at which more entries will have expired than when the decider had no plan.
    next_expiry: Option<Date>,
    /// Snapshots that each keep entries which no other reader sees.
    keepers: BTreeSet<SeqNo>,
    /// Number of tasks that have been given out and have not ended.
    running: usize,
    /// Whether an actor has the turn to choose.
    choosing: bool,
    /// Claims of the plans in flight, by the numbers of their choices.
    claims: BTreeMap<u64, Claim>,
    /// Number of choices so far.
    choices: u64,
    /// State of the decider after the last choice.
    chosen_state: Vec<u8>,
    /// Change of the tree, choice and number of claims at which no additional plan was due.
    nothing_beside_at: Option<(u64, u64, usize)>,
    /// New data on its way below level 0, by numbers, and the next number.
    admitted: BTreeMap<u64, Claim>,
    next_admitted: u64,
    /// Number of clients that wait until the jobs are done.
    awaited: usize,
}

impl State {
    /// Lets the decider be asked again, without a change of the tree, once more entries have
    /// expired.
    fn look_for_expired(&mut self) {
        if self.next_expiry.is_some_and(|next| next <= runner::date()) {
            (self.next_expiry, self.idle_at, self.rested_at) = (None, None, None);
        }
    }

    fn rests(&self, tree: u64) -> bool {
        self.rested_at == Some(tree)
    }

    /// Changes a request, unless it has been answered.
    fn with_request<T>(
        &mut self,
        request: &CompactionRequest,
        change: impl FnOnce(&mut CompactionRequest) -> T,
    ) -> Option<T> {
        self.requests.iter_mut().find(|waiting| waiting.ticket == request.ticket).map(change)
    }

    /// Whether a plan may be chosen in addition to those in flight.
    fn may_add(&self, tree: u64, jobs_max: usize) -> bool {
        self.running < jobs_max
            && self.running == self.claims.len()
            && self.requests.is_empty()
            && self.nothing_beside_at != Some(self.beside(tree))
    }

    fn beside(&self, tree: u64) -> (u64, u64, usize) {
        (tree, self.choices, self.claims.len())
    }
}

impl Board {
    /// A board for at most `jobs_max` compactions in flight.
    pub(crate) fn new(jobs_max: usize, compact_at_rest: bool, signals: Signals) -> Self {
        let seeks = Seeks::new(&*signals.decider);
        let (jobs_max, state, changed) = (jobs_max.max(1), Mutex::default(), Condvar::default());
        Self { jobs_max, compact_at_rest, signals, seeks, state, changed }
    }

    /// The most compactions in flight at once.
    pub(crate) fn jobs_max(&self) -> usize {
        self.jobs_max
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.lock());
        self.changed.notify_all();
        changed
    }

    /// Wakes all waiting actors and clients.
    pub(crate) fn wake(&self) {
        self.change(|_| ());
    }

    /// Whether readers make a compaction pay that did not when the decider had no plan: the scans
    /// have multiplied, or a table has had its allowed number of misses.
    fn may_pay(&self, state: &State) -> bool {
        let Signals { counters, decider, load, .. } = &self.signals;
        let most = state.scans_when_idle.saturating_mul(2) + SCANS_PER_LOOK;
        let scans = || load.load(counters).scans;
        self.seeks.is_due() || (decider.heeds_load() && scans() > most)
    }

    /// Whether a compaction is due once writers are idle.
    fn is_rest_due(&self) -> bool {
        let Signals { tree, lifecycle, .. } = &self.signals;
        self.compact_at_rest && !lifecycle.must_stop() && !tree.has_immutable()
    }

    /// A scan begins, the `scans`th. Every [`SCANS_PER_LOOK`] scans, the actors that wait are
    /// woken.
    pub(crate) fn scan_begins(&self, scans: u64) {
        if scans.is_multiple_of(SCANS_PER_LOOK) && self.signals.decider.heeds_load() {
            self.wake();
        }
    }

    /// Misses, if the decider counts them.
    pub(crate) fn seeks(&self) -> &Seeks {
        &self.seeks
    }

    /// A read has searched a table without success.
    pub(crate) fn searched_in_vain(&self, table: &TableHandle) {
        if self.seeks.note_vain(table, &*self.signals.decider) {
            self.wake();
        }
    }

    /// Waits for a task, and takes the turn to choose; `None` when the engine closes.
    pub(crate) fn await_task(&self) -> Option<(Task, Choosing<'_>)> {
        let Signals { tree, space, lifecycle, counters, .. } = &self.signals;
        let mut rest = Rest::begin(counters);
        let mut state = self.state.lock();
        loop {
            if lifecycle.is_closing() {
                return None;
            }
            let tree = tree.changes();
            state.look_for_expired();
            let idle = state.running == 0 && state.admitted.is_empty();
            let resting = idle && !state.rests(tree) && self.is_rest_due();
            let pick = |urgency| Some(Task::Pick { urgency, tree });
            let task = if lifecycle.must_stop() || !state.admitted.is_empty() || state.choosing {
                None
            } else if state.running > 0 {
                let add = state.may_add(tree, self.jobs_max) && !space.is_short();
                add.then_some(Task::PickBeside { tree })
            } else if let Some(request) = state.requests.front() {
                Some(Task::Request(request.clone()))
            } else if space.needs_compaction(tree) {
                pick(Urgency::Space)
            } else if state.idle_at != Some(tree) || self.may_pay(&state) {
                pick(Urgency::Shape)
            } else if resting && (state.awaited > 0 || rest.is_over(counters)) {
                pick(Urgency::Rest)
            } else {
                None
            };
            if let Some(task) = task {
                debug_assert!(state.running < self.jobs_max, "{} tasks at once", state.running);
                debug_assert!(state.admitted.is_empty(), "new data go below level 0");
                debug_assert!(!state.choosing, "an actor chooses");
                (state.running, state.choosing) = (state.running + 1, true);
                if task.is_burden() {
                    space.compaction_begins();
                }
                return Some((task, Choosing { board: self }));
            }
            if resting {
                let _ = self.changed.wait_until(&mut state, rest.ends());
            } else {
                self.changed.wait(&mut state);
            }
        }
    }

    /// Ends a task that was given out, whether it is done or was given up.
    pub(crate) fn end_task(&self) {
        self.change(|state| {
            debug_assert!(state.running > 0, "a task that was given out");
            debug_assert!(state.claims.len() < state.running, "a claim ends before its task");
            state.running -= 1;
        });
    }

    /// Whether a compaction is in flight.
    pub(crate) fn is_compacting(&self) -> bool {
        self.state.lock().running > 0
    }

    /// Claims of the plans in flight. Must be called before the version is taken from which a plan
    /// is chosen: a plan that ends in between then counts as in flight, which is safe.
    pub(crate) fn claims(&self) -> Claims {
        Claims::new(self.state.lock().claims.values().cloned().collect())
    }

    /// State of the decider after the last choice, while plans are in flight.
    pub(crate) fn chosen_state(&self) -> Vec<u8> {
        self.state.lock().chosen_state.clone()
    }

    /// Notes that no additional plan was due, or none was free of the claims in flight.
    pub(crate) fn note_nothing_beside(&self, tree: u64) {
        let mut state = self.state.lock();
        state.nothing_beside_at = Some(state.beside(tree));
    }

    /// Notes that the decider had no plan, at this change of the tree and after `scans` scans.
    pub(crate) fn note_idle(&self, tree: u64, scans: u64) {
        self.change(|state| (state.idle_at, state.scans_when_idle) = (Some(tree), scans));
    }

    /// Notes that no compaction pays while writers are idle, at this change of the tree.
    pub(crate) fn note_rested(&self, tree: u64) {
        self.change(|state| state.rested_at = Some(tree));
    }

    /// Notes the date at which more entries will have expired, after the decider had no plan.
    pub(crate) fn note_next_expiry(&self, next: Option<Date>) {
        self.state.lock().next_expiry = next;
    }

    /// Notes snapshots that each keep entries which no other reader sees.
    pub(crate) fn note_keepers(&self, keepers: impl IntoIterator<Item = SeqNo>) {
        self.state.lock().keepers.extend(keepers);
    }

    /// Snapshots that were noted as keepers and have not ended, as far as the board knows.
    pub(crate) fn keepers(&self) -> BTreeSet<SeqNo> {
        self.state.lock().keepers.clone()
    }

    /// Whether a snapshot was noted as a keeper.
    pub(crate) fn is_keeper(&self, snapshot: SeqNo) -> bool {
        self.state.lock().keepers.contains(&snapshot)
    }

    /// A snapshot has ended. If it was a keeper, the entries that it kept are looked at again.
    pub(crate) fn snapshot_has_ended(&self, snapshot: SeqNo) {
        self.change(|state| {
            if state.keepers.remove(&snapshot) {
                (state.idle_at, state.rested_at) = (None, None);
            }
        });
    }

    /// Lets new data go below level 0: until the answer is dropped, no compaction begins. `None` if
    /// the data overlaps a plan in flight or other new data. Waits while a plan is chosen, and for
    /// moves, which keep the turn to choose: neither waits for new data.
    pub(crate) fn admit(&self, claim: Claim) -> Option<Admitted<'_>> {
        let mut state = self.state.lock();
        while state.choosing {
            self.changed.wait(&mut state);
        }
        let known = state.running == state.claims.len();
        let mut others = state.claims.values().chain(state.admitted.values());
        if !known || others.any(|other| other.meets(&claim)) {
            return None;
        }
        let number = state.next_admitted;
        state.next_admitted += 1;
        state.admitted.insert(number, claim);
        Some(Admitted { board: self, number })
    }

    /// Asks for a manual compaction, and waits for the answer.
    pub(crate) fn request(&self, span: Span) -> Result<(), Error> {
        debug_assert!(!span.is_empty(), "a request for no keys");
        let tree = &self.signals.tree;
        let (newest, newest_run) = (tree.newest_table(), tree.newest_run());
        let mut state = self.state.lock();
        self.signals.lifecycle.check_writable()?;
        let ticket = state.next_request;
        state.next_request += 1;
        let date = runner::date();
        let tries = 0;
        let request = CompactionRequest { ticket, span, newest, newest_run, date, tries };
        state.requests.push_back(request);
        self.changed.notify_all();
        loop {
            if let Some(answer) = state.answered.remove(&ticket) {
                return answer;
            }
            self.changed.wait(&mut state);
        }
    }

    /// A task for a request has compacted a part of the range.
    pub(crate) fn note_progress(&self, request: &CompactionRequest) {
        self.state.lock().with_request(request, |request| request.tries = 0);
    }

    /// A task for a request found no space. After `tries_max` such tasks in a row, of any actors,
    /// the error is the answer.
    pub(crate) fn note_no_space(&self, request: &CompactionRequest, error: Error, tries_max: u32) {
        let tries = self.state.lock().with_request(request, |request| {
            request.tries += 1;
            request.tries
        });
        if tries.is_some_and(|tries| tries >= tries_max) {
            self.answer(request, Err(error));
        }
    }

    /// Answers a request, unless a failure has answered it.
    pub(crate) fn answer(&self, request: &CompactionRequest, result: Result<(), Error>) {
        self.change(|state| {
            let waiting = state.requests.len();
            state.requests.retain(|waiting| waiting.ticket != request.ticket);
            if state.requests.len() < waiting {
                let before = state.answered.insert(request.ticket, result);
                debug_assert!(before.is_none(), "request {} has two answers", request.ticket);
            }
        });
    }

    /// Answers all requests with an error.
    pub(crate) fn end_requests(&self, error: &Error) {
        self.change(|state| {
            while let Some(request) = state.requests.pop_front() {
                state.answered.insert(request.ticket, Err(error.clone()));
            }
        });
    }

    /// Waits until no compaction is due, including those for idle writers, and no flush. An error
    /// if the jobs stop, or find no space meanwhile.
    pub(crate) fn await_idle(&self) -> Result<(), Error> {
        let Signals { tree, space, lifecycle, counters, .. } = &self.signals;
        let groups = counters.groups.get();
        let errors = space.errors();
        let mut state = self.state.lock();
        state.awaited += 1;
        self.changed.notify_all();
        let result = loop {
            let change = tree.changes();
            let rested =
                state.rests(change) || !self.compact_at_rest || groups != counters.groups.get();
            let jobs = !state.requests.is_empty()
                || state.running > 0
                || self.seeks.is_due()
                || tree.has_immutable();
            if state.idle_at == Some(change) && rested && !jobs {
                break Ok(());
            }
            if let Err(error) = space.check_progress(lifecycle, space.errors() > errors + 1) {
                break Err(error);
            }
            self.changed.wait(&mut state);
        };
        debug_assert!(
            result.is_err() || state.claims.is_empty() && !state.choosing,
            "no task, so no claim and no choice"
        );
        state.awaited -= 1;
        result
    }
}

impl Waiter for Board {
    /// A failure answers all requests.
    fn lifecycle_has_changed(&self, failure: Option<&Error>) {
        if let Some(failure) = failure {
            self.end_requests(failure);
        }
        self.wake();
    }
}

mod turns;

#[cfg(test)]
mod tests;
