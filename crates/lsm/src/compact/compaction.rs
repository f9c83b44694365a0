//! One compaction, from the task to the commit: the part of [`Compactor`] that finds a plan and
//! carries it out as a [merge](super::merging) or as [trivial moves](super::trivial_move).
//!
//! Every task takes the same path:
//! 1. Segments that range tombstones cover are dropped ([`super::delete_only`]). If there were any,
//!    the task ends with that.
//! 2. The task ends if, by the counts in memory, its merge would find no space again.
//! 3. A plan is chosen ([`super::picking`]). If there is none, the board notes that.
//! 4. A plan that the tree does not allow is not carried out, and stops the engine. If a plan would
//!    move a table from an offload device, and there is space, a merge rewrites that table instead
//!    ([`super::offload`]).
//! 5. The plan's part of the tree is claimed, which ends the turn to choose. If no other plan is in
//!    flight, moves keep the turn instead, for the moves that follow them.
//! 6. The plan is carried out, and commits its own changes.
//!
//! While an actor asks the decider, it has the turn to choose and holds no lock.

use std::sync::Arc;

use terrace_env::store::Rank;
use terrace_policy::{Choice, Claim, Claims, Merge, Plan, Urgency};

use super::board::{Choosing, Claimed, Task};
use super::compactor::Compactor;
use super::delete_only::{self, Covered, Found};
use super::inputs;
use super::offload;
use super::picking::Question;
use super::trivial_move::Chooser;
use crate::Error;
use crate::canary::{self, Rule};
use crate::event::Job;
use crate::tree::{DeciderState, Version};

impl Compactor {
    /// Carries out a task.
    pub(super) fn carry_out(&self, task: &Task, choosing: Choosing<'_>) -> Result<(), Error> {
        if self.options.reclaim_first && task.is_for_shape() {
            self.store.await_reclaim();
        }
        // Before the version: a plan that ends in between counts as being in flight.
        let claims = self.claims_beside(task);
        let (version, snapshots) = (self.tree.view().version.clone(), self.tree.snapshots());
        match delete_only::find(&version, &claims, &snapshots)? {
            Found::Covered(covered) => return self.delete_only(covered),
            Found::KeptBy(snapshot) => self.board.note_keepers([snapshot]),
            Found::None => {}
        }
        self.check_refused()?;
        let question = Question::new(self, task, &claims, &snapshots);
        match question.pick(&version) {
            Some(choice) => {
                let choose: Chooser<'_> = &|tree, state| question.pick_next(tree, state);
                self.carry_out_choice(version, choice, choose, task.urgency(), choosing)
            }
            None => {
                question.nothing_is_due(&version);
                Ok(())
            }
        }
    }

    /// Claims of the plans in flight that a task must avoid.
    fn claims_beside(&self, task: &Task) -> Claims {
        let goes_around = matches!(task, Task::PickBeside { .. });
        if goes_around && !canary::is_broken(Rule::ClaimsDoNotMeet) {
            self.board.claims()
        } else {
            Claims::default()
        }
    }

    fn delete_only(&self, Covered { edit, segments, bytes }: Covered) -> Result<(), Error> {
        self.commit(edit, None)?;
        self.counters.delete_only_compactions.add(1);
        self.counters.segments_dropped.add(segments);
        self.counters.bytes_dropped.add(bytes.0);
        Ok(())
    }

    /// An error if a merge that found no space would find none again. The check uses the counts in
    /// memory, before a plan is chosen and read, because a full store is tried again as long as it
    /// is full. Covered tables are dropped before the check: that needs no space.
    fn check_refused(&self) -> Result<(), Error> {
        let Some(bytes) = self.space.refused(self.tree.changes()) else { return Ok(()) };
        self.store.reserve(Rank::Compaction, bytes).map(drop).map_err(Error::from)
    }

    /// Takes the version: a merge drops it when it begins, so that files become free during the
    /// merge.
    fn carry_out_choice(
        &self,
        version: Arc<Version>,
        choice: Choice,
        choose: Chooser<'_>,
        urgency: Urgency,
        choosing: Choosing<'_>,
    ) -> Result<(), Error> {
        self.check_plan(&version, &choice.plan)?;
        // With other plans in flight, moves are claimed. Alone, they keep the turn to choose.
        let is_alone = self.board.claims().is_empty();
        let choice = match self.unloading(&version, &choice.plan)? {
            Some(merge) => {
                let alone = || self.committer.decider_state();
                let state = if is_alone { alone() } else { self.board.chosen_state() };
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
                let merge = |progress: &_| self.merge(version, plan, state, urgency, progress);
                self.running.carry_out(job, merge)
            }
        }
    }

    /// Claims a choice's part of the tree; an error if a bug of the decider lets two plans change
    /// it.
    fn claim<'a>(&self, choosing: Choosing<'a>, choice: &Choice) -> Result<Claimed<'a>, Error> {
        choosing.claim(choice).map_err(|met| Error::IllegalPlan {
            decider: self.decider.name(),
            defect: match Claim::of(&choice.plan) {
                Some(claim) => format!("it claims {claim}, and {met} is claimed already"),
                None => "it takes nothing".to_owned(),
            },
        })
    }

    /// Checks a plan; an error if a bug of the decider would make the tree wrong.
    pub(super) fn check_plan(&self, version: &Version, plan: &Plan) -> Result<(), Error> {
        match inputs::defect(version, plan) {
            None => Ok(()),
            Some(defect) => Err(Error::IllegalPlan { decider: self.decider.name(), defect }),
        }
    }

    /// The merge that rewrites the first offloaded table of a plan's moves.
    pub(super) fn unloading(&self, version: &Version, plan: &Plan) -> Result<Option<Merge>, Error> {
        offload::unloading(&*self.store, version, plan, self.options.table_size)
    }
}

/// Description of a plan for listeners.
fn describe(plan: &Merge) -> Job {
    let from = plan.inputs.iter().map(|input| input.place.level).min().unwrap_or(0);
    let to = plan.routes.iter().map(|route| route.to.level).max().unwrap_or(0);
    let inputs = plan.inputs.iter().map(|input| input.parts.len()).sum();
    Job::Compaction { from, to, inputs }
}
