//! Rewrites in place: merges that rewrite tables of one run, to the same place of the tree and
//! without any other table. They drop entries that only snapshots kept ([`OldVersions`]), once
//! these have ended, and entries that have expired ([`Expiries`]). No decider sees such garbage: it
//! lies in one run, next to the entries that replaced it, and a tree has no dates. So it is chosen
//! here, in the same way under every system.
//!
//! | why | when | which tables are due |
//! |---|---|---|
//! | shape of the tree | the decider has nothing to do | an eighth is droppable, from level 1 on |
//! | idle writers | the same | an eighth is droppable |
//! | lack of space | before the decider | an eighth is droppable |
//! | lack of space | the decider has nothing to do | a 64th is droppable |
//! | a client asks | each key of its range is in one run | anything is droppable, in the range |
//! | a client asks | the same | keys of a filtered key space, written before the client asked |
//!
//! - Level 0 waits until writers are idle, because its runs are merged soon.
//! - A client's range also takes tables with tombstones that hide nothing, whether a snapshot kept
//!   them or not: no snapshot is older than the table's newest entry, and no older entry lies
//!   below.
//! - The table with the largest part to drop goes first, with the due tables that follow it in its
//!   run, up to [`TABLES_MAX`] in all. The remaining entries make fewer tables.
//! - A rewrite drops all that was counted as droppable. So its outputs are not due again before
//!   another snapshot ends, or more of their entries expire.
//! - For a client's range, the date of the request decides. So the request ends, although more
//!   entries expire.
//! - The decider's state stays as it was.
//!
//! The caller has the turn to choose a plan, and no plan is in flight. No I/O.

use std::collections::BTreeSet;

use terrace_env::{ByteCount, Date, FileId, SeqNo};
use terrace_policy::{Cut, Input, Merge, Part, Place, Route, RunId, Span};

#[cfg(doc)]
use crate::expiries::Expiries;
#[cfg(doc)]
use crate::old_versions::OldVersions;
use crate::tree::{Run, Segment, Version};

/// Divisor for the part of a table that must be droppable: at most seven bytes are written to free
/// one.
pub(super) const WORTH: u64 = 8;
/// The same when space is short and no other compaction is due.
pub(super) const WORTH_LAST: u64 = 64;
/// The most tables of a rewrite. A rewrite delays the compactions that the shape of the tree needs.
const TABLES_MAX: usize = 8;

/// Which tables are due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due<'a> {
    /// Tables from this level on of which at least this part (a divisor) can be dropped.
    Worth { part: u64, from_level: u8, date: Date },
    /// Tables with keys of a range, if anything of them can be dropped, or may have expired at a
    /// date; of level 0, those in runs up to this one.
    All { span: &'a Span, date: Date, newest_run: Option<RunId> },
    /// Tables with keys of these ranges, up to this table: values in them are to be filtered.
    Unfiltered { spans: &'a [Span], newest: FileId },
}

impl Due<'_> {
    /// Bytes of a segment that can be dropped, if it is due.
    fn droppable(
        self,
        version: &Version,
        place: Place,
        segment: &Segment,
        snapshots: &[SeqNo],
    ) -> Option<u64> {
        let expired = match self {
            Self::Worth { date, .. } | Self::All { date, .. } => segment.expired(date).0,
            Self::Unfiltered { .. } => 0,
        };
        let bytes = segment.droppable(snapshots).0.saturating_add(expired);
        let is_due = match self {
            Self::Worth { part, from_level, .. } => {
                place.level >= from_level && bytes > 0 && bytes >= segment.size.0 / part
            }
            Self::Unfiltered { spans, newest } => {
                segment.table.id() <= newest
                    && spans.iter().any(|span| span.overlaps(&segment.span))
            }
            Self::All { span, date, newest_run } => {
                (place.level > 0 || Some(place.run) <= newest_run)
                    && span.overlaps(&segment.span)
                    && (bytes > 0
                        || segment.table.record().expiries.may_have_expired(date)
                        || has_idle_tombstones(version, place, segment, snapshots))
            }
        };
        is_due.then_some(bytes)
    }

    /// Whether no segment of a run can be due.
    fn passes_over(self, run: &Run) -> bool {
        matches!(self, Self::Worth { .. }) && !run.counts_garbage()
    }
}

/// Whether a segment has tombstones that a rewrite drops: all readers see them, and no older entry
/// lies below.
fn has_idle_tombstones(
    version: &Version,
    place: Place,
    segment: &Segment,
    snapshots: &[SeqNo],
) -> bool {
    let record = segment.table.record();
    let all_see_them = snapshots.first().is_none_or(|oldest| *oldest >= record.last_sequence);
    let has_any = record.tombstones > 0 || record.ranges.is_some();
    let older = || version.places().filter(|(other, _)| other.age() > place.age());
    has_any && all_see_them && older().all(|(_, run)| run.overlapping(&segment.span).1.is_empty())
}

/// The next rewrite in place, while these snapshots (ascending) are alive.
pub(super) fn choose(
    version: &Version,
    snapshots: &[SeqNo],
    due: Due<'_>,
    table_size: ByteCount,
) -> Option<Merge> {
    let droppable =
        |place: Place, segment: &Segment| due.droppable(version, place, segment, snapshots);
    let mut best: Option<(Place, usize, u128)> = None;
    for (place, run) in version.places().filter(|(_, run)| !due.passes_over(run)) {
        for (at, segment) in run.segments.iter().enumerate() {
            let Some(bytes) = droppable(place, segment) else { continue };
            let share = (u128::from(bytes) << 32) / u128::from(segment.size.0.max(1));
            if best.is_none_or(|(_, _, most)| share > most) {
                best = Some((place, at, share));
            }
        }
    }
    let (place, first, _) = best?;
    let segments = &version.run(place)?.segments;
    let stream = segments.get(first)?.table.stream();
    let next = (first..segments.len()).filter_map(|at| segments.get(at)).take(TABLES_MAX);
    let follow = |segment: &&Segment| {
        segment.table.stream() == stream && droppable(place, segment).is_some()
    };
    let taken: Vec<&Segment> = next.take_while(follow).collect();
    debug_assert!(!taken.is_empty(), "{place}: the table that is due");
    let part = |s: &&Segment| Part { file: s.table.id(), span: s.span.clone() };
    let inputs = vec![Input { place, parts: taken.iter().map(part).collect() }];
    let cut = Cut::at(table_size);
    let routes = vec![Route { end: None, to: place, stream, cut }];
    let set = taken.iter().any(|segment| segment.table.record().set.is_some());
    Some(Merge { inputs, routes, moves: Vec::new(), set })
}

/// The next date after this one at which more entries of a version's tables will have expired.
pub(super) fn next_expiry(version: &Version, date: Date) -> Option<Date> {
    let runs = version.places().filter(|(_, run)| run.counts_garbage());
    let segments = runs.flat_map(|(_, run)| run.segments.iter());
    segments.filter_map(|segment| segment.table.record().expiries.next_after(date)).min()
}

/// Those of these snapshots (ascending) that keep old versions in a version's tables.
pub(super) fn keepers(version: &Version, snapshots: &[SeqNo]) -> BTreeSet<SeqNo> {
    let mut keepers = BTreeSet::new();
    for (_, run) in version.places().filter(|(_, run)| run.counts_garbage()) {
        for segment in &run.segments {
            for group in segment.table.record().old_versions.groups() {
                keepers.extend(group.held_by.alive(snapshots));
            }
            if keepers.len() == snapshots.len() {
                return keepers;
            }
        }
    }
    keepers
}
