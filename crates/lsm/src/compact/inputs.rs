//! Inputs of a plan: checks whether a plan is legal ([`defect`]), and adds the keys at which
//! outputs must end ([`add_barriers`]) so that they do not overlap the segments that their run
//! keeps or gets by a move.
//!
//! No I/O; nothing here changes the tree.

use std::collections::{BTreeMap, BTreeSet};

use terrace_policy::{Key, Merge, Part, Place, Plan, Route};

use super::tombstone_elision::KeptRun;
use crate::canary::{self, Rule};
use crate::tree::Version;

/// The defect that forbids a plan on this version, if it has one.
pub(crate) fn defect(version: &Version, plan: &Plan) -> Option<String> {
    if let Err(illegal) = plan.check(version.view()) {
        return Some(illegal.to_string());
    }
    let moves = match plan {
        Plan::Merge(merge) => &merge.moves,
        Plan::TrivialMove(moves) => moves,
    };
    let dropped = moves.iter().filter(|one| one.to.is_none());
    dropped.filter(|one| !is_invisible(version, one.from, &one.part)).map(visible).next()
}

fn visible(one: &terrace_policy::Move) -> String {
    format!("{}: {} would be dropped, but is visible", one.from, one.part)
}

/// Whether no reader can see anything of a part, now or with any snapshot: it holds only deletes,
/// and they hide no older entry.
fn is_invisible(version: &Version, from: Place, part: &Part) -> bool {
    let Some(run) = version.run(from) else { return false };
    let of_part = run.overlapping(&part.span).1.iter().find(|s| s.table.id() == part.file);
    let Some(segment) = of_part else { return false };
    let record = segment.table.record();
    let mut older = version.places().skip_while(|(place, _)| *place != from).skip(1);
    let hides = older.any(|(_, run)| !run.overlapping(&part.span).1.is_empty());
    record.entries == record.tombstones && !hides
}

/// Cuts a merge's outputs where they would overlap segments that their run keeps, or gets by a
/// move. A table may extend from one route into a later one of the same destination: such cuts also
/// lie between two of them.
pub(crate) fn add_barriers(version: &Version, merge: &mut Merge) {
    if canary::is_broken(Rule::TablesEndAtBarriers) {
        return;
    }
    let spans = || merge.inputs.iter().flat_map(|input| &input.parts).map(|part| &part.span);
    let first = spans().map(|span| &span.start).min().cloned();
    let last = spans().map(|span| &span.end).max().cloned();
    let places: BTreeSet<Place> = merge.routes.iter().map(|route| route.to).collect();
    let kept = places.into_iter().filter_map(|to| {
        let run = version.run(to)?;
        Some((to, KeptRun::of(run.view(), to, merge)))
    });
    let kept: BTreeMap<Place, KeptRun> = kept.collect();
    // Ends of the last route of each destination. If another destination of the same run has had a
    // route since, and no key, the table is still open.
    let mut ends: BTreeMap<(Place, u16), Key> = BTreeMap::new();
    for at in 0..merge.routes.len() {
        let Route { to, stream, .. } = merge.routes[at];
        let start = ends.get(&(to, stream)).or(first.as_ref());
        let end = merge.routes[at].end.as_ref().or(last.as_ref());
        let kept = kept.get(&to).map_or(Vec::new(), |run| run.spans(start, end));
        let moved = merge.moves.iter().filter(|one| one.to == Some(to));
        let barriers = kept.into_iter().chain(moved.map(|one| one.part.span.clone()));
        let route = &mut merge.routes[at];
        let is_due = |key: &Key| {
            start.is_none_or(|start| start <= key) && route.end.as_ref().is_none_or(|end| key < end)
        };
        let mut keys: Vec<Key> = barriers.map(|span| span.start).filter(is_due).collect();
        keys.append(&mut route.cut.keys);
        keys.sort_unstable();
        keys.dedup();
        route.cut.keys = keys;
        ends.extend(route.end.clone().map(|end| ((to, stream), end)));
    }
}
