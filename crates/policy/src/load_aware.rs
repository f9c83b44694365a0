//! [`LoadAware`]: wraps the compaction decider of any system (of its *row* of deciders), and says
//! when the compactions of that decider are carried out: not as soon as they are due, but once they
//! pay.
//!
//! Why: a compaction that merges few new bytes rewrites many old ones. The less a drive has to do,
//! the sooner everything is compacted, and the fewer new bytes each compaction finds. Pitchumani
//! ("Data Management for Storage on Shingled Disks", section 5.4.3, table 5.1) measured 500 bytes
//! for one at 100 operations a second, with a checker that pushes everything to the last level
//! whenever there is nothing else to do, and asked for a scheme that finds out when to compact.
//!
//! # Which merges are carried out
//! Let a merge bring `N` newer bytes a level deeper, rewrite `M` older ones there, and do away with
//! `r` runs ([`Gain`]). Let `S` be the bytes that the medium could have moved while scans went to
//! one run, for each byte that was written ([`Load::seeks_per_byte`]). The choices of the row are
//! looked at in its own order ([`Compaction::choices`]), and the first one that pays is carried
//! out.
//!
//! 1. *Urgent*: under [`Urgency::Space`], where tables take more than half of the store, and if
//!    writers would be held back after two flushes more, the row decides alone. Exception: where
//!    tables overlap in every level, writers wait for level 0 only, so its merge goes first.
//! 2. *Due*, by the shape of the tree: a merge pays when `M / N` is at most `rewrite_max`. Trivial
//!    moves, merges that read one run, merges that drop many tombstones, and merges that drain
//!    another layout always pay. A merge within a level of overlapping tables never does: see 4.
//! 3. *Optional*, if nothing due pays: the row's choices for scans
//!    ([`Compaction::choices_for_scans`]). By default these are those under [`Urgency::All`],
//!    which end with every key in one run. A merge of several runs pays when `M / N` is at most
//!    `rewrite_max`, and at most `r S / 2`, or if it drops many tombstones.
//! 4. *Slices*, if nothing else pays, where tables overlap in every level
//!    ([`Compaction::for_readers`]): in a range of keys, the newer runs of a level become one, as
//!    long as that rewrites few older bytes. So the load pays for the runs that its scans will
//!    meet.
//!
//! Manual compactions are the row's. Merges after point reads ([`Compaction::seeks_allowed`]) are
//! not carried out: rule 3 says what readers pay for.
//!
//! # Two rules that do not weigh
//! - [`LoadRule::Eager`] is the thesis's checker as it works at low rates, for any row and for
//!   comparisons: all that the row would do for space is carried out at once.
//! - [`LoadRule::Idle`] is a checker that heeds writers (thesis, section 5.3: merges are more
//!   aggressive when there are fewer writes). While clients write, it carries out compactions that
//!   the row has due. At rest, it also carries out all that the row would do for space, so that the
//!   next burst finds empty buffers. A merge at rest ends early when a write comes.
//!
//! # Cost
//! - *Bytes written.* A byte goes down a level by a merge that writes `1 + M / N` bytes for it. By
//!   rules 2 and 3 these are at most `1 + rewrite_max`. After `l` levels, `l (1 + rewrite_max)` are
//!   written for one; merges that always pay, and slices, come on top. A merge waits until the
//!   levels above hold `1 / rewrite_max` of the bytes that it meets. Urgent merges can cost more,
//!   up to the cost under a full load. Eager: each memtable of `F` bytes is merged with all `D`
//!   bytes of the store, so that `D / F` are written for one.
//! - *Bytes written by slices.* For each byte at most `(1 + q) log(D / F) / log(1 + q)`, in a level
//!   of `D` bytes that gets `F` bytes at a time, with `q = 8` (`smrdb/slice.rs`). In
//!   `arrivals/low-rates` that is 19.5 if four memtables come at a time, and 25 if each comes
//!   alone. Measured are 9.2 and 11.9 there, those of level 0 among them.
//! - *Runs.* Level 0 may come to hold two runs less than the number at which writers are held back.
//!   Deeper levels are one run each where the row has it so. By slices, a key lies in `1 + log(D /
//!   F) / log(1 + q)` runs of a level of overlapping tables at most.
//! - *The rule of scans.* Let new bytes come in runs of `F`, and be merged every `k` runs. For each
//!   byte that is written, scans spend `S k / 2` on the runs that wait, and the merge `M / (k F)`
//!   on old bytes. The sum is least at `k² = 2 M / (S F)`. A merge of `r = k` runs, `N = k F`, has
//!   waited that long when `M / N = r S / 2`, which is rule 3. (LevelDB exchanges seeks for bytes
//!   in the same way: `allowed_seeks`, `db/version_edit.h`.)
//!
//! # Not done here
//! Scans that find everything in memory count like those that seek. The time of a merge, and the
//! operations that wait for it, are not reckoned.
//!
//! The decider has no state of its own: the state is the row's. Threads: as with any decider.

