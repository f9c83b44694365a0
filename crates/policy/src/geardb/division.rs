//! Sorted data division (section 3.3): which of the merged keys go on to the next level.
//!
//! The tables of level i + 1 divide the data that a compaction holds at level i:
//! - *Within the window* (in the ranges of its tables): it goes on.
//! - *Out of the window* (in the ranges of other tables): it stays.
//! - *In a gap* (in the range of no table): the variant decides, see [`Gaps`]. Data of a gap may be
//!   *dumped*, which means written to level i + 1 as it is, if it makes a table. Small tables are
//!   to be avoided.
//!
//! The bytes of a range are estimates: keys count as evenly spread over a table.

use terrace_env::ByteCount;

use super::window::Window;
use crate::tree::{Key, RunView, SegmentView, Segments, Span};

/// Fate of a range of keys at the next level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Out of the next level's window.
    Stay,
    /// Out of its range.
    Dump,
    /// The data goes on to the next level: it lies within the window.
    GoOn,
}

/// How gaps are judged.
pub(super) struct Rule<'a> {
    /// The bytes that the compaction holds in a range, as far as can be told.
    pub(super) bytes: &'a dyn Fn(&Span) -> ByteCount,
    /// The least bytes that make a table.
    pub(super) table_size: ByteCount,
    /// Which ranges are gaps, and the fate of each.
    pub(super) gaps: Gaps,
}

/// Which ranges without a table of the next level are dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gaps {
    /// As the paper prints it: data of a gap between two tables of the window goes on, between two
    /// others it stays; elsewhere it is dumped if it makes a table.
    Printed,
    /// Like `Printed`, extended in two ways. Where a gap is too small to be dumped and has a table
    /// of the window on one side, it goes on with the window, because no other table is in its way.
    /// A gap between two tables out of the window is dumped if it makes a table.
    Closed,
    /// Like `Printed`, but all gaps of a compaction are dumped if they make a table together, or
    /// none; and none if the level has no table.
    Together,
}

/// Divides a piece, in key order; neighbours have different fates.
pub(super) fn divide(
    piece: &Span,
    next: Option<&RunView>,
    window: &Window<'_>,
    rule: &Rule<'_>,
) -> Vec<(Span, Fate)> {
    let segments: Segments<'_> = next.map_or_else(Segments::default, |run| run.segments.as_slice());
    let first = segments.partition_point(|segment| segment.span.end <= piece.start);
    let (mut fates, mut at) = (Vec::new(), piece.start.clone());
    // The table before, and whether it is of the window.
    let mut before = first.checked_sub(1).map(|at| is_of(window, &segments[at]));
    for segment in segments.slice(first..segments.len()) {
        if segment.span.start >= piece.end {
            break;
        }
        let of_window = is_of(window, segment);
        if at < segment.span.start {
            gap(&mut fates, &at, &segment.span.start, (before, Some(of_window)), rule);
        }
        let start = (&at).max(&segment.span.start).clone();
        let end = (&piece.end).min(&segment.span.end).clone();
        at = end.clone();
        push(&mut fates, Span { start, end }, if of_window { Fate::GoOn } else { Fate::Stay });
        before = Some(of_window);
    }
    if at < piece.end {
        let behind = segments.partition_point(|segment| segment.span.start < piece.end);
        let behind = segments.get(behind).map(|segment| is_of(window, segment));
        gap(&mut fates, &at, &piece.end, (before, behind), rule);
    }
    debug_assert!(covers(&fates, piece), "{fates:?} of {piece:?}");
    fates
}

fn is_of(window: &Window<'_>, segment: &SegmentView) -> bool {
    let at = window.tables.partition_point(|table| table.span.start < segment.span.start);
    window.tables.get(at).is_some_and(|table| table.span.start == segment.span.start)
}

/// A range without tables; `around`: whether the ranges before and after it are of the window.
fn gap(
    fates: &mut Vec<(Span, Fate)>,
    start: &Key,
    end: &Key,
    around: (Option<bool>, Option<bool>),
    rule: &Rule<'_>,
) {
    let span = Span { start: start.clone(), end: end.clone() };
    let makes_table = || (rule.bytes)(&span) >= rule.table_size;
    let beside_window = around.0 == Some(true) || around.1 == Some(true);
    let fate = match (around, rule.gaps) {
        ((Some(true), Some(true)), _) => Fate::GoOn,
        ((Some(false), Some(false)), Gaps::Printed | Gaps::Together) => Fate::Stay,
        ((None, None), Gaps::Together) => Fate::Stay,
        (_, Gaps::Together) => Fate::Dump,
        _ if makes_table() => Fate::Dump,
        (_, Gaps::Closed) if beside_window => Fate::GoOn,
        _ => Fate::Stay,
    };
    push(fates, span, fate);
}

/// By [`Gaps::Together`], a dump of a compaction that makes no table stays.
pub(super) fn whole_dump(fates: Vec<(Span, Fate)>, rule: &Rule<'_>) -> Vec<(Span, Fate)> {
    let dumped = fates.iter().filter(|(_, fate)| *fate == Fate::Dump);
    let bytes: u64 = dumped.map(|(span, _)| (rule.bytes)(span).0).sum();
    if rule.gaps != Gaps::Together || bytes >= rule.table_size.0 {
        return fates;
    }
    let mut kept = Vec::new();
    for (span, fate) in fates {
        push(&mut kept, span, if fate == Fate::Dump { Fate::Stay } else { fate });
    }
    kept
}

/// Whether the parts make up the piece, in order.
fn covers(fates: &[(Span, Fate)], piece: &Span) -> bool {
    let is_joined = fates.windows(2).all(|pair| pair[0].0.end == pair[1].0.start);
    let (first, last) = (fates.first(), fates.last());
    is_joined
        && first.is_none_or(|(first, _)| first.start == piece.start)
        && last.map_or(piece.is_empty(), |(last, _)| last.end == piece.end)
}

fn push(fates: &mut Vec<(Span, Fate)>, span: Span, fate: Fate) {
    match fates.last_mut() {
        Some((last, same)) if *same == fate && last.end == span.start => last.end = span.end,
        _ => fates.push((span, fate)),
    }
}
