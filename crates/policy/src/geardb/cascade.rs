//! [`Cascade`]: a gear compaction over several levels, planned as one merge (section 3.3, algorithm
//! 1).
//!
//! The paper merges level by level, and keeps in memory the data that goes on. But which keys end
//! at which level follows from known properties of the tables: their ranges, sizes and zones. So
//! here the whole cascade is planned before anything is read.
//!
//! A cascade holds *pieces*: the ranges of keys of the data that has come down to its present
//! level. No table that stays in this level lies in a piece. A step down divides each piece by the
//! tables of the next level:
//! - Ranges that stay get a route to the present level; ranges in which the next level has no table
//!   may get one to that level (they are *dumped*).
//! - Ranges that go on are the new pieces, together with the tables of the window that they
//!   overlap.
//!
//! Invariant: no output overlaps a table that stays in the run of the output.
//!
//! A plan sends each key to one place. A table of the window may reach over a range whose data ends
//! above. This range of the table is then not taken, and stays in the tree.

use std::collections::BTreeMap;

use terrace_env::ByteCount;

use super::division::{Fate, Gaps, Rule, divide, whole_dump};
use super::window::Window;
use crate::leveled::LEVEL_STREAM_FIRST;
use crate::plan::{Cut, Input, Merge, Part, Place, Plan, Route};
use crate::tree::{Key, RunId, RunView, SegmentView, Span, TreeView};

/// Tables that go down the levels together, and the ranges of keys that they still hold.
pub(super) struct Cascade<'a> {
    tree: &'a TreeView,
    /// Inputs, newest first.
    inputs: Vec<(Place, Vec<SegmentView>)>,
    /// Ranges of the data that goes on, in key order and apart.
    pub(super) pieces: Vec<Span>,
    /// The level in which the pieces end if they go no further.
    pub(super) level: usize,
    /// Ranges that end at a level above, with that level; in key order.
    routed: Vec<(Span, usize)>,
}

