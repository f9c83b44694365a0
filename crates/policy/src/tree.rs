//! [`TreeView`]: the view of a tree that deciders get: levels of sorted runs of segments. A segment
//! is a table with the range of its keys that still counts.
//!
//! Level 0 is the newest. Within a level, runs are listed newest first and have falling ids.
//! Segments of a run are in key order and do not overlap. Two entries of one key lie in one
//! segment, or the newer one lies in a level with a smaller number, or in a newer run of the same
//! level.
//!
//! Keys are full keys: key space and user key. A range holds its start and not its end. A view
//! shows one moment. Sizes and counts of segments are estimates. The types check none of these
//! rules.

use std::fmt;
use std::sync::Arc;

use crate::histogram::Histogram;
use terrace_env::{ByteCount, Chunked, ChunkedSlice, FileId};

/// How many levels a tree can have.
pub const LEVELS_MAX: usize = 64;

/// A full key: key space and user key, ordered by memcmp.
pub type Key = Arc<[u8]>;

/// A range of full keys.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first key in the range.
    pub start: Key,
    /// The first key after the range.
    pub end: Key,
}

impl Span {
    /// The range of the keys from `start` up to, and without, `end`.
    #[must_use]
    pub fn new(start: impl Into<Key>, end: impl Into<Key>) -> Self {
        Self { start: start.into(), end: end.into() }
    }

    /// Whether no key is in the range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Whether the key is in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        &self.start[..] <= key && key < &self.end[..]
    }

    /// Whether a key can be in both ranges.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether it overlaps one of these, which are apart and in key order.
    pub(crate) fn meets(&self, spans: &[Self]) -> bool {
        let first = spans.partition_point(|other| other.end <= self.start);
        spans.get(first).is_some_and(|other| other.start < self.end)
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn hull(&self, other: &Self) -> Self {
        let start = Arc::clone((&self.start).min(&other.start));
        Self { start, end: Arc::clone((&self.end).max(&other.end)) }
    }

    /// The rest of this range when `other` is taken out: nothing, one range or two.
    #[must_use]
    pub fn without(&self, other: &Self) -> Vec<Self> {
        if !self.overlaps(other) {
            return vec![self.clone()];
        }
        let before = Self { start: self.start.clone(), end: other.start.clone() };
        let behind = Self { start: other.end.clone(), end: self.end.clone() };
        let rest: Vec<Self> =
            [before, behind].into_iter().filter(|part| !part.is_empty()).collect();
        debug_assert!(rest.iter().all(|part| !part.overlaps(other)), "{rest:?} and {other:?}");
        rest
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start.escape_ascii(), self.end.escape_ascii())
    }
}

/// The age rank of a run within its level: the larger, the newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A table with the range of it that still counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// The table.
    pub file: FileId,
    /// Range of keys that counts; entries of the table outside it do not.
    pub span: Span,
    /// About how many bytes of the table that is.
    pub size: ByteCount,
    /// About how many entries, range tombstones among them.
    pub entries: u64,
    /// How many of these are tombstones, of a key or of a range.
    pub tombstones: u64,
    /// The set that the table was written in, if it was written in one.
    pub set: Option<SetView>,
    /// Where the bytes of the whole table lie; empty where no decider asked for it.
    pub histogram: Histogram,
}

impl SegmentView {
    /// About how many of its bytes lie in a range, as far as its histogram tells; without one, all.
    #[must_use]
    pub fn size_within(&self, span: &Span) -> ByteCount {
        if span.start <= self.span.start && self.span.end <= span.end {
            return self.size;
        }
        let counts = |key: &&[u8]| self.span.contains(key);
        let all = self.histogram.keys().filter(counts).count() as u64 + 1;
        let within = |key: &&[u8]| counts(key) && span.contains(key);
        let part = self.histogram.keys().filter(within).count() as u64 + 1;
        debug_assert!(0 < part && part <= all, "{part} of {all} parts");
        if all == 1 { self.size } else { ByteCount(self.size.0 * part.min(all) / all) }
    }

