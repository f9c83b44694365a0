//! [`Level`]: a level whose bands may overlap. A band is a table. The level finds the band that
//! overlaps the most others, its newer overlapping bands, the run for outputs, and the bands that
//! can move to older runs to leave fewer runs.
//!
//! Bands of one run are of the same age and do not overlap. Of two bands that overlap, the one in
//! the newer run is newer.

use std::collections::BTreeMap;

use crate::plan::{Move, Place};
use crate::tree::{LevelView, RunId, RunView, SegmentView, Span, TreeView};

use super::part;

/// A band: its run, counted from the newest, and its segment.
pub(super) type Band<'a> = (usize, &'a SegmentView);

/// Bands that are taken out of a level: of each run, from the newest on, in key order.
pub(super) type Taken<'a> = Vec<Vec<&'a SegmentView>>;

/// A level of a tree.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    pub(super) number: usize,
    pub(super) runs: &'a [RunView],
}

impl<'a> Level<'a> {
    pub(super) fn of(tree: &'a TreeView, number: usize) -> Self {
        Self { number, runs: tree.runs(number) }
    }

    pub(super) fn place(&self, run: RunId) -> Place {
        Place { level: self.number as u8, run }
    }

    /// All bands, the newest runs first.
    pub(super) fn bands(&self) -> impl Iterator<Item = Band<'a>> + use<'a> {
        let runs = self.runs.iter().enumerate();
        runs.flat_map(|(at, run)| run.segments.iter().map(move |segment| (at, segment)))
    }

    /// All bands that overlap one of these ranges, which are apart and in key order.
    pub(super) fn met_by(&self, spans: &[Span]) -> Vec<Band<'a>> {
        let runs = self.runs.iter().enumerate();
        runs.flat_map(|(at, run)| met(run, spans).into_iter().map(move |band| (at, band))).collect()
    }

    /// The band that overlaps the most others, and how many these are; of several the oldest.
    /// `None` if no bands overlap.
    pub(super) fn most_overlapped(&self) -> Option<(Band<'a>, usize)> {
        if self.runs.len() < 2 {
            return None;
        }
        let mut starts: Vec<&[u8]> = self.bands().map(|(_, band)| &band.span.start[..]).collect();
        let mut ends: Vec<&[u8]> = self.bands().map(|(_, band)| &band.span.end[..]).collect();
        starts.sort_unstable();
        ends.sort_unstable();
        let others = |Span { start, end }: &Span| {
            let begin_before = starts.partition_point(|other| *other < &end[..]);
            debug_assert!(start < end && begin_before > 0, "a band meets itself");
            begin_before - ends.partition_point(|other| *other <= &start[..]) - 1
        };
        let counted = self.bands().map(|band| (band, others(&band.1.span)));
        counted.max_by_key(|((at, _), count)| (*count, *at)).filter(|(_, count)| *count > 0)
    }

    /// Whether a newer band overlaps this one.
    pub(super) fn has_newer(&self, (at, band): Band<'_>) -> bool {
        self.runs[..at].iter().any(|run| !run.overlapping(&band.span).is_empty())
    }

    /// A band with all newer ones that it overlaps, and that these overlap, and so on.
    pub(super) fn with_newer(&self, (at, band): Band<'a>) -> Taken<'a> {
        let mut taken: Taken<'a> = vec![Vec::new(); self.runs.len()];
        taken[at].push(band);
        let mut covered = vec![band.span.clone()];
        for newer in (0..at).rev() {
            taken[newer] = met(&self.runs[newer], &covered);
            covered.extend(taken[newer].iter().map(|band| band.span.clone()));
            covered = united(covered);
        }
        debug_assert_eq!(taken[at].len(), 1, "no other band of the run itself");
        taken
    }

    /// The oldest run that may get outputs of these keys, above all bands that overlap them and
    /// stay. Bands of one merge are not among `stays`.
    pub(super) fn place_for(&self, hull: &Span, taken: &Taken<'_>) -> Place {
        let stays = |(at, run): (usize, &RunView)| {
            let goes = taken.get(at).map_or(0, Vec::len);
            // The taken segments overlap the hull.
            run.overlapping(hull).len() > goes
        };
        let newest = self.runs.iter().enumerate().position(stays);
        let run = match newest {
            None => self.runs.last().map_or(RunId(1), |run| run.id),
            Some(0) => RunId(self.runs[0].id.0 + 1),
            Some(at) => self.runs[at - 1].id,
        };
        self.place(run)
    }

    /// Moves of bands down to older runs, if the level needs fewer than it has: each band to the
    /// oldest run above all older bands that it overlaps. At most `most`, the oldest first, so that
    /// each of them is legal when those before it are done.
    pub(super) fn fold(&self, most: usize) -> Vec<Move> {
        let mut layers: Vec<BTreeMap<&[u8], &[u8]>> = Vec::new();
        let mut moves = Vec::new();
        let ids: Vec<RunId> = self.runs.iter().rev().map(|run| run.id).collect();
        for (rank, run) in self.runs.iter().rev().enumerate() {
            for band in &run.segments {
                let Span { start, end } = &band.span;
                let overlaps = |layer: &BTreeMap<&[u8], &[u8]>| {
                    let last = layer.range(..&end[..]).next_back();
                    last.is_some_and(|(_, behind)| *behind > &start[..])
                };
                let layer = layers.iter().rposition(overlaps).map_or(0, |under| under + 1);
                debug_assert!(layer <= rank, "a band of run {rank} lies over {layer} others");
                if layer == layers.len() {
                    layers.push(BTreeMap::new());
                }
                layers[layer].insert(start, end);
                if layer < rank {
                    let (from, to) = (self.place(run.id), Some(self.place(ids[layer])));
                    moves.push(Move { part: part(band), from, to });
                }
            }
        }
        if layers.len() == self.runs.len() {
            return Vec::new();
        }
        moves.truncate(most);
        moves
    }
}

/// Segments of a run that overlap one of these ranges, which are apart and in key order.
pub(super) fn met<'a>(run: &'a RunView, spans: &[Span]) -> Vec<&'a SegmentView> {
    let mut met: Vec<&SegmentView> = spans.iter().flat_map(|span| run.overlapping(span)).collect();
    met.dedup_by_key(|segment| &segment.span.start);
    met
}

/// The keys of `spans` in ranges that are apart and in key order.
pub(super) fn united(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|a, b| a.start.cmp(&b.start));
    let mut united: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match united.last_mut().filter(|last| span.start < last.end) {
            Some(last) => *last = last.hull(&span),
            None => united.push(span),
        }
    }
    debug_assert!(united.windows(2).all(|pair| pair[0].end <= pair[1].start), "{united:?}");
    united
}

/// The deepest level that holds anything, but at least level 1: the ordered one.
pub(super) fn ordered(tree: &TreeView) -> usize {
    let holds = |level: &LevelView| !level.runs.is_empty();
    tree.levels.iter().rposition(holds).unwrap_or(1).max(1)
}
