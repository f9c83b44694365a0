//! [`Slice`]: a range of keys of the deepest tier and of the last level, which is merged at once.
//! See step 2 of [sliced compaction](super).
//!
//! 1. A slice begins at the first key at or after the pointer that a run of the tier holds, going
//!    round. If that lies within a table of the last level, it begins where this table does.
//! 2. It begins at the pointer nevertheless, if less than a zone of the last level lies between and
//!    the slice has anything to merge. So a zone is not kept by tables that the sweep has passed
//!    over, and a slice that only moves tables rewrites none.
//! 3. It ends where a table of the last level or of the tier begins, but within no table of the
//!    last level, as soon as it has enough bytes.
//!
//! So a table of the last level goes as a whole; of one of the tier, the part in the slice.
//!
//! The part of a tier's table in the slice is estimated: its keys count as evenly spread numbers. A
//! view does not tell where its bytes lie. To count such a table whole, wherever it begins, made
//! slices end after a single table of the last level: each slice leaves a trimmed table of every
//! run, and all of them begin where the next slice does.
//!
//! Pure; threads: any.

use std::ops::RangeInclusive;
use std::sync::Arc;

use terrace_env::ByteCount;

use crate::leveled::LEVEL_STREAM_FIRST;
use crate::plan::{Cut, Input, Merge, Move, Part, Place, Plan, Route};
use crate::tiered::{are_apart, mostly_deletes};
use crate::tree::{Key, RunView, SegmentView, Segments, Span, TreeView};

/// Limits of a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceLimits {
    /// About how many bytes a slice takes.
    pub(super) size: ByteCount,
    /// Fewer bytes of the last level than this are taken though they meet nothing.
    pub(super) carried_max: ByteCount,
    /// The size of an output.
    pub(super) table_size: ByteCount,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Slice<'a> {
    /// The first key after it; `None`: to the end.
    pub(super) end: Option<Key>,
    /// Segments of the tier that reach into it, by run.
    upper: Vec<(Place, Segments<'a>)>,
    /// The first key of the slice.
    pub(super) start: Key,
    lower: Segments<'a>,
}

impl<'a> Slice<'a> {
    /// The slice of these tiers and of the level below them, from a key on; `None`: the tiers are
    /// empty.
    pub(super) fn of(
        tree: &'a TreeView,
        tiers: RangeInclusive<usize>,
        from: &[u8],
        limits: &SliceLimits,
    ) -> Option<Self> {
        let lower = tree.runs(tiers.end() + 1).last();
        let of_level = |level| tree.runs(level).iter().map(move |run| (level, run));
        let runs: Vec<(usize, &RunView)> = tiers.flat_map(of_level).collect();
        let lower = lower.map_or_else(Segments::default, |run| run.segments.as_slice());
        let Start { first, carried } = start(&runs, lower, from, limits.carried_max)?;
        let slice = Self::from(&runs, lower, first, limits);
        match carried {
            Some(carried) if !slice.is_unread() => Some(Self::from(&runs, lower, carried, limits)),
            _ => Some(slice),
        }
    }

