//! [`Question`]: the question of one task to the decider (the policy that chooses compactions), and
//! the answer.
//!
//! | task | the decider is asked for | if it has no plan |
//! |---|---|---|
//! | a client's request | a manual compaction of the range | a rewrite in place of the range |
//! | lack of space | a plan that frees space | a rewrite in place |
//! | shape of the tree | a plan | the table with too many misses; a rewrite in place |
//! | idle writers | a plan that pays only then | a rewrite in place |
//! | next to other plans | a plan that their claims allow | nothing |
//!
//! If space is short, a [rewrite in place](super::in_place) that is worth it goes before the
//! decider. Where plans for space cannot be [worth it](is_worth), the decider is asked what the
//! shape of the tree needs. If nothing is due, the board notes that ([`Question::nothing_is_due`]),
//! and asks the decider again only after a change.
//!
//! For a client's request, the decider sees the tree without the runs of level 0 that came after
//! the request. A plan for that tree is one for the whole tree: newer runs stay over its outputs.
//!
//! The actor that asks has the turn to choose, and holds no lock.

use std::borrow::Cow;

use terrace_env::{Date, SeqNo, runner};
use terrace_policy::{Choice, Claims, Load, Plan, RunId, RunView, Span, TreeView, Urgency};

use super::board::{CompactionRequest, Task};
use super::compactor::Compactor;
use super::in_place::{self, Due, WORTH, WORTH_LAST};
use crate::space::is_worth;
use crate::tree::{EndedSnapshot, Version};

/// See the [module](self).
pub(super) struct Question<'a> {
    of: &'a Compactor,
    task: &'a Task,
    /// Claims of the plans in flight that the answer must avoid.
    claims: &'a Claims,
    /// Snapshots that are alive, ascending.
    snapshots: &'a [SeqNo],
    load: Load,
    /// Date of the question.
    date: Date,
    /// The decider's state before the answer.
    state: Vec<u8>,
}

impl<'a> Question<'a> {
    pub(super) fn new(
        of: &'a Compactor,
        task: &'a Task,
        claims: &'a Claims,
        snapshots: &'a [SeqNo],
    ) -> Self {
        let state = match task {
            Task::PickBeside { .. } => of.board.chosen_state(),
            Task::Pick { .. } | Task::Request(_) => of.committer.decider_state(),
        };
        let load = of.load.load(&of.counters);
        Self { of, task, claims, snapshots, load, date: runner::date(), state }
    }

    /// The choice that is due, if there is one.
    pub(super) fn pick(&self, version: &Version) -> Option<Choice> {
        let decided = || self.ask(version.view(), &self.state);
        let worth = |part, from_level| {
            self.in_place(version, Due::Worth { part, from_level, date: self.date })
        };
        match self.task {
            Task::PickBeside { .. } => decided(),
            Task::Request(request) => {
                // Once the clock was set back, a rewrite keeps what had expired at the request.
                let date = request.date.min(self.date);
                let (span, newest_run) = (&request.span, request.newest_run);
                let all = || self.in_place(version, Due::All { span, date, newest_run });
                decided().or_else(all).or_else(|| self.unfiltered(version, request))
            }
            Task::Pick { urgency: Urgency::Space, .. } => {
                let is_worth = || is_worth(version, self.of.store.space().dead);
                let decided = || if is_worth() { decided() } else { self.shape(version) };
                worth(WORTH, 0).or_else(decided).or_else(|| worth(WORTH_LAST, 0))
            }
            Task::Pick { urgency: Urgency::Shape | Urgency::All, .. } => {
                decided().or_else(|| self.after_seeks(version)).or_else(|| worth(WORTH, 1))
            }
            Task::Pick { urgency: Urgency::Rest, .. } => decided().or_else(|| worth(WORTH, 0)),
        }
    }

