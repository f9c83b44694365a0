//! [`Along`]: older data that a merge into the deepest tier takes along, so that this tier never
//! goes down as a whole. See steps 6 to 10 of [tiered compaction](super).
//!
//! The keys are divided at the first keys of the last level's tables, except the first one, so each
//! *stretch* holds one table of the last level. A segment of a tier counts in equal parts in all
//! stretches that it reaches into. The *rest* of the tier is the runs that do not join.
//!
//! A slice is a sequence of stretches. It begins with the first stretch that is due, and grows by
//! the next one as long as that is due and the bounds allow it.
//!
//! Pure; threads: any.

use std::ops::{Range, RangeInclusive};

use crate::tree::{Key, RunView, SegmentView, TreeView};

/// Why a merge takes older data along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The merge takes no older data along.
    Nothing,
    /// The tier has too many runs.
    Shape,
    /// Scans pay for fewer runs.
    Scans,
}

/// The limits that [`Along::of`] keeps to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most older bytes that are taken along for each newer one.
    pub(super) older: u64,
    /// Number of runs from which on the tier is due.
    pub(super) runs: usize,
    /// Number of runs from which on the tier would hold writers back.
    pub(super) runs_most: usize,
}

/// Older data that a merge takes along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Along {
    /// How many of the newest runs of the tier join as a whole.
    pub(super) joined: usize,
    /// The range in which the rest of the tier goes to the last level, too.
    pub(super) slice: Option<Slice>,
}

/// A range of keys between tables of the last level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// The first key; `None`: from the first one on.
    pub(super) start: Option<Key>,
    /// The first key after it; `None`: to the end.
    pub(super) end: Option<Key>,
    /// The tables of the last level in it.
    pub(super) tables: Range<usize>,
}

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// Bytes of the last level.
    last: u64,
    /// Bytes of the runs that come and of those that join.
    newer: u64,
    /// Bytes of the rest of the tier.
    rest: u64,
    /// Runs of the rest.
    runs: usize,
}

impl Stretch {
    /// The sum of several stretches, and the next one, whose runs count.
    fn with(self, next: &Self) -> Self {
        Self {
            last: self.last + next.last,
            newer: self.newer + next.newer,
            rest: self.rest + next.rest,
            runs: next.runs,
        }
    }
}

impl Along {
    /// Of a merge of all runs of `level`. The next level is the deepest tier, and the one after it
    /// the last level, which is one run at most.
    pub(super) fn of(tree: &TreeView, level: usize, limits: Limits, reason: Reason) -> Self {
        let (source, tier) = (tree.runs(level), tree.runs(level + 1));
        let comes: u64 = source.iter().map(|run| run.size().0).sum();
        let most = comes.saturating_mul(limits.older);
        let (mut joined, mut older) = (0, 0);
        if reason == Reason::Nothing {
            return Self::default();
        }
        for run in tier {
            let size = run.size().0;
            let is_similar = reason == Reason::Scans && size <= comes + older;
            let has_many = tier.len() - joined + 1 >= limits.runs_most;
            if older + size > most || !(is_similar || has_many) {
                break;
            }
            (joined, older) = (joined + 1, older + size);
        }
        debug_assert!(older <= most, "runs of {older} bytes join, of {most} at most");
        let (joins, rest) = tier.split_at(joined);
        let grid = Grid::of(tree.runs(level + 2));
        let stretches = grid.stretches(source.iter().chain(joins), rest);
        let bounds = Bounds { comes, most: most - older, limits, reason };
        let slice = bounds.slice(&stretches);
        Self { joined, slice: slice.map(|stretches| grid.slice(stretches)) }
    }
}

/// Limits of a slice.
struct Bounds {
    /// Bytes that come into the tier.
    comes: u64,
    /// The most bytes of the tier and of the last level.
    most: u64,
    limits: Limits,
    reason: Reason,
}

impl Bounds {
    /// The stretches of a slice, if any is due.
    fn slice(&self, stretches: &[Stretch]) -> Option<RangeInclusive<usize>> {
        let is_allowed = |sum: &Stretch| self.is_due(sum) && sum.last + sum.rest <= self.most;
        let first = stretches.iter().position(is_allowed)?;
        let (mut sum, mut last) = (stretches[first], first);
        for (at, one) in stretches.iter().enumerate().skip(first + 1) {
            sum = sum.with(one);
            let is_paced = self.reason == Reason::Scans || sum.rest <= self.comes;
            if !is_allowed(&sum) || !is_paced {
                break;
            }
            last = at;
        }
        debug_assert!(first <= last && last < stretches.len(), "{first} to {last}");
        Some(first..=last)
    }

    /// Whether the last stretch of this sum is due by its runs, or all of it pays for scans.
    fn is_due(&self, sum: &Stretch) -> bool {
        let moved = sum.newer + sum.rest;
        let pays = sum.last <= moved.saturating_mul(self.limits.older);
        let has_many = sum.runs + 1 >= self.limits.runs;
        sum.runs > 0 && (has_many || (self.reason == Reason::Scans && pays))
    }
}

/// The keys at which stretches end.
struct Grid<'a> {
    tables: Vec<&'a SegmentView>,
}

impl<'a> Grid<'a> {
    fn of(last: &'a [RunView]) -> Self {
        Self { tables: last.iter().flat_map(|run| &run.segments).collect() }
    }

    /// How many stretches end at a key for which this holds.
    fn ends(&self, holds: impl Fn(&Key) -> bool) -> usize {
        let behind_first = self.tables.get(1..).unwrap_or_default();
        behind_first.partition_point(|table| holds(&table.span.start))
    }

    fn stretches<'b>(
        &self,
        newer: impl Iterator<Item = &'b RunView>,
        rest: &[RunView],
    ) -> Vec<Stretch> {
        let of = |table: &&SegmentView| Stretch { last: table.size.0, ..Stretch::default() };
        let mut stretches: Vec<Stretch> = self.tables.iter().map(of).collect();
        stretches.resize(stretches.len().max(1), Stretch::default());
        let reach = |segment: &SegmentView| {
            let span = &segment.span;
            let (first, last) = (self.ends(|key| *key <= span.start), self.ends(|k| *k < span.end));
            (first..last.max(first) + 1, segment.size.0 / (last.max(first) + 1 - first) as u64)
        };
        for segment in newer.flat_map(|run| &run.segments) {
            let (within, part) = reach(segment);
            stretches[within].iter_mut().for_each(|stretch| stretch.newer += part);
        }
        for run in rest {
            let mut counted = 0;
            for segment in &run.segments {
                let (within, part) = reach(segment);
                for at in within {
                    stretches[at].rest += part;
                    if at >= counted {
                        stretches[at].runs += 1;
                        counted = at + 1;
                    }
                }
            }
        }
        stretches
    }

    fn slice(&self, stretches: RangeInclusive<usize>) -> Slice {
        let (first, behind) = (*stretches.start(), *stretches.end() + 1);
        let start_of = |at: usize| self.tables.get(at).map(|table| table.span.start.clone());
        let start = (first > 0).then(|| start_of(first)).flatten();
        let tables = first..behind.min(self.tables.len());
        Slice { start, end: start_of(behind), tables }
    }
}
