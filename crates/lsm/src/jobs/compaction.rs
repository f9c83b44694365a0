//! The actor of compactions, a background thread: gets a task from the [`board`](super::board),
//! asks the decider (the policy that chooses compactions) for a plan, and carries it out as a
//! [merge](super::merging) or as [trivial moves](super::trivial_move).
//!
//! - Segments that range tombstones cover are dropped before the decider is asked
//!   ([`super::delete_only`]). If any were dropped, the task ends with that.
//! - [Rewrites in place](super::in_place) drop what only snapshots kept: if the decider has nothing
//!   to do, and before it is asked if space is short.
//! - If the shape of the tree needs nothing, the decider is asked what to do about the table that
//!   reads have searched in vain ([`super::seeks`]).
//! - With the option `reclaim_first`, an actor waits until the store's reclaim rests, before it
//!   asks what the shape needs.
//! - A plan that the tree does not allow is not carried out, and stops the engine.
//! - If a plan would move a table that lies on an offload device, and there is space, the task
//!   writes that table anew at its place instead, by a merge ([`super::offload`]).
//! - A compaction that finds no space is tried again later; one for rest only after the tree has
//!   changed. A manual compaction is given up after [`REQUEST_TRIES`] such failures of its own in a
//!   row. Other errors stop the engine.
//! - When the engine closes or fails, a merge that is under way may be dropped. What it has
//!   committed stays.
//!
//! Several of these actors may run at once. An actor has the turn to choose, and holds no lock,
//! while it asks the decider.

use std::sync::Arc;

use terrace_env::store::Rank;
use terrace_policy::{Choice, Claim, Claims, Merge, Plan, TreeView, Urgency};

use super::board::{Choosing, Claimed, CompactionRequest, Task};
use super::in_place::{self, Due, WORTH, WORTH_LAST};
use super::inputs;
use super::space_pressure::Retry;
use super::trivial_move::Chooser;
use crate::Error;
use crate::canary::{self, Rule};
use crate::event::Job;
use crate::shared::{PanicGuard, Shared};
use crate::tree::{DeciderState, EndedSnapshot, Version};

/// After so many tasks for it in a row that find no space, a client's request is given up.
const REQUEST_TRIES: u32 = 5;

/// The actor.
pub(crate) fn run(shared: &Arc<Shared>) {
    let _guard = PanicGuard { shared, job: "a compaction" };
    let mut retry = Retry::new();
    while let Some((task, choosing)) = shared.board.await_task(shared) {
        let news = shared.space.news();
        let result = match &task {
            Task::Request(request) => shared.manual_compaction(request, choosing),
            Task::Pick { urgency, tree } => shared.keep_shape(*urgency, *tree, choosing),
            Task::PickBeside { tree } => shared.keep_shape_beside(*tree, choosing),
        };
        shared.board.end_task();
        shared.space.compaction_ends(task.is_burden());
        // Writers may wait in vain now.
        shared.memtables.wake();
        match result {
            Ok(()) => {
                retry = Retry::new();
                if let Task::Request(request) = &task {
                    shared.board.note_progress(request);
                }
            }
            Err(error) if error.is_space() && task.is_for_rest() => {
                shared.board.note_rested(shared.tree.changes());
            }
            Err(error) if error.is_space() => {
                if let Task::Pick { tree, .. } = &task {
                    shared.space.note_refused(*tree);
                }
                shared.note_no_space(&error);
                if let Task::Request(request) = &task {
                    shared.board.note_no_space(request, error, REQUEST_TRIES);
                }
                retry.wait(shared, news);
            }
            Err(error) => shared.fail("a compaction", error),
        }
    }
    let error = shared.lifecycle.check_writable().err().unwrap_or(Error::Closed);
    shared.board.end_requests(&error);
}

impl Shared {
    /// An error if a merge that found no space would find none again. Asked of the counts in
    /// memory, before a plan is chosen and read: a full store is tried again for as long as it is
    /// full. Covered tables are dropped before: that needs no space.
    fn check_refused(&self) -> Result<(), Error> {
        let Some(bytes) = self.space.refused(self.tree.changes()) else { return Ok(()) };
        self.store.reserve(Rank::Compaction, bytes).map(drop).map_err(Error::from)
    }

    fn keep_shape(&self, urgency: Urgency, tree: u64, choosing: Choosing<'_>) -> Result<(), Error> {
        if self.options.reclaim_first && urgency == Urgency::Shape {
            self.store.await_reclaim();
        }
        let (version, snapshots) = (self.tree.view().version.clone(), self.tree.snapshots());
        if self.delete_only_compaction(&version, &Claims::default(), &snapshots)? {
            return Ok(());
        }
        self.check_refused()?;
        let load = self.load.load(&self.counters);
        let choose =
            |tree: &TreeView, state: &[u8]| self.decider.pick_under(tree, state, urgency, &load);
        let state = self.decider_state();
        let in_place = |part, from_level| {
            self.rewrite_in_place(&version, &snapshots, Due::Worth { part, from_level })
        };
        let first = (urgency == Urgency::Space).then(|| in_place(WORTH, 0)).flatten();
        let due = first.or_else(|| choose(version.view(), &state)).or_else(|| {
            let table = (urgency == Urgency::Shape).then(|| self.seeks.take())??;
            self.decider.pick_after_seeks(version.view(), &state, table)
        });
        let due = due.or_else(|| match urgency {
            Urgency::Shape => in_place(WORTH, 1),
            Urgency::Rest => in_place(WORTH, 0),
            Urgency::Space => in_place(WORTH_LAST, 0),
        });
        match due {
            Some(choice) => self.carry_out_choice(version, choice, &choose, urgency, choosing),
            None => {
                self.board.note_keepers(in_place::keepers(&version, &snapshots));
                match urgency {
                    Urgency::Shape => {}
                    Urgency::Rest => self.board.note_rested(tree),
                    Urgency::Space => self.space.note_exhausted(tree),
                }
                self.board.note_idle(tree, load.scans);
                self.look_for_ended_keepers();
                Ok(())
            }
        }
    }