impl<'a> Cascade<'a> {
    /// A cascade of these tables, newest first, and of all that they overlap in `level`; it ends
    /// there unless it goes on.
    pub(super) fn into(
        tree: &'a TreeView,
        mut inputs: Vec<(Place, Vec<&'a SegmentView>)>,
        level: usize,
    ) -> Self {
        let tables = inputs.iter().flat_map(|(_, tables)| tables);
        let hull = tables.map(|table| table.span.clone()).reduce(|hull, span| hull.hull(&span));
        let run = oldest(tree, level).zip(hull);
        let met: Vec<&SegmentView> =
            run.into_iter().flat_map(|(run, hull)| run.overlapping(&hull)).collect();
        if !met.is_empty() {
            inputs.push((place(tree, level), met));
        }
        Self::new(tree, inputs, level)
    }

    /// A cascade of these tables, newest first; they end at `level` unless they go on.
    pub(super) fn new(
        tree: &'a TreeView,
        inputs: Vec<(Place, Vec<&'a SegmentView>)>,
        level: usize,
    ) -> Self {
        let inputs: Vec<(Place, Vec<SegmentView>)> = inputs
            .into_iter()
            .map(|(place, tables)| (place, tables.into_iter().cloned().collect()))
            .collect();
        let spans = inputs.iter().flat_map(|(_, tables)| tables.iter().map(|t| t.span.clone()));
        let run = oldest(tree, level);
        let pieces = joined(spans.collect(), |between| has_table(run, between));
        Self { tree, inputs, pieces, level, routed: Vec::new() }
    }

    /// Whether all that it takes is of one run.
    pub(super) fn is_of_one_run(&self) -> bool {
        self.inputs.len() == 1
    }

    /// About the bytes that it holds in a range.
    fn bytes_in(&self, span: &Span) -> ByteCount {
        let of_run = |tables: &Vec<SegmentView>| {
            let first = tables.partition_point(|table| table.span.end <= span.start);
            let met = tables[first..].iter().take_while(|table| table.span.start < span.end);
            met.map(|table| table.even_share(span).0).sum::<u64>()
        };
        ByteCount(self.inputs.iter().map(|(_, tables)| of_run(tables)).sum())
    }

    /// About the bytes that would end at its level if it went no further, without those that stay
    /// there anyway.
    pub(super) fn bytes(&self) -> ByteCount {
        ByteCount(self.pieces.iter().map(|piece| self.bytes_in(piece).0).sum())
    }

    /// The bytes that it takes out of a level.
    pub(super) fn taken(&self, level: usize) -> ByteCount {
        let inputs = self.inputs.iter().filter(|(place, _)| usize::from(place.level) == level);
        let tables = inputs.flat_map(|(_, tables)| tables);
        ByteCount(tables.map(|table| table.size.0).sum())
    }

    /// Divides the pieces by the tables of the next level.
    pub(super) fn divided(
        &self,
        window: &Window<'_>,
        table_size: ByteCount,
        gaps: Gaps,
    ) -> Vec<(Span, Fate)> {
        let next = oldest(self.tree, self.level + 1);
        let rule = Rule { bytes: &|span| self.bytes_in(span), table_size, gaps };
        let fates = self.pieces.iter().flat_map(|piece| divide(piece, next, window, &rule));
        whole_dump(fates.collect(), &rule)
    }

    /// Goes down one level; whether anything of it goes on from there.
    pub(super) fn go_on(&mut self, fates: Vec<(Span, Fate)>, window: &Window<'a>) -> bool {
        let mut pieces = Vec::new();
        for (span, fate) in fates {
            match fate {
                Fate::Stay => self.routed.push((span, self.level)),
                Fate::Dump => self.routed.push((span, self.level + 1)),
                Fate::GoOn => pieces.push(span),
            }
        }
        self.routed.sort_by(|a, b| a.0.start.cmp(&b.0.start));
        let tables = window.tables.iter().filter(|table| table.span.meets(&pieces));
        let parts = tables.flat_map(|table| self.unrouted(table).into_iter());
        let parts: Vec<SegmentView> = parts.filter(|part| part.span.meets(&pieces)).collect();
        pieces.extend(parts.iter().map(|part| part.span.clone()));
        self.level += 1;
        let run = oldest(self.tree, self.level);
        self.pieces =
            joined(pieces, |span| has_table(run, span) || !self.routed_in(span).is_empty());
        if !parts.is_empty() {
            self.inputs.push((place(self.tree, self.level), parts));
        }
        !self.pieces.is_empty()
    }

    /// The ranges that end at a level above and overlap `span`.
    fn routed_in(&self, span: &Span) -> &[(Span, usize)] {
        let first = self.routed.partition_point(|(routed, _)| routed.end <= span.start);
        let rest = &self.routed[first..];
        &rest[..rest.partition_point(|(routed, _)| routed.start < span.end)]
    }

    /// A table without the ranges in which data ends above it: a key goes to one place.
    fn unrouted(&self, table: &SegmentView) -> Vec<SegmentView> {
        let mut rest = vec![table.span.clone()];
        for (span, _) in self.routed_in(&table.span) {
            rest = rest.iter().flat_map(|part| part.without(span)).collect();
        }
        let part =
            |span: Span| SegmentView { size: table.even_share(&span), span, ..table.clone() };
        rest.into_iter().map(part).collect()
    }

    /// Whether anything of a level stays where it is within a range.
    fn keeps(&self, level: usize, range: &Span) -> bool {
        let Some(run) = oldest(self.tree, level).filter(|_| !range.is_empty()) else {
            return false;
        };
        let place = place(self.tree, level);
        let inputs = self.inputs.iter().filter(|(of, _)| *of == place);
        let taken: Vec<&SegmentView> = inputs.flat_map(|(_, parts)| parts).collect();
        run.overlapping(range).iter().any(|table| {
            let start = table.span.start.clone().max(range.start.clone());
            let mut rest = vec![Span { start, end: table.span.end.clone().min(range.end.clone()) }];
            let first = taken.partition_point(|part| part.span.end <= table.span.start);
            let within = taken[first..].iter().take_while(|part| part.span.start < table.span.end);
            for part in within {
                rest = rest.iter().flat_map(|rest| rest.without(&part.span)).collect();
            }
            !rest.is_empty()
        })
    }

    /// The plan: one merge.
    pub(super) fn plan(mut self, table_size: ByteCount) -> Plan {
        let level = self.level;
        self.routed.extend(self.pieces.iter().map(|piece| (piece.clone(), level)));
        self.routed.sort_by(|a, b| a.0.start.cmp(&b.0.start));
        let mut routes: Vec<Route> = Vec::new();
        // Where the last range that ends at a level has its end.
        let mut ends: BTreeMap<usize, &Key> = BTreeMap::new();
        for (span, level) in &self.routed {
            let to = place(self.tree, *level);
            if routes.last().is_none_or(|route| route.to != to) {
                if let Some(route) = routes.last_mut() {
                    route.end = Some(span.start.clone());
                }
                let stream = LEVEL_STREAM_FIRST + u16::from(to.level);
                routes.push(Route { end: None, to, stream, cut: Cut::at(table_size) });
            }
            let between = |end: &Key| Span { start: end.clone(), end: span.start.clone() };
            // No table reaches over one that stays where it is, or over the remainder of one.
            if let Some(end) = ends.insert(*level, &span.end)
                && self.keeps(*level, &between(end))
            {
                let route = routes.last_mut().expect("the route of the range");
                route.cut.keys.push(span.start.clone());
            }
        }
        debug_assert!(routes.last().is_some_and(|route| route.end.is_none()), "{routes:?}");
        debug_assert!(self.inputs.iter().all(|(_, tables)| !tables.is_empty()), "empty inputs");
        let part = |table: &SegmentView| Part { file: table.file, span: table.span.clone() };
        let inputs = self.inputs.iter().map(|(place, tables)| Input {
            place: *place,
            parts: tables.iter().map(part).collect(),
        });
        Plan::Merge(Merge { inputs: inputs.collect(), routes, moves: Vec::new(), set: false })
    }
}

/// The run of a level that compactions go to.
pub(super) fn oldest(tree: &TreeView, level: usize) -> Option<&RunView> {
    tree.runs(level).last()
}

pub(super) fn place(tree: &TreeView, level: usize) -> Place {
    let run = oldest(tree, level).map_or(RunId(1), |run| run.id);
    Place { level: level as u8, run }
}

/// The same ranges in key order, joined where nothing lies between.
fn joined(mut spans: Vec<Span>, lies: impl Fn(&Span) -> bool) -> Vec<Span> {
    spans.sort_by(|a, b| a.start.cmp(&b.start));
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        if let Some(last) = joined.last_mut() {
            let between = Span { start: last.end.clone(), end: span.start.clone() };
            if between.is_empty() || !lies(&between) {
                if last.end < span.end {
                    last.end = span.end;
                }
                continue;
            }
        }
        joined.push(span);
    }
    debug_assert!(joined.windows(2).all(|pair| pair[0].end < pair[1].start), "{joined:?}");
    joined
}

/// Whether a run has a table in the range.
fn has_table(run: Option<&RunView>, span: &Span) -> bool {
    !span.is_empty() && run.is_some_and(|run| !run.overlapping(span).is_empty())
}