mod gain;

use std::sync::Arc;

use terrace_env::{ByteCount, FileId};

use crate::claims::Claims;
use crate::compaction::{Choice, Compaction, Pressure, Urgency, WriteRule};
use crate::intake::FlushRoute;
use crate::load::Load;
use crate::plan::{Place, Plan};
use crate::tree::{RunId, RunView, Span, TreeView};
use gain::{Gain, drops_tombstones, is_within_a_level};

/// Number of flushes before writers would be held back at which no compaction is held back any
/// more: the merge that they wait for takes a while.
const FLUSHES_AHEAD: u64 = 2;

/// When compactions of a row are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadRule {
    /// Compactions run when the row has them due.
    #[default]
    Off,
    /// Compactions run when they pay.
    Aware,
    /// Compactions run as long as there is anything to merge.
    Eager,
    /// Compactions run when the row has them due, and at rest as long as there is anything to
    /// merge.
    Idle,
}

impl LoadRule {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Off, Self::Aware, Self::Eager, Self::Idle];
}

/// A row's decider, and when its choices are carried out. See the [module](self).
#[derive(Clone, Debug)]
pub struct LoadAware {
    row: Arc<dyn Compaction>,
    rule: LoadRule,
    rewrite_max: f64,
    capacity: ByteCount,
}

impl LoadAware {
    /// Around a row's decider, in a store of `capacity` bytes. `rewrite_max`: the most older bytes
    /// that a merge may rewrite for each newer one.
    #[must_use]
    pub fn new(
        row: Arc<dyn Compaction>,
        rule: LoadRule,
        rewrite_max: u16,
        capacity: ByteCount,
    ) -> Self {
        Self { row, rule, rewrite_max: rewrite_max.max(1).into(), capacity }
    }

    /// Whether writers would be held back if a few memtables more were flushed.
    fn is_near_slowdown(&self, tree: &TreeView) -> bool {
        let Some(newest) = tree.runs(0).first() else { return false };
        let mut next = tree.clone();
        for more in 1..=FLUSHES_AHEAD {
            let id = RunId(newest.id.0.saturating_add(more));
            next.levels[0].runs.insert(0, RunView { id, ..newest.clone() });
        }
        match self.row.write_rule(&next) {
            WriteRule::Free => false,
            WriteRule::Paced(pressure) => pressure >= Pressure::START,
            WriteRule::Delayed | WriteRule::Stopped => true,
        }
    }

    /// Rule 1, as far as it is about the tree.
    fn is_urgent(&self, tree: &TreeView) -> bool {
        self.is_full(tree) || self.is_near_slowdown(tree)
    }

    /// Whether tables take more than half of the store.
    fn is_full(&self, tree: &TreeView) -> bool {
        let size: u64 = tree.levels.iter().map(|level| level.size().0).sum();
        size > self.capacity.0 / 2
    }

    /// Rules 2 and 3: whether a choice is carried out. `optional`: the shape does not ask for it.
    fn pays(&self, tree: &TreeView, choice: &Choice, load: &Load, optional: bool) -> bool {
        let merge = match &choice.plan {
            Plan::Merge(merge) if merge.inputs.len() > 1 => merge,
            // No run less, for readers.
            _ => return !optional,
        };
        if drops_tombstones(tree, merge) {
            return true;
        }
        if is_within_a_level(merge) {
            return !self.row.allows_overlaps();
        }
        let gain = Gain::of(tree, merge);
        debug_assert!(gain.runs > 0 && load.seeks_per_byte() >= 0.0, "{gain:?} under {load:?}");
        let scans = gain.runs as f64 * load.seeks_per_byte() / 2.0;
        let most = if optional { scans } else { f64::INFINITY };
        gain.rewritten as f64 <= gain.moved as f64 * most.min(self.rewrite_max)
    }

