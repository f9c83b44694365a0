//! Compaction: the decider is asked, and what it chose is carried out without thinking, as
//! [`merging`](super::merging) describes. One actor, and workers for large merges.
//!
//! A plan is carried out to its end before the next is chosen, but for moves that follow one
//! another, which are committed together ([`relink`](super::relink)). Several disjoint plans at
//! once would keep the workers as busy as the slices of one plan do; but each decider would have
//! to tell what is still right beside plans that are under way, and a sweep or a window would have
//! to be in two states at once. So deciders see a tree at rest, and what has to wait - level 0,
//! while a large merge goes on - is told to writers as pressure.
//!
//! When nothing is due and nothing was written for [`REST_AFTER`], or a client waits for the jobs,
//! the decider is asked for what pays at rest, if the options allow it. Such a merge ends between
//! two slices when writers are back.
//!
//! What a plan did is dropped when the engine closes, but for the instalments that were committed.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::Rank;
use terrace_env::{Time, runner};
use terrace_policy::{Choice, Merge, Plan, TreeView, Urgency};

use super::inputs;
use super::relink::Chooser;
use crate::Error;
use crate::event::Job;
use crate::shared::{CompactionRequest, PanicGuard, Refused, Retry, Shared, State};
use crate::tree::Version;

/// When nothing was written for so long, writers are taken to rest.
const REST_AFTER: Duration = Duration::from_millis(500);

/// How often a client's request is tried again before the client is told that there is no space.
const REQUEST_TRIES: u32 = 5;

/// What the actor does next.
enum Task {
    Request(CompactionRequest),
    Pick { urgency: Urgency, tree: u64 },
}

impl Task {
    fn is_for_rest(&self) -> bool {
        matches!(self, Self::Pick { urgency: Urgency::Rest, .. })
    }
}

/// The actor.
pub(crate) fn run(shared: &Arc<Shared>) {
    let _guard = PanicGuard { shared, job: "a compaction" };
    let (mut retry, mut tries) = (Retry::new(), 0);
    while let Some(task) = next(shared) {
        let result = shared.check_refused().and_then(|()| match &task {
            Task::Request(request) => shared.push_down(request),
            Task::Pick { urgency, tree } => shared.keep_shape(*urgency, *tree),
        });
        {
            let mut state = shared.state.lock();
            state.compacting = false;
            state.throttle.compaction_ends(runner::now());
        }
        shared.changed.notify_all();
        match result {
            Ok(()) => (retry, tries) = (Retry::new(), 0),
            Err(error) if error.is_space() && task.is_for_rest() => {
                // Nobody waits for it.
                let mut state = shared.state.lock();
                state.rested_at = Some(state.tree_changes);
                shared.changed.notify_all();
            }
            Err(error) if error.is_space() => {
                if let Task::Pick { tree, .. } = &task {
                    shared.state.lock().refused_at = Some(*tree);
                }
                shared.note_no_space(&error);
                tries += 1;
                if let Task::Request(request) = &task
                    && tries >= REQUEST_TRIES
                {
                    shared.answer(request, Err(error));
                    tries = 0;
                }
                retry.wait(shared, shared.state.lock());
            }
            Err(error) => shared.fail("a compaction", error),
        }
    }
    shared.end_requests();
}

/// Waits for something to do; `None` when there is nothing more to do.
fn next(shared: &Shared) -> Option<Task> {
    let mut state = shared.state.lock();
    let mut rest = Rest::new(shared);
    loop {
        if state.closing {
            return None;
        }
        let tree = state.tree_changes;
        let spaceless = state.no_space.is_some() && state.spaceless_at != Some(tree);
        let task = if state.failure.is_some() || state.ingesting > 0 {
            None
        } else if let Some(request) = state.requests.front() {
            Some(Task::Request(request.clone()))
        } else if spaceless {
            Some(Task::Pick { urgency: Urgency::Space, tree })
        } else if state.settled_at != Some(tree) {
            Some(Task::Pick { urgency: Urgency::Shape, tree })
        } else if rest.is_due(shared, &state) && (state.awaited > 0 || rest.is_over(shared)) {
            Some(Task::Pick { urgency: Urgency::Rest, tree })
        } else {
            None
        };
        if task.is_some() {
            state.compacting = true;
            // What a client asks for is no burden that writers bring.
            let is_burden = |task: &Task| matches!(task, Task::Pick { .. }) && !task.is_for_rest();
            if task.as_ref().is_some_and(is_burden) {
                state.throttle.compaction_begins(runner::now());
            }
            return task;
        }
        if rest.is_due(shared, &state) {
            let _ = shared.changed.wait_until(&mut state, rest.until);
        } else {
            shared.changed.wait(&mut state);
        }
    }
}