    /// Snapshots may have ended after they were looked at, and before it was noted what they keep.
    fn look_for_ended_keepers(&self) {
        let alive = self.tree.snapshots();
        for sequence in self.board.keepers() {
            if alive.binary_search(&sequence).is_err() {
                self.snapshot_has_ended(EndedSnapshot { sequence, was_oldest: false });
            }
        }
    }

    /// Carries out another plan beside those that are under way, if there is one.
    fn keep_shape_beside(&self, tree: u64, choosing: Choosing<'_>) -> Result<(), Error> {
        let hidden = canary::is_broken(Rule::ClaimsDoNotMeet);
        let claims = if hidden { Claims::default() } else { self.board.claims() };
        let (version, snapshots) = (self.tree.view().version.clone(), self.tree.snapshots());
        if self.delete_only_compaction(&version, &claims, &snapshots)? {
            return Ok(());
        }
        self.check_refused()?;
        let state = self.board.chosen_state();
        match self.decider.pick_beside(version.view(), &claims, &state) {
            // Only one: the choice that follows it would have to be free as well.
            Some(choice) => {
                self.carry_out_choice(version, choice, &|_, _| None, Urgency::Shape, choosing)
            }
            None => {
                self.board.note_nothing_beside(tree);
                Ok(())
            }
        }
    }

    fn manual_compaction(
        &self,
        request: &CompactionRequest,
        choosing: Choosing<'_>,
    ) -> Result<(), Error> {
        let (version, snapshots) = (self.tree.view().version.clone(), self.tree.snapshots());
        if self.delete_only_compaction(&version, &Claims::default(), &snapshots)? {
            return Ok(());
        }
        self.check_refused()?;
        let choose = |tree: &TreeView, state: &[u8]| {
            self.decider.manual_compaction(tree, state, &request.span)
        };
        let due = choose(version.view(), &self.decider_state());
        let in_place = Due::All(&request.span);
        match due.or_else(|| self.rewrite_in_place(&version, &snapshots, in_place)) {
            Some(choice) => {
                self.carry_out_choice(version, choice, &choose, Urgency::Shape, choosing)
            }
            None => {
                self.board.answer(request, Ok(()));
                Ok(())
            }
        }
    }

    fn carry_out_choice(
        &self,
        version: Arc<Version>,
        choice: Choice,
        choose: Chooser<'_>,
        urgency: Urgency,
        choosing: Choosing<'_>,
    ) -> Result<(), Error> {
        self.check_plan(&version, &choice.plan)?;
        // Beside others, moves are claimed; alone, they keep the turn to choose for what follows.
        let is_alone = self.board.claims().is_empty();
        let choice = match self.unloading(&version, &choice.plan)? {
            Some(merge) => {
                let state = if is_alone { self.decider_state() } else { self.board.chosen_state() };
                Choice { plan: Plan::Merge(merge), state }
            }
            None => choice,
        };
        if let Choice { plan: Plan::TrivialMove(moves), state } = &choice
            && is_alone
        {
            let (moves, bytes) = (moves.clone(), state.clone());
            let state = DeciderState { choice: choosing.number(), bytes };
            return self.move_trivially(&version, moves, state, choose);
        }
        let claimed = self.claim(choosing, &choice)?;
        let state = DeciderState { choice: claimed.number(), bytes: choice.state };
        match choice.plan {
            Plan::TrivialMove(moves) => self.move_trivially(&version, moves, state, choose),
            Plan::Merge(plan) => {
                let job = describe(&plan);
                self.tell_of_job(job, || self.merge(version, plan, state, urgency))
            }
        }
    }

    /// A decider's bug must not let two plans change the same part of the tree.
    fn claim<'a>(&self, choosing: Choosing<'a>, choice: &Choice) -> Result<Claimed<'a>, Error> {
        choosing.claim(choice).map_err(|met| Error::IllegalPlan {
            decider: self.decider.name(),
            defect: match Claim::of(&choice.plan) {
                Some(claim) => format!("it claims {claim}, and {met} is claimed already"),
                None => "it takes nothing".to_owned(),
            },
        })
    }

    /// A decider's bug must not make the tree wrong.
    pub(crate) fn check_plan(&self, version: &Version, plan: &Plan) -> Result<(), Error> {
        match inputs::defect(version, plan) {
            None => Ok(()),
            Some(defect) => Err(Error::IllegalPlan { decider: self.decider.name(), defect }),
        }
    }
}

/// Description of a plan for listeners.
fn describe(plan: &Merge) -> Job {
    let from = plan.inputs.iter().map(|input| input.place.level).min().unwrap_or(0);
    let to = plan.routes.iter().map(|route| route.to.level).max().unwrap_or(0);
    let inputs = plan.inputs.iter().map(|input| input.parts.len()).sum();
    Job::Compaction { from, to, inputs }
}
