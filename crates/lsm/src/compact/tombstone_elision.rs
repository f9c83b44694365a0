//! [`TombstoneElision`]: tells a job which keys may have older entries in the tree outside its
//! inputs. For such a key the job must keep a tombstone that no newer entry hides.
//!
//! - It knows key ranges of segments, not single keys: a key in the range of an older segment
//!   counts, whether the segment has it or not. A key in a range that the plan only moves counts,
//!   too.
//! - For a flush it is [`Unknown`](TombstoneElision::Unknown): every key counts.
//! - A key is looked up in the older runs when the job asks for it. The ranges are listed only for
//!   range tombstones ([`spans`](TombstoneElision::spans)), because a whole tree may lie below the
//!   inputs.
//!
//! The answer is for the version that it was made with. It stays right only if the claim of the
//! job's plan keeps other plans from putting older entries below the inputs. One actor asks.

use std::sync::Arc;

use terrace_policy::{Key, Merge, Place, RunView, Span};

use super::subcompaction::Subcompaction;
use crate::ranges::unite;
use crate::tree::Version;

/// Ranges below a job's inputs that may hold older entries.
#[derive(Debug)]
pub(crate) enum TombstoneElision {
    /// All ranges.
    Unknown,
    /// Ranges that older runs keep.
    Kept {
        runs: Vec<KeptRun>,
        /// Ranges that the job moves from any place, disjoint, in key order.
        moved: Vec<Span>,
        subcompaction: Subcompaction,
    },
}

impl TombstoneElision {
    /// Ranges of a subcompaction that lie below the newest input and are no inputs. Ranges that
    /// only move count as well.
    pub(crate) fn of(version: &Version, merge: &Merge, subcompaction: &Subcompaction) -> Self {
        // An earlier subcompaction may have removed the run of the newest input.
        let newest = merge.inputs.first().map(|input| input.place);
        let older =
            version.places().filter(|(place, _)| newest.is_some_and(|n| n.age() <= place.age()));
        let runs = older.map(|(place, run)| KeptRun::of(run.view(), place, merge));
        let moved = unite(merge.moves.iter().map(|one| one.part.span.clone()).collect());
        Self::Kept { runs: runs.collect(), moved, subcompaction: subcompaction.clone() }
    }

    /// These ranges of the subcompaction, in any order; `None`: all ranges.
    pub(crate) fn spans(&self) -> Option<Vec<Span>> {
        let Self::Kept { runs, moved, subcompaction } = self else { return None };
        let kept = runs
            .iter()
            .flat_map(|run| run.spans(subcompaction.start.as_ref(), subcompaction.end.as_ref()));
        Some(
            kept.chain(moved.iter().cloned())
                .filter_map(|span| subcompaction.clip(&span))
                .collect(),
        )
    }

    /// Whether one of these ranges may hold an older entry of the key.
    pub(crate) fn may_hold(&self, full_key: &[u8]) -> bool {
        let Self::Kept { runs, moved, .. } = self else { return true };
        runs.iter().any(|run| run.holds(full_key)) || holds(moved, full_key)
    }
}

/// Whether one of these ranges, disjoint and in key order, holds a key.
fn holds(spans: &[Span], full_key: &[u8]) -> bool {
    let at = spans.partition_point(|span| &span.end[..] <= full_key);
    spans.get(at).is_some_and(|span| &span.start[..] <= full_key)
}

/// A run without the parts that a merge takes out of it.
#[derive(Debug)]
pub(crate) struct KeptRun {
    run: RunView,
    /// In key order.
    taken: Vec<Span>,
}

impl KeptRun {
    pub(crate) fn of(run: RunView, place: Place, merge: &Merge) -> Self {
        let inputs = merge.inputs.iter().filter(|input| input.place == place);
        let moves = merge.moves.iter().filter(|one| one.from == place).map(|one| &one.part);
        let parts = inputs.flat_map(|input| &input.parts).chain(moves);
        let mut taken: Vec<Span> = parts.map(|part| part.span.clone()).collect();
        taken.sort_by(|a, b| a.start.cmp(&b.start));
        debug_assert!(
            taken.is_sorted_by(|a, b| a.end <= b.start),
            "{place}: a part is taken twice of {taken:?}"
        );
        Self { run, taken }
    }

    fn holds(&self, full_key: &[u8]) -> bool {
        let segment = self.run.segments.first_behind(|segment| &segment.span.end[..] <= full_key);
        let in_run = segment.is_some_and(|segment| &segment.span.start[..] <= full_key);
        in_run && !holds(&self.taken, full_key)
    }

    /// Ranges that it keeps of the segments that overlap a range, in key order.
    pub(crate) fn spans(&self, start: Option<&Key>, end: Option<&Key>) -> Vec<Span> {
        let segments = &self.run.segments;
        let first = start.map_or(0, |start| segments.partition_point(|s| s.span.end <= *start));
        let reached = segments.slice(first..segments.len()).iter();
        let reached = reached.take_while(|s| end.is_none_or(|end| s.span.start < *end));
        let mut kept = Vec::new();
        for segment in reached {
            let mut rest = segment.span.clone();
            let from = self.taken.partition_point(|taken| taken.end <= rest.start);
            for taken in self.taken[from..].iter().take_while(|taken| taken.start < rest.end) {
                if rest.start < taken.start {
                    kept.push(Span { start: rest.start, end: Arc::clone(&taken.start) });
                }
                rest.start = Arc::clone(&taken.end);
                if rest.is_empty() {
                    break;
                }
            }
            if !rest.is_empty() {
                kept.push(rest);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::{ByteCount, FileId};
    use terrace_policy::{Cut, Histogram, Input, Part, Route, RunId, SegmentView};

    fn span(text: &str) -> Span {
        let (start, end) = text.split_once('-').expect("start-end");
        Span::new(start.as_bytes(), end.as_bytes())
    }

    #[test]
    fn a_run_keeps_what_no_input_takes() {
        let place = Place { level: 2, run: RunId(1) };
        let segment = |(text, file): (&str, u64)| SegmentView {
            file: FileId(file),
            span: span(text),
            size: ByteCount(1),
            entries: 1,
            tombstones: 0,
            set: None,
            histogram: Histogram::default(),
        };
        let segments = [("a-c", 1), ("c-h", 2), ("k-p", 3), ("p-z", 4)].map(segment);
        let run = RunView { id: place.run, segments: segments.into_iter().collect() };
        let part = |(text, file)| Part { file: FileId(file), span: span(text) };
        let parts = [("a-c", 1), ("d-e", 2), ("f-h", 2), ("k-l", 3)].map(part).to_vec();
        let to = Place { level: 3, run: RunId(1) };
        let routes = vec![Route { end: None, to, stream: 0, cut: Cut::at(ByteCount(1)) }];
        let merge =
            Merge { inputs: vec![Input { place, parts }], routes, moves: Vec::new(), set: false };
        let kept = KeptRun::of(run, place, &merge);
        let all = ["c-d", "e-f", "l-p", "p-z"].map(span);
        assert_eq!(kept.spans(None, None), all);
        let within = [span("d-m")].map(|Span { start, end }| kept.spans(Some(&start), Some(&end)));
        assert_eq!(within, [all[..3].to_vec()]);
        for key in (b'a'..=b'z').map(|letter| [letter]) {
            let held = all.iter().any(|span| span.contains(&key));
            assert_eq!(kept.holds(&key), held, "{}", key.escape_ascii());
        }
    }
}
