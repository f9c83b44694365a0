//! Steps 5, 7 and 8 of [leveled compaction](super): compactions while no level is over its target.
//!
//! - Tables of whose entries at least half are tombstones go down.
//! - At rest, level 0 is merged where that is cheap.
//! - If space is short, tables of whose entries a 16th are tombstones go down, then tables that
//!   overlap one of a lower level, of the deepest such level first, then level 0, then a table with
//!   any tombstone. From the bottom up each byte is moved into a level that has room: from the top
//!   down, each memtable would be merged with all of level 1, and that with all of level 2.

use super::Leveled;
use crate::compaction::{Choice, Urgency};
use crate::plan::Plan;
use crate::pointers::Pointers;
use crate::tree::{SegmentView, Span, TreeView};

/// At rest, level 0 is merged if it meets at most this many times its own bytes in level 1: the
/// merge then writes five bytes for one, and level 0 would be merged at that price or a lower one
/// later.
const REST_RATIO: u64 = 4;

/// At rest, level 0 is not merged if its entries have this many bytes or more on average. To merge
/// an entry of this size costs as much processor time as dozens of gets that filters answer.
const REST_ENTRY_MAX: u64 = 32 << 10;

/// If space is short, tables go first that have a tombstone in 16 entries, or more of them.
const SPACE_SHARE: u64 = 16;

impl Leveled {
    /// A plan that drops overwritten or deleted entries though the tree is in shape.
    pub(crate) fn beyond_shape(&self, tree: &TreeView, urgency: Urgency) -> Option<Plan> {
        Some(self.beyond(tree, &self.pointers(tree, &[]), urgency)?.plan)
    }

    pub(super) fn beyond(
        &self,
        tree: &TreeView,
        state: &Pointers,
        urgency: Urgency,
    ) -> Option<Choice> {
        match urgency {
            Urgency::Shape => self.tombstones_down(tree, state, 2),
            Urgency::Rest => {
                self.tombstones_down(tree, state, 2).or_else(|| self.level0_at_rest(tree, state))
            }
            Urgency::Space => self
                .tombstones_down(tree, state, SPACE_SHARE)
                .or_else(|| self.cheapest_covering(tree, state))
                .or_else(|| self.level0_oldest(tree, state))
                .or_else(|| self.tombstones_down(tree, state, u64::MAX)),
            Urgency::All => self
                .tombstones_down(tree, state, u64::MAX)
                .or_else(|| self.level0_oldest(tree, state))
                .or_else(|| self.covering(tree, state, None)),
        }
    }

    /// Step 5: a segment of whose entries at least one in `share` is a delete.
    fn tombstones_down(&self, tree: &TreeView, state: &Pointers, share: u64) -> Option<Choice> {
        let due =
            |s: &SegmentView| s.tombstones > 0 && s.tombstones.saturating_mul(share) >= s.entries;
        let level0 = tree.runs(0);
        if let Some(seed) = level0.iter().rposition(|run| run.segments.iter().any(due)) {
            return self.level0(tree, state, seed);
        }
        (1..self.last(tree)).find_map(|level| {
            let seed = tree.runs(level).first()?.segments.iter().find(|segment| due(segment))?;
            Some(self.segment_down(tree, level, seed, state))
        })
    }

    /// Step 7: the tables of level 0, if they are not small compared with those that they overlap
    /// in level 1, and their entries are not large.
    fn level0_at_rest(&self, tree: &TreeView, state: &Pointers) -> Option<Choice> {
        let (runs, hull) = self.level0_due(tree, tree.runs(0).len().checked_sub(1)?)?;
        let bytes: u64 = runs.iter().map(|run| run.size().0).sum();
        let entries =
            runs.iter().flat_map(|run| run.segments.iter()).map(|segment| segment.entries);
        if bytes / entries.sum::<u64>().max(1) >= REST_ENTRY_MAX {
            return None;
        }
        let met = tree.runs(1).iter().flat_map(|run| run.overlapping(&hull));
        let met: u64 = met.map(|segment| segment.size.0).sum();
        let is_worth_it = bytes.saturating_mul(REST_RATIO) >= met;
        is_worth_it.then(|| self.level0_oldest(tree, state)).flatten()
    }

    /// Of the deepest level below level 0 with segments that lie over others, the one that meets
    /// fewest bytes in the next level for its own.
    fn cheapest_covering(&self, tree: &TreeView, state: &Pointers) -> Option<Choice> {
        (1..self.last(tree)).rev().find_map(|level| {
            let run = tree.runs(level).first()?;
            let over = run.segments.iter().filter(|s| tree.overlaps_below(level, &s.span));
            let cost = |segment: &SegmentView| {
                let met =
                    tree.runs(level + 1).iter().flat_map(|run| run.overlapping(&segment.span));
                let met: u64 = met.map(|segment| segment.size.0).sum();
                met as f64 / segment.size.0.max(1) as f64
            };
            let costs = over.map(|segment| (cost(segment), segment));
            let (_, seed) = costs.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
            Some(self.segment_down(tree, level, seed, state))
        })
    }

    /// The first segment, from the top, that lies over another one.
    pub(super) fn covering(
        &self,
        tree: &TreeView,
        state: &Pointers,
        span: Option<&Span>,
    ) -> Option<Choice> {
        (1..self.last(tree)).find_map(|level| self.covering_in(tree, state, level, span))
    }

    /// The first segment of a level that lies over another one.
    pub(super) fn covering_in(
        &self,
        tree: &TreeView,
        state: &Pointers,
        level: usize,
        span: Option<&Span>,
    ) -> Option<Choice> {
        let run = tree.runs(level).first()?;
        let candidates = span.map_or(run.segments.as_slice(), |span| run.overlapping(span));
        let seed = candidates.iter().find(|s| tree.overlaps_below(level, &s.span))?;
        Some(self.segment_down(tree, level, seed, state))
    }
}