    /// About how many of its bytes lie in a range, taking its keys as evenly spread numbers.
    #[must_use]
    pub fn even_share(&self, span: &Span) -> ByteCount {
        let (start, end) = ((&self.span.start).max(&span.start), (&self.span.end).min(&span.end));
        if start >= end {
            return ByteCount(0);
        }
        if *start == self.span.start && *end == self.span.end {
            return self.size;
        }
        let same = self.span.start.iter().zip(self.span.end.iter()).take_while(|(a, b)| a == b);
        let skip = same.count();
        let number = |key: &Key| {
            let digits = (0..8).map(|at| u64::from(key.get(skip + at).copied().unwrap_or(0)));
            digits.fold(0, |number, digit| number << 8 | digit)
        };
        let whole = number(&self.span.end).saturating_sub(number(&self.span.start)).max(1);
        let part = number(end).saturating_sub(number(start)).min(whole);
        let bytes = u128::from(self.size.0) * u128::from(part) / u128::from(whole);
        debug_assert!(bytes <= self.size.0.into(), "{bytes} of {}", self.size);
        ByteCount(bytes as u64)
    }
}

/// Set: tables that one merge wrote one after the other ([`Merge::set`](crate::Merge::set)), as it
/// was when it was written. The tables that are left of it are those in the tree that name it; the
/// rest of its bytes is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetView {
    /// The name of the set: its first table, whether that is still there or not.
    pub id: FileId,
    /// How many tables it had.
    pub tables: u32,
    /// How many bytes these had.
    pub size: ByteCount,
}

/// Segments of a run, side by side.
pub type Segments<'a> = ChunkedSlice<'a, SegmentView>;

/// A sorted run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunView {
    /// The run's age rank within the level.
    pub id: RunId,
    /// Segments in key order, without overlap; never empty. Shared with the views of other moments.
    pub segments: Chunked<SegmentView>,
}

impl RunView {
    /// The segments that overlap a range.
    #[must_use]
    pub fn overlapping(&self, span: &Span) -> Segments<'_> {
        let first = self.segments.partition_point(|segment| segment.span.end <= span.start);
        let behind = self.segments.partition_point(|segment| segment.span.start < span.end);
        self.segments.slice(first..behind.max(first))
    }

    /// From the first segment's start to the last one's end; `None` if there is no segment.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        let (first, last) = (self.segments.first()?, self.segments.last()?);
        Some(Span { start: first.span.start.clone(), end: last.span.end.clone() })
    }

    /// The bytes of all segments.
    #[must_use]
    pub fn size(&self) -> ByteCount {
        ByteCount(self.segments.iter().map(|segment| segment.size.0).sum())
    }
}

/// A level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelView {
    /// Runs, newest first.
    pub runs: Vec<RunView>,
}

impl LevelView {
    /// The bytes of all runs.
    #[must_use]
    pub fn size(&self) -> ByteCount {
        ByteCount(self.runs.iter().map(|run| run.size().0).sum())
    }

    /// Whether any run has a segment that overlaps the range.
    #[must_use]
    pub fn overlaps(&self, span: &Span) -> bool {
        self.runs.iter().any(|run| !run.overlapping(span).is_empty())
    }
}

/// A tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeView {
    /// Levels from the newest to the oldest; levels at the end may be missing.
    pub levels: Vec<LevelView>,
}

impl TreeView {
    /// The runs of a level, newest first.
    #[must_use]
    pub fn runs(&self, level: usize) -> &[RunView] {
        self.levels.get(level).map_or(&[], |level| &level.runs)
    }

    /// Whether a level deeper than `level` holds anything of the range.
    #[must_use]
    pub fn overlaps_below(&self, level: usize, span: &Span) -> bool {
        self.levels.iter().skip(level + 1).any(|deeper| deeper.overlaps(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: &str, end: &str) -> Span {
        Span::new(start.as_bytes(), end.as_bytes())
    }

    #[test]
    fn a_range_without_another_is_what_lies_on_both_sides() {
        let whole = span("c", "p");
        assert_eq!(whole.without(&span("e", "g")), [span("c", "e"), span("g", "p")]);
        assert_eq!(whole.without(&span("a", "g")), [span("g", "p")]);
        assert_eq!(whole.without(&span("a", "z")), []);
        assert_eq!(whole.without(&span("p", "z")), std::slice::from_ref(&whole));
    }

    #[test]
    fn the_overlapping_segments_of_a_run_are_found_at_its_ends_too() {
        let segment = |start, end| SegmentView {
            file: FileId(1),
            span: span(start, end),
            size: ByteCount(1),
            entries: 1,
            tombstones: 0,
            set: None,
            histogram: Histogram::default(),
        };
        let segments = [segment("b", "d"), segment("f", "h")].into_iter().collect();
        let run = RunView { id: RunId(1), segments };
        for (start, end, count) in
            [("a", "b", 0), ("a", "c", 1), ("d", "f", 0), ("c", "g", 2), ("h", "z", 0)]
        {
            assert_eq!(run.overlapping(&span(start, end)).len(), count, "{start} {end}");
        }
    }
}
