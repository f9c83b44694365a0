//! [`Everything`]: compaction that rewrites the whole tree.
//!
//! 1. Flushes collect as runs of level 0.
//! 2. When there are four, or when anything else is out of shape, all runs become one run of
//!    level 1.
//!
//! The tree is in shape with less than four runs in level 0, at most one in level 1, and none in
//! deeper levels. The decider needs no state, and does not look at zones.

use terrace_policy::{
    ByteCount, Choice, Compaction, Cut, Input, Merge, Part, Place, Plan, Pressure, Route, Span,
    TreeView, Urgency,
};

/// Runs of level 0 that start a compaction.
const RUNS: usize = 4;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Everything {
    pub(super) table_size: ByteCount,
}

/// Runs, and their places.
fn runs(tree: &TreeView) -> impl Iterator<Item = (Place, Vec<Part>)> + '_ {
    (0..).zip(&tree.levels).flat_map(|(level, of_level)| {
        of_level.runs.iter().map(move |run| {
            let part =
                |s: &terrace_policy::SegmentView| Part { file: s.file, span: s.span.clone() };
            (Place { level, run: run.id }, run.segments.iter().map(part).collect())
        })
    })
}

impl Everything {
    /// The plan that makes one run of all of them.
    fn rewrite(&self, tree: &TreeView) -> Option<Choice> {
        let inputs: Vec<_> = runs(tree).map(|(place, parts)| Input { place, parts }).collect();
        let run = inputs.iter().map(|input| input.place.run).max()?;
        let (to, cut) = (Place { level: 1, run }, Cut::at(self.table_size));
        let routes = vec![Route { end: None, to, stream: 1, cut }];
        let plan = Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false });
        Some(Choice { plan, state: Vec::new() })
    }
}

impl Compaction for Everything {
    fn name(&self) -> &'static str {
        "everything"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], urgency: Urgency) -> Option<Choice> {
        let level0 = tree.levels.first().map_or(0, |level| level.runs.len());
        let (all, below) = (runs(tree).count(), runs(tree).filter(|(at, _)| at.level > 1).count());
        let in_shape = level0 < RUNS && all - level0 <= 1 && below == 0;
        let is_due = !in_shape || urgency != Urgency::Shape && all > 1;
        is_due.then(|| self.rewrite(tree)).flatten()
    }

    fn manual_compaction(&self, tree: &TreeView, _: &[u8], span: &Span) -> Option<Choice> {
        let meets = |parts: &[Part]| parts.iter().any(|part| part.span.overlaps(span));
        let several = runs(tree).filter(|(_, parts)| meets(parts)).count() > 1;
        several.then(|| self.rewrite(tree)).flatten()
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        let level0 = tree.levels.first().map_or(0, |level| level.runs.len());
        Pressure(level0 as f64 / (3 * RUNS) as f64)
    }
}