    /// The first slice of these runs of tiers, newest first, and of nothing else.
    pub(super) fn of_runs(runs: &[(usize, &'a RunView)], limits: &SliceLimits) -> Option<Self> {
        let firsts = runs.iter().filter_map(|(_, run)| run.segments.first());
        let start = firsts.map(|segment| segment.span.start.clone()).min()?;
        Some(Self::from(runs, Segments::default(), start, limits))
    }

    fn from(
        runs: &[(usize, &'a RunView)],
        lower: Segments<'a>,
        start: Key,
        limits: &SliceLimits,
    ) -> Self {
        let end = end(runs, lower, &start, limits.size);
        let upper = runs.iter().map(|(level, run)| {
            let first = run.segments.partition_point(|segment| segment.span.end <= start);
            let behind = behind(run.segments.as_slice(), end.as_ref());
            (
                Place { level: *level as u8, run: run.id },
                run.segments.slice(first..behind.max(first)),
            )
        });
        let upper = upper.filter(|(_, segments)| !segments.is_empty()).collect();
        let first = lower.partition_point(|segment| segment.span.end <= start);
        let lower = lower.slice(first..behind(lower, end.as_ref()).max(first));
        Self { end, upper, start, lower }
    }

    /// Whether moves do the same as a merge.
    fn is_unread(&self) -> bool {
        let segments = || self.upper.iter().flat_map(|(_, segments)| segments.iter());
        let is_whole = |segment: &SegmentView| self.part(segment).span == segment.span;
        let is_apart = self.lower.is_empty() && segments().all(is_whole) && are_apart(segments());
        is_apart && !segments().any(mostly_deletes)
    }

    /// The merge of the slice into a run, or the moves that do the same.
    pub(super) fn plan(&self, to: Place, limits: &SliceLimits) -> Plan {
        if self.is_unread() {
            let moves = self.upper.iter().flat_map(|(from, segments)| {
                let to = Some(to);
                segments.iter().map(move |s| Move { part: self.part(s), from: *from, to })
            });
            return Plan::TrivialMove(moves.collect());
        }
        let input = |place: Place, segments: Segments<'_>| Input {
            place,
            parts: segments.iter().map(|segment| self.part(segment)).collect(),
        };
        let upper = self.upper.iter().map(|(place, segments)| input(*place, *segments));
        let lower = (!self.lower.is_empty()).then(|| input(to, self.lower));
        let stream = LEVEL_STREAM_FIRST + u16::from(to.level);
        let routes = vec![Route { end: None, to, stream, cut: Cut::at(limits.table_size) }];
        let inputs: Vec<Input> = upper.chain(lower).collect();
        debug_assert!(!inputs.is_empty(), "a slice of nothing");
        Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false })
    }

    /// The part of a segment that lies in the slice.
    fn part(&self, segment: &SegmentView) -> Part {
        let Span { start, end } = &segment.span;
        let start = (&self.start).max(start);
        let end = self.end.as_ref().map_or(end, |to| to.min(end));
        debug_assert!(start < end, "{:?} outside of the slice", segment.span);
        Part { file: segment.file, span: Span { start: Arc::clone(start), end: Arc::clone(end) } }
    }
}

/// How many segments begin before the end of a slice.
fn behind(segments: Segments<'_>, end: Option<&Key>) -> usize {
    match end {
        Some(end) => segments.partition_point(|segment| segment.span.start < *end),
        None => segments.len(),
    }
}

/// Where a slice may begin.
struct Start {
    /// Step 1.
    first: Key,
    /// Step 2, if it finds tables to take along.
    carried: Option<Key>,
}

/// Steps 1 and 2.
fn start(
    runs: &[(usize, &RunView)],
    lower: Segments<'_>,
    from: &[u8],
    carried_max: ByteCount,
) -> Option<Start> {
    let first = |from: &[u8]| {
        let firsts = runs.iter().filter_map(|(_, run)| {
            let at = run.segments.partition_point(|segment| &segment.span.end[..] <= from);
            run.segments.get(at).map(|segment| &segment.span.start)
        });
        firsts.min().map(|start| if &start[..] < from { Key::from(from) } else { start.clone() })
    };
    let (from, first) = match first(from) {
        Some(first) => (from, first),
        None => (&[] as &[u8], first(&[])?),
    };
    let table = |key: &[u8]| lower.partition_point(|segment| &segment.span.end[..] <= key);
    let (passed, met) = (table(from), table(&first));
    let start_of = |at: usize| lower.get(at).map(|segment| segment.span.start.clone());
    let between: u64 = lower.slice(passed..met).iter().map(|segment| segment.size.0).sum();
    let is_carried = passed < met && ByteCount(between) < carried_max;
    let carried = if is_carried { start_of(passed) } else { None };
    let first = start_of(met).map_or(first.clone(), |start| start.min(first));
    Some(Start { first, carried })
}

/// Step 3.
fn end(
    runs: &[(usize, &RunView)],
    lower: Segments<'_>,
    start: &Key,
    size: ByteCount,
) -> Option<Key> {
    let left = |segments: Segments<'_>| {
        segments.partition_point(|segment| segment.span.end <= *start)..segments.len()
    };
    let mut lower = lower.slice(left(lower));
    let mut upper: Vec<Segments<'_>> = runs
        .iter()
        .map(|(_, run)| run.segments.as_slice().slice(left(run.segments.as_slice())))
        .collect();
    let (mut from, mut taken) = (start.clone(), 0);
    while let Some(border) = next_border(&upper, lower, &from) {
        let span = Span { start: from, end: border };
        debug_assert!(!span.is_empty(), "no border after {span:?}");
        taken += passed(&mut lower, &span, |segment| segment.size);
        for run in &mut upper {
            taken += passed(run, &span, |segment| segment.even_share(&span));
        }
        if taken >= size.0 {
            return Some(span.end);
        }
        from = span.end;
    }
    None
}

/// The next key after `from` at which a slice may end. `lower` begins with the table that `from`
/// lies in, if there is one.
fn next_border(upper: &[Segments<'_>], lower: Segments<'_>, from: &Key) -> Option<Key> {
    let is_in_table = lower.get(0).is_some_and(|table| table.span.start <= *from);
    let after = if is_in_table { &lower.get(0)?.span.end } else { from };
    let begins = |segments: &Segments<'_>| {
        let at = match is_in_table {
            true => segments.partition_point(|segment| segment.span.start < *after),
            false => segments.partition_point(|segment| segment.span.start <= *after),
        };
        segments.get(at).map(|segment| segment.span.start.clone())
    };
    upper.iter().chain([&lower]).filter_map(begins).min()
}

/// The sum over the segments that begin before the end of a span. Those that end in it are removed
/// from the front of `segments`.
fn passed(
    segments: &mut Segments<'_>,
    span: &Span,
    bytes: impl Fn(&SegmentView) -> ByteCount,
) -> u64 {
    let begun = segments.partition_point(|segment| segment.span.start < span.end);
    let sum = segments.slice(0..begun).iter().map(|segment| bytes(segment).0).sum();
    let ended = segments.partition_point(|segment| segment.span.end <= span.end);
    *segments = segments.slice(ended..segments.len());
    sum
}
