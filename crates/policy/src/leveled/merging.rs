//! Steps 3 and 4 of [leveled compaction](super): makes a merge or a trivial move of chosen
//! segments. It finds the segments that these overlap in the run where they go, and the rule by
//! which outputs end.

use terrace_env::ByteCount;

use super::{LEVEL_STREAM_FIRST, Leveled};
use crate::compaction::Choice;
use crate::plan::{Cut, Grandparent, Input, Merge, Move, Part, Place, Plan, Route};
use crate::sets;
use crate::tree::{Key, RunId, SegmentView, Segments, Span, TreeView};

/// Levels above this one have no sets: tables of level 1 are merged by several runs of level 0 at
/// once (SEALDB, section III-A).
const SETS_FROM: usize = 2;

/// Segments of one run that go elsewhere.
pub(super) struct Source<'a> {
    pub(super) place: Place,
    pub(super) segments: Vec<&'a SegmentView>,
}

/// Where the set ends that a merge of tables of one run into the next level writes, unless with the
/// last table that it meets.
fn end_of_set(tree: &TreeView, sources: &[Source<'_>], to: Place) -> Option<Key> {
    let [source] = sources else { return None };
    let is_above = source.place.level + 1 == to.level;
    sets::end_of_set(tree, source.place, &source.segments).filter(|_| is_above)
}

impl Leveled {
    /// Step 3, into the run of `level`.
    pub(super) fn merge_into(
        &self,
        tree: &TreeView,
        sources: Vec<Source<'_>>,
        level: usize,
        state: Vec<u8>,
    ) -> Choice {
        let run = tree.runs(level).last().map_or(RunId(1), |run| run.id);
        self.merge_to(tree, sources, Place { level: level as u8, run }, state)
    }

    pub(super) fn merge_to(
        &self,
        tree: &TreeView,
        sources: Vec<Source<'_>>,
        to: Place,
        state: Vec<u8>,
    ) -> Choice {
        let segments = || sources.iter().flat_map(|source| &source.segments);
        let hull = segments()
            .map(|segment| segment.span.clone())
            .reduce(|hull, span| hull.hull(&span))
            .expect("a compaction of at least one segment");
        debug_assert!(
            sources.iter().all(|source| source.place.age() < to.age()),
            "data of {:?} to {to}",
            sources.iter().map(|source| source.place).collect::<Vec<_>>()
        );
        let level = usize::from(to.level);
        let target = tree.runs(level).iter().find(|run| run.id == to.run);
        let met = target.map_or_else(Segments::default, |run| run.overlapping(&hull));
        let set = self.options.sets && level >= SETS_FROM;
        let end =
            if set && !self.options.whole_inputs { end_of_set(tree, &sources, to) } else { None };
        let mostly_data = segments().all(|segment| segment.tombstones * 4 <= segment.entries);
        let is_small = !self.options.check_moves || {
            let below = tree.runs(level + 1).iter().flat_map(|run| run.overlapping(&hull));
            below.map(|table| table.size.0).sum::<u64>() <= self.overlap_max().0
        };
        if met.is_empty() && sources.len() == 1 && mostly_data && is_small {
            let from = sources[0].place;
            let moves = segments().map(|segment| Move { part: part(segment), from, to: Some(to) });
            return Choice { plan: Plan::TrivialMove(moves.collect()), state };
        }
        let mut inputs: Vec<Input> = sources
            .iter()
            .map(|source| Input {
                place: source.place,
                parts: source.segments.iter().map(|segment| part(segment)).collect(),
            })
            .collect();
        let met = match (&end, target) {
            (Some(end), Some(run)) if !met.is_empty() => {
                run.overlapping(&Span { start: hull.start.clone(), end: Key::clone(end) })
            }
            _ => met,
        };
        if !met.is_empty() {
            let before_end = |segment: &SegmentView| {
                let Part { file, mut span } = part(segment);
                span.end = end.iter().fold(span.end, |last, end| last.min(end.clone()));
                Part { file, span }
            };
            inputs.push(Input { place: to, parts: met.iter().map(before_end).collect() });
        }
        let hull = met.iter().fold(hull, |hull, segment| hull.hull(&segment.span));
        let cut = self.cut(tree, level, &hull);
        let stream = LEVEL_STREAM_FIRST + u16::from(to.level);
        let routes = vec![Route { end: None, to, stream, cut }];
        Choice { plan: Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set }), state }
    }

    /// How many bytes of the level after its own an output may overlap.
    pub(super) fn overlap_max(&self) -> ByteCount {
        ByteCount(self.options.table_size.0 * u64::from(self.options.overlap_tables))
    }

    /// Step 4: where outputs for `level` within `hull` end.
    pub(crate) fn cut(&self, tree: &TreeView, level: usize, hull: &Span) -> Cut {
        let runs = tree.runs(level + 1).iter();
        let mut grandparents: Vec<Grandparent> = runs
            .flat_map(|run| run.overlapping(hull))
            .map(|segment| Grandparent { end: segment.span.end.clone(), size: segment.size })
            .collect();
        grandparents.sort_by(|a, b| a.end.cmp(&b.end));
        let size = self.options.table_size;
        let overlap_max = self.overlap_max();
        let aligned_from = match self.options.aligned_from {
            100.. => ByteCount(u64::MAX),
            percent => ByteCount((size.0.saturating_mul(percent.into()) / 100).max(1)),
        };
        let carry_overlap = self.options.carry_overlap;
        Cut { size, keys: Vec::new(), grandparents, overlap_max, carry_overlap, aligned_from }
    }
}

pub(crate) fn part(segment: &SegmentView) -> Part {
    Part { file: segment.file, span: segment.span.clone() }
}