    /// The choice after moves, for the tree and the decider's state that they lead to.
    pub(super) fn pick_next(&self, tree: &TreeView, state: &[u8]) -> Option<Choice> {
        match self.task {
            // The choice would have to be free of claims as well.
            Task::PickBeside { .. } => None,
            Task::Pick { .. } | Task::Request(_) => self.ask(tree, state),
        }
    }

    fn ask(&self, tree: &TreeView, state: &[u8]) -> Option<Choice> {
        let decider = &self.of.decider;
        match self.task {
            Task::Request(request) => {
                let tree = up_to(tree, request.newest_run);
                decider.manual_compaction(&tree, state, &request.span)
            }
            Task::Pick { urgency, .. } => decider.pick_under(tree, state, *urgency, &self.load),
            Task::PickBeside { .. } => decider.pick_beside(tree, self.claims, state),
        }
    }

    /// The decider's choice for the shape of the tree, for a task that needs space.
    fn shape(&self, version: &Version) -> Option<Choice> {
        let tree = version.view();
        self.of.decider.pick_under(tree, &self.state, Urgency::Shape, &self.load)
    }

    /// The decider's choice for the table with too many misses.
    fn after_seeks(&self, version: &Version) -> Option<Choice> {
        let table = self.of.board.seeks().take()?;
        self.of.decider.pick_after_seeks(version.view(), &self.state, table)
    }

    /// A rewrite in place of tables of a request whose values are to be filtered.
    fn unfiltered(&self, version: &Version, request: &CompactionRequest) -> Option<Choice> {
        let filter = self.of.value_filter(self.snapshots);
        let within = |span: Span| {
            let (start, end) = (span.start.max(request.span.start.clone()), span.end);
            Span { start, end: end.min(request.span.end.clone()) }
        };
        let spans = filter.spans().into_iter().map(within).filter(|span| !span.is_empty());
        let spans: Vec<Span> = spans.collect();
        self.in_place(version, Due::Unfiltered { spans: &spans, newest: request.newest })
    }

    /// A rewrite in place, which leaves the decider's state as it was.
    fn in_place(&self, version: &Version, due: Due<'_>) -> Option<Choice> {
        let size = self.of.options.table_size;
        let merge = in_place::choose(version, self.snapshots, due, size)?;
        Some(Choice { plan: Plan::Merge(merge), state: self.state.clone() })
    }

    /// Notes that no compaction is due, and answers a request.
    pub(super) fn nothing_is_due(&self, version: &Version) {
        let (board, space) = (&self.of.board, &self.of.space);
        match self.task {
            Task::Request(request) => board.answer(request, Ok(())),
            Task::PickBeside { tree } => board.note_nothing_beside(*tree),
            Task::Pick { urgency, tree } => {
                board.note_keepers(in_place::keepers(version, self.snapshots));
                let next_expiry = in_place::next_expiry(version, self.date);
                board.note_next_expiry(next_expiry);
                match urgency {
                    Urgency::Shape | Urgency::All => {}
                    Urgency::Rest => board.note_rested(*tree),
                    Urgency::Space => space.note_exhausted(*tree, next_expiry),
                }
                board.note_idle(*tree, self.load.scans);
                self.look_for_ended_keepers();
            }
        }
    }

    /// Looks for snapshots that ended before the board noted them as keepers.
    fn look_for_ended_keepers(&self) {
        let alive = self.of.tree.snapshots();
        for sequence in self.of.board.keepers() {
            if alive.binary_search(&sequence).is_err() {
                let ended = EndedSnapshot { sequence, was_oldest: false };
                self.of.notifier.snapshot_has_ended(ended);
            }
        }
    }
}

/// The tree without the runs of level 0 that are newer than this one.
fn up_to(tree: &TreeView, newest: Option<RunId>) -> Cow<'_, TreeView> {
    let is_newer = |run: &RunView| Some(run.id) > newest;
    if !tree.runs(0).iter().any(is_newer) {
        return Cow::Borrowed(tree);
    }
    let mut tree = tree.clone();
    tree.levels[0].runs.retain(|run| !is_newer(run));
    Cow::Owned(tree)
}
