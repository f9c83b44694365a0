//! [`Gain`]: how many newer bytes a merge brings deeper, how many older ones it rewrites for that,
//! and how many runs it does away with. It also tells whether a merge stays within a level, and
//! whether it drops many tombstones.
//!
//! The newer bytes are those of the levels above the deepest one that the merge reads; where it
//! reads one level, those of all runs but the oldest. A part of a table counts as the whole table.

use crate::plan::{Input, Merge, Part};
use crate::tree::{SegmentView, TreeView};

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    /// Newer bytes, which come deeper.
    pub(super) moved: u64,
    /// Older bytes, which are rewritten where they are.
    pub(super) rewritten: u64,
    /// How many runs there are less when it is done.
    pub(super) runs: usize,
}

impl Gain {
    /// The gain of a merge of one run or more into a deeper level.
    pub(super) fn of(tree: &TreeView, merge: &Merge) -> Self {
        let levels = || merge.inputs.iter().map(|input| input.place.level);
        let deepest = levels().max().unwrap_or_default();
        let is_one = levels().all(|level| level == deepest);
        let oldest = merge.inputs.last().map(|input| input.place);
        let is_older = |input: &Input| match is_one {
            true => Some(input.place) == oldest,
            false => input.place.level == deepest,
        };
        let bytes = |older: bool| -> u64 {
            let of = merge.inputs.iter().filter(|input| is_older(input) == older);
            of.flat_map(|input| segments(tree, input)).map(|segment| segment.size.0).sum()
        };
        debug_assert!(!merge.inputs.is_empty(), "a merge of nothing");
        let runs = merge.inputs.len().saturating_sub(1);
        Self { moved: bytes(false), rewritten: bytes(true), runs }
    }
}

/// The segments that an input takes parts of.
fn segments<'a>(tree: &'a TreeView, input: &'a Input) -> impl Iterator<Item = &'a SegmentView> {
    let runs = tree.runs(input.place.level.into()).iter();
    let runs = runs.filter(|run| run.id == input.place.run);
    runs.flat_map(|run| {
        let of = |Part { file, span }: &'a Part| {
            run.overlapping(span).into_iter().filter(move |segment| segment.file == *file)
        };
        input.parts.iter().flat_map(of)
    })
}

/// Whether all inputs of a merge stay in their level.
pub(super) fn is_within_a_level(merge: &Merge) -> bool {
    let to = merge.routes.iter().map(|route| route.to.level);
    let mut levels = to.chain(merge.inputs.iter().map(|input| input.place.level));
    let first = levels.next();
    levels.all(|level| Some(level) == first)
}

/// Whether half of the entries of one of the newer tables are tombstones.
pub(super) fn drops_tombstones(tree: &TreeView, merge: &Merge) -> bool {
    let mut newer = merge.inputs.iter().rev().skip(1).flat_map(|input| segments(tree, input));
    newer.any(|table| table.tombstones > 0 && table.tombstones * 2 >= table.entries)
}
