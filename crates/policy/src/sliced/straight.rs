//! Straight down: data that meets nothing older goes to the last level unread. See step 8 of
//! [sliced compaction](super).
//!
//! - *A flush* is divided where all keys of the tree end. The keys from there on go to the last
//!   level at once, in tables on its stream ([`flush_routes`]). If the engine cannot take them
//!   there now, because a merge is in flight, they go on top in these tables.
//! - *A tier* that is due first gives up its segments that meet nothing older, if they have at
//!   least half of its bytes ([`moves`]). With fewer, the segments that stay of the tier would keep
//!   the zones of all.
//!
//! So a load in key order is written once, and one that is in order but for a few entries has only
//! these merged. Ranges between older keys are not looked for in a memtable, only in tables.
//!
//! Pure; threads: any.

use crate::intake::{FLUSH_STREAM, FlushRoute};
use crate::leveled::LEVEL_STREAM_FIRST;
use crate::plan::{Move, Part, Place, Plan};
use crate::tiered::mostly_deletes;
use crate::tree::{Key, RunId, SegmentView, Span, TreeView};

/// Routes of a flush at most.
pub(super) const ROUTES_MAX: usize = 2;

/// The place of new data in the last level.
fn newest(tree: &TreeView, last: usize) -> Place {
    Place { level: last as u8, run: tree.runs(last).first().map_or(RunId(1), |run| run.id) }
}

/// The key after all of the tree; `None`: it is empty.
fn end_of(tree: &TreeView) -> Option<Key> {
    let runs = tree.levels.iter().flat_map(|level| &level.runs);
    runs.filter_map(|run| run.segments.last()).map(|segment| segment.span.end.clone()).max()
}

/// Where a memtable with keys of this range goes.
pub(super) fn flush_routes(tree: &TreeView, span: &Span, last: usize) -> Vec<FlushRoute> {
    let top = |end| FlushRoute { end, to: None, stream: FLUSH_STREAM };
    let stream = LEVEL_STREAM_FIRST + last as u16;
    let straight = FlushRoute { end: None, to: Some(newest(tree, last)), stream };
    match end_of(tree) {
        Some(end) if span.end <= end => vec![top(None)],
        Some(end) if span.start < end => vec![top(Some(end)), straight],
        _ => vec![straight],
    }
}

/// The moves of a tier's segments into the last level.
pub(super) fn moves(tree: &TreeView, level: usize, last: usize) -> Option<Plan> {
    let to = newest(tree, last);
    let (mut moves, mut moved) = (Vec::new(), 0);
    for (at, run) in tree.runs(level).iter().enumerate() {
        let from = Place { level: level as u8, run: run.id };
        for segment in run.segments.iter() {
            if !mostly_deletes(segment) && meets_nothing_older(tree, segment, level, at) {
                let part = Part { file: segment.file, span: segment.span.clone() };
                moves.push(Move { part, from, to: Some(to) });
                moved += segment.size.0;
            }
        }
    }
    let all: u64 = tree.runs(level).iter().map(|run| run.size().0).sum();
    (!moves.is_empty() && moved >= all - moved).then_some(Plan::TrivialMove(moves))
}

/// Whether no older run holds anything of a segment's keys. `at`: its run's index in its level.
fn meets_nothing_older(tree: &TreeView, segment: &SegmentView, level: usize, at: usize) -> bool {
    let older = tree.runs(level).iter().skip(at + 1);
    let is_apart = older.into_iter().all(|run| run.overlapping(&segment.span).is_empty());
    is_apart && !tree.overlaps_below(level, &segment.span)
}