    /// Rule 1.
    fn urgent(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice> {
        let is_for_space = urgency == Urgency::Space || self.is_full(tree);
        if self.row.allows_overlaps() && !is_for_space {
            let mut choices = self.row.choices(tree, state, urgency).into_iter();
            if let Some(level0) = choices.find(takes_level0) {
                return Some(level0);
            }
        }
        self.row.pick(tree, state, urgency)
    }

    fn pick_aware(
        &self,
        tree: &TreeView,
        state: &[u8],
        urgency: Urgency,
        load: &Load,
    ) -> Option<Choice> {
        if urgency == Urgency::Space || self.is_urgent(tree) {
            return self.urgent(tree, state, urgency);
        }
        let first = |choices: Vec<Choice>, optional| {
            let mut choices = choices.into_iter();
            choices.find(|choice| self.pays(tree, choice, load, optional))
        };
        let due = first(self.row.choices(tree, state, Urgency::Shape), false);
        let choice = due.or_else(|| first(self.row.choices_for_scans(tree, state), true));
        choice.or_else(|| self.row.for_readers(tree, state))
    }
}

fn takes_level0(choice: &Choice) -> bool {
    match &choice.plan {
        Plan::Merge(merge) => merge.inputs.iter().any(|input| input.place.level == 0),
        Plan::TrivialMove(moves) => moves.iter().any(|one| one.from.level == 0),
    }
}

impl Compaction for LoadAware {
    fn name(&self) -> &'static str {
        self.row.name()
    }

    fn pick(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice> {
        self.pick_under(tree, state, urgency, &Load::default())
    }

    fn pick_under(
        &self,
        tree: &TreeView,
        state: &[u8],
        urgency: Urgency,
        load: &Load,
    ) -> Option<Choice> {
        match (self.rule, urgency) {
            (LoadRule::Aware, _) => self.pick_aware(tree, state, urgency, load),
            (LoadRule::Eager, _) | (LoadRule::Idle, Urgency::Rest) => {
                self.row.pick(tree, state, Urgency::All)
            }
            (LoadRule::Off | LoadRule::Idle, _) => self.row.pick(tree, state, urgency),
        }
    }

    fn heeds_load(&self) -> bool {
        self.rule == LoadRule::Aware
    }

    fn seeks_allowed(&self, size: ByteCount) -> Option<u64> {
        self.row.seeks_allowed(size).filter(|_| self.rule != LoadRule::Aware)
    }

    fn pick_after_seeks(&self, tree: &TreeView, state: &[u8], table: FileId) -> Option<Choice> {
        let choice = self.row.pick_after_seeks(tree, state, table);
        choice.filter(|_| self.rule != LoadRule::Aware)
    }

    fn jobs_max(&self) -> usize {
        self.row.jobs_max()
    }

    fn pick_beside(&self, tree: &TreeView, claims: &Claims, state: &[u8]) -> Option<Choice> {
        let choice = self.row.pick_beside(tree, claims, state)?;
        let load = Load::default();
        let passes = self.rule != LoadRule::Aware
            || self.is_urgent(tree)
            || self.pays(tree, &choice, &load, false);
        passes.then_some(choice)
    }

    fn manual_compaction(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice> {
        self.row.manual_compaction(tree, state, span)
    }

    fn moves_together(&self) -> usize {
        self.row.moves_together()
    }

    fn flush_routes(&self, tree: &TreeView, span: &Span) -> Vec<FlushRoute> {
        self.row.flush_routes(tree, span)
    }

    fn flush_routes_max(&self) -> usize {
        self.row.flush_routes_max()
    }

    fn ingest_place(&self, tree: &TreeView, span: &Span) -> Option<Place> {
        self.row.ingest_place(tree, span)
    }

    fn histogram_max(&self) -> ByteCount {
        self.row.histogram_max()
    }

    fn writes_in_order(&self) -> bool {
        self.row.writes_in_order()
    }

    fn reads_sets(&self) -> bool {
        self.row.reads_sets()
    }

    fn allows_overlaps(&self) -> bool {
        self.row.allows_overlaps()
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        self.row.pressure(tree)
    }

    fn write_rule(&self, tree: &TreeView) -> WriteRule {
        self.row.write_rule(tree)
    }
}