/// Looks out for the end of [`REST_AFTER`] in which nothing was written.
struct Rest {
    /// The groups that had been written when it began.
    groups: u64,
    until: Time,
}

impl Rest {
    fn new(shared: &Shared) -> Self {
        Self { groups: shared.counters.groups.get(), until: runner::now() + REST_AFTER }
    }

    /// Whether anything is to be done once writers rest.
    fn is_due(&self, shared: &Shared, state: &State) -> bool {
        let idle = state.failure.is_none() && state.ingesting == 0 && state.waiting.is_empty();
        idle && shared.options.compact_at_rest && state.rested_at != Some(state.tree_changes)
    }

    /// Whether writers have rested; where they have not, it begins anew.
    fn is_over(&mut self, shared: &Shared) -> bool {
        if runner::now() < self.until {
            return false;
        }
        let before = std::mem::replace(self, Self::new(shared));
        before.groups == self.groups
    }
}

impl Shared {
    /// An error if a merge that found no space would find none again. Asked of the counts in
    /// memory, before anything is read: a full store is tried again for as long as it is full.
    fn check_refused(&self) -> Result<(), Error> {
        let refused = {
            let state = self.state.lock();
            state.refused.filter(|refused| refused.at == state.tree_changes)
        };
        let Some(Refused { bytes, .. }) = refused else { return Ok(()) };
        self.store.reserve(Rank::Compaction, bytes).map(drop).map_err(Error::from)
    }

    fn keep_shape(&self, urgency: Urgency, tree: u64) -> Result<(), Error> {
        let version = self.tree.view().version.clone();
        if self.drop_covered(&version)? {
            return Ok(());
        }
        let choose = |tree: &TreeView, state: &[u8]| self.decider.pick(tree, state, urgency);
        match choose(version.view(), &self.decider_state()) {
            Some(choice) => self.carry_out_choice(version, choice, &choose, urgency),
            None => {
                let mut state = self.state.lock();
                state.settled_at = Some(tree);
                match urgency {
                    Urgency::Shape => {}
                    Urgency::Rest => state.rested_at = Some(tree),
                    Urgency::Space => state.spaceless_at = Some(tree),
                }
                // Whoever waits for the jobs looks again.
                self.changed.notify_all();
                Ok(())
            }
        }
    }

    fn push_down(&self, request: &CompactionRequest) -> Result<(), Error> {
        let version = self.tree.view().version.clone();
        if self.drop_covered(&version)? {
            return Ok(());
        }
        let choose =
            |tree: &TreeView, state: &[u8]| self.decider.push_down(tree, state, &request.span);
        match choose(version.view(), &self.decider_state()) {
            Some(choice) => self.carry_out_choice(version, choice, &choose, Urgency::Shape),
            None => {
                self.answer(request, Ok(()));
                Ok(())
            }
        }
    }

    fn answer(&self, request: &CompactionRequest, result: Result<(), Error>) {
        let mut state = self.state.lock();
        let waiting = state.requests.len();
        state.requests.retain(|waiting| waiting.ticket != request.ticket);
        // Who was told of a failure has gone.
        if state.requests.len() < waiting {
            state.answered.insert(request.ticket, result);
        }
        self.changed.notify_all();
    }

    fn end_requests(&self) {
        let mut state = self.state.lock();
        let error = state.check_writable().err().unwrap_or(Error::Closed);
        state.end_requests(&error);
        self.changed.notify_all();
    }

    fn carry_out_choice(
        &self,
        version: Arc<Version>,
        choice: Choice,
        choose: Chooser<'_>,
        urgency: Urgency,
    ) -> Result<(), Error> {
        self.check_plan(&version, &choice.plan)?;
        match choice.plan {
            Plan::Relink(moves) => self.relink(&version, moves, choice.state, choose),
            Plan::Merge(plan) => {
                let job = describe(&plan);
                self.tell_of_job(job, || self.merge(version, plan, choice.state, urgency))
            }
        }
    }

    /// A decider's bug must not make the tree wrong.
    pub(crate) fn check_plan(&self, version: &Version, plan: &Plan) -> Result<(), Error> {
        match inputs::defect(version, plan) {
            None => Ok(()),
            Some(defect) => Err(Error::IllegalPlan { decider: self.decider.name(), defect }),
        }
    }
}

/// What listeners are told of a plan.
fn describe(plan: &Merge) -> Job {
    let from = plan.inputs.iter().map(|input| input.place.level).min().unwrap_or(0);
    let to = plan.routes.iter().map(|route| route.to.level).max().unwrap_or(0);
    let inputs = plan.inputs.iter().map(|input| input.parts.len()).sum();
    Job::Compaction { from, to, inputs }
}
