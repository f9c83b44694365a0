//! What the parts of a plan are in a version: the segments they name, and what stays in the tree
//! around them.

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_env::{ByteCount, Cause, FileId};
use terrace_policy::{Key, Merge, Part, Place, Plan, Span};

use crate::Error;
use crate::rewrite::Below;
use crate::slice::Slice;
use crate::version::{Run, Segment, Version};

/// Why a plan may not be carried out on this version, if it may not.
pub(crate) fn defect(version: &Version, plan: &Plan) -> Option<String> {
    if let Err(illegal) = plan.check(version.view()) {
        return Some(illegal.to_string());
    }
    let moves = match plan {
        Plan::Merge(merge) => &merge.moves,
        Plan::Relink(moves) => moves,
    };
    let dropped = moves.iter().filter(|one| one.to.is_none());
    dropped.filter(|one| !is_invisible(version, one.from, &one.part)).map(visible).next()
}

fn visible(one: &terrace_policy::Move) -> String {
    format!("{}: {} would be dropped, but is visible", one.from, one.part)
}

/// Whether nobody can see anything of a part, now or with any snapshot: it holds nothing but
/// deletes, and nothing older is left that they hide.
fn is_invisible(version: &Version, from: Place, part: &Part) -> bool {
    let mut segments = version.segments();
    let of_part = segments.find(|(place, s)| *place == from && s.table.id() == part.file);
    let Some((_, segment)) = of_part else { return false };
    let record = segment.table.record();
    let mut older = version.places().skip_while(|(place, _)| *place != from).skip(1);
    let hides =
        older.any(|(_, run)| run.segments.iter().any(|other| other.span.overlaps(&part.span)));
    record.entries == record.tombstones && !hides
}

/// The part of a plan as a segment of its own.
pub(crate) fn find(version: &Version, place: Place, part: &Part) -> Result<Segment, Error> {
    let segments = version.run(place).map_or(&[][..], |run| &run.segments);
    let at = segments.partition_point(|segment| segment.span.end <= part.span.start);
    let holds = |segment: &&Segment| {
        let within = segment.span.start <= part.span.start && part.span.end <= segment.span.end;
        within && segment.table.id() == part.file
    };
    let segment = segments.get(at).filter(holds).unwrap_or_else(|| {
        panic!("a plan that was checked takes {part:?} out of {place}, where it is not")
    });
    let (table, span) = (Arc::clone(&segment.table), part.span.clone());
    let size = if span == segment.span {
        segment.size
    } else {
        ByteCount(table.table(Cause::Compaction)?.size_of(&span.start, &span.end)?.0.max(1))
    };
    Ok(Segment { table, span, size })
}

/// What a run holds between two keys that a merge leaves there, by segments that reach into it.
/// Asked for each slice, of trees of thousands of tables: what lies elsewhere is not looked at.
fn left(
    run: &Run,
    place: Place,
    merge: &Merge,
    (start, end): (Option<&Key>, Option<&Key>),
) -> Vec<Span> {
    let inputs = merge.inputs.iter().filter(|input| input.place == place);
    let moves = merge.moves.iter().filter(|one| one.from == place).map(|one| &one.part);
    let taken: Vec<&Part> = inputs.flat_map(|input| &input.parts).chain(moves).collect();
    let files: BTreeSet<FileId> = taken.iter().map(|part| part.file).collect();
    let before = |segment: &Segment| start.is_some_and(|start| segment.span.end <= *start);
    let from = run.segments.partition_point(before);
    let reached = run.segments[from..].iter();
    let reached = reached.take_while(|s| end.is_none_or(|end| s.span.start < *end));
    let mut spans = Vec::new();
    for segment in reached {
        if !files.contains(&segment.table.id()) {
            spans.push(segment.span.clone());
            continue;
        }
        let mut rest: Vec<Span> = vec![segment.span.clone()];
        for part in taken.iter().filter(|part| part.file == segment.table.id()) {
            rest = rest.iter().flat_map(|span| span.without(&part.span)).collect();
        }
        spans.extend(rest);
    }
    spans
}

/// What lies in a slice below the newest input and is not an input. What only changes its place
/// counts as well.
pub(crate) fn below(version: &Version, merge: &Merge, slice: &Slice) -> Below {
    // The newest input's run may have gone with an earlier slice.
    let newest = merge.inputs.first().map(|input| input.place);
    let older =
        version.places().filter(|(place, _)| newest.is_some_and(|n| n.age() <= place.age()));
    let within = (slice.start.as_ref(), slice.end.as_ref());
    let runs = older.map(|(place, run)| left(run, place, merge, within));
    let moved = merge.moves.iter().map(|one| vec![one.part.span.clone()]);
    let clip = |spans: Vec<Span>| spans.iter().filter_map(|span| slice.clip(span)).collect();
    let runs = runs.chain(moved).map(clip).filter(|spans: &Vec<Span>| !spans.is_empty());
    Below::Runs(runs.map(|spans| (spans, 0)).collect())
}

/// Cuts a merge's outputs where they would reach over what their run keeps, or gets by a move.
pub(crate) fn add_barriers(version: &Version, merge: &mut Merge) {
    let spans = || merge.inputs.iter().flat_map(|input| &input.parts).map(|part| &part.span);
    let first = spans().map(|span| &span.start).min().cloned();
    let last = spans().map(|span| &span.end).max().cloned();
    let mut start: Option<Key> = None;
    for at in 0..merge.routes.len() {
        let to = merge.routes[at].to;
        let within = (first.as_ref(), last.as_ref());
        let kept = version.run(to).map_or(Vec::new(), |run| left(run, to, merge, within));
        let moved = merge.moves.iter().filter(|one| one.to == Some(to));
        let barriers = kept.into_iter().chain(moved.map(|one| one.part.span.clone()));
        let route = &mut merge.routes[at];
        let in_route = |key: &Key| {
            start.as_ref().is_none_or(|start| start < key)
                && route.end.as_ref().is_none_or(|end| key < end)
        };
        let mut keys: Vec<Key> = barriers.map(|span| span.start).filter(in_route).collect();
        keys.append(&mut route.cut.keys);
        keys.sort_unstable();
        keys.dedup();
        route.cut.keys = keys;
        start = route.end.clone();
    }
}
