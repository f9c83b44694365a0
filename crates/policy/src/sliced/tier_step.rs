//! [`TierStep`]: a part of the merge of a tier into the next one. A large tier goes down in steps,
//! so that slices and other tiers get their turn in between.
//!
//! 1. A merge begins with all runs that the tier has. Runs that come later are not part of it.
//! 2. A step takes the first keys that are left of these runs, up to about the size of a slice. Its
//!    output is added to one run, the newest of the next tier. Readers see it at once, and the
//!    merged keys are trimmed from the runs.
//! 3. The merge has ended when nothing is left of its runs.
//! 4. A tier of at most [`WHOLE_MAX`] steps goes down as a whole. So does one whose tables
//!    only have to be moved.
//!
//! The state of a merge is the newest of its runs and the run that it writes to ([`Unfinished`]).
//! It takes the place of the tier's pointer. If it is lost, or does not fit the tree, another merge
//! begins with the rest: all runs of the tier are newer than all of the next tier.
//!
//! Pure; threads: any.

use terrace_env::codec::{Reader, Writer};

use super::slice::{Slice, SliceLimits};
use crate::plan::{Place, Plan};
use crate::tree::{RunId, RunView, TreeView};

/// A tier of at most this many steps goes down as a whole.
const WHOLE_MAX: u64 = 2;

/// A merge of a tier that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unfinished {
    /// The newest run of the tier that takes part.
    newest: RunId,
    /// Where its outputs go.
    to: RunId,
}

impl Unfinished {
    /// State that is not understood is no state.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let newest = RunId(reader.u64("newest run").ok()?);
        let to = RunId(reader.u64("output run").ok()?);
        Some(Self { newest, to })
    }

    fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put_u64(self.newest.0);
        bytes.put_u64(self.to.0);
        bytes
    }

    /// Whether something is left to merge, and can be added to the outputs: these are still the
    /// newest run of the next tier, or gone, and all of their keys are smaller.
    fn goes_on(self, tree: &TreeView, level: usize) -> bool {
        let left = self.runs(tree, level);
        let first = left.filter_map(|run| run.segments.first()).map(|s| &s.span.start).min();
        let output = tree.runs(level + 1).first().filter(|run| run.id >= self.to);
        let end = output.and_then(RunView::span).map(|span| span.end);
        let is_newest = output.is_none_or(|run| run.id == self.to);
        is_newest && first.is_some_and(|first| end.is_none_or(|end| end <= *first))
    }

    /// The runs of the tier that are part of the merge, all of them older than the others.
    fn runs(self, tree: &TreeView, level: usize) -> impl Iterator<Item = &RunView> {
        tree.runs(level).iter().filter(move |run| run.id <= self.newest)
    }

    /// How many runs have come into a tier since its merge began; `None`: it has no merge that
    /// began.
    pub(super) fn runs_since(tree: &TreeView, level: usize, state: &[u8]) -> Option<usize> {
        let begun = Self::decode(state).filter(|begun| begun.goes_on(tree, level))?;
        Some(tree.runs(level).len() - begun.runs(tree, level).count())
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct TierStep {
    pub(super) plan: Plan,
    /// The state of the tier after it; empty: the merge has ended.
    pub(super) state: Vec<u8>,
}

impl TierStep {
    /// The next step of a tier; `None`: it goes down as a whole.
    pub(super) fn of(
        tree: &TreeView,
        level: usize,
        state: &[u8],
        limits: &SliceLimits,
    ) -> Option<Self> {
        let next = tree.runs(level + 1).first();
        let begun = Unfinished::decode(state).filter(|begun| begun.goes_on(tree, level));
        let merge = match begun {
            Some(begun) => begun,
            None => {
                let to = RunId(next.map_or(0, |run| run.id.0) + 1);
                Unfinished { newest: tree.runs(level).first()?.id, to }
            }
        };
        let runs: Vec<_> = merge.runs(tree, level).map(|run| (level, run)).collect();
        let size: u64 = runs.iter().map(|(_, run)| run.size().0).sum();
        if begun.is_none() && size <= limits.size.0.saturating_mul(WHOLE_MAX) {
            return None;
        }
        let slice = Slice::of_runs(&runs, limits)?;
        let plan = slice.plan(Place { level: level as u8 + 1, run: merge.to }, limits);
        let state = if slice.end.is_some() { merge.encode() } else { Vec::new() };
        Some(Self { plan, state })
    }
}
