//! Tiered compaction over one leveled last level: few rewrites, but more runs to read. A level
//! above the last holds runs as they came, newest first.
//!
//! 1. Of the levels above the last, the one with the most runs goes down as a whole, if it has at
//!    least `runs` of them; of equals the upper one. All its runs become one new run of the next
//!    level, the newest there.
//! 2. Into the last level they are merged with its tables in their range of keys, so that it stays
//!    one run.
//! 3. If no two tables of the runs overlap, and step 2 finds none to merge them with, the runs go
//!    down by metadata alone, unless at least half of the entries of one of their segments are
//!    tombstones.
//! 4. If no level is due, a level above the last that has a segment with that share of tombstones
//!    goes down, the uppermost first.
//! 5. If space is short and nothing of this is due, the deepest level above the last one that holds
//!    anything goes down.
//!
//! # Older data taken along
//! With `along_max = R` over 0, the deepest tier does not go down as a whole in step 1. A merge of
//! the level above into it takes older data along instead, at most `R` older bytes for each byte
//! that comes:
//!
//! 6. *Join.* If scans ask for the merge, the newest runs of the deepest tier become one run with
//!    the runs that come, each as long as it is no larger than all newer ones in the merge.
//!    (Size-tiered compaction: Cassandra and RocksDB merge runs of similar size as well.)
//! 7. *Slice.* In one range of keys, the rest of the tier and the runs that come go to the last
//!    level. The range ends between tables of the last level. It is due where the tier would come
//!    to hold `runs` runs otherwise. If scans ask for the merge, it is also due where the last
//!    level has at most `R` times the bytes that meet it.
//! 8. *Pace.* If scans do not ask, no more of the rest goes out of the tier than comes into it,
//!    but for the first table of the last level.
//! 9. *Room.* Where the tier would come to hold the number of runs at which writers are held back,
//!    its newest runs join as well, at any size.
//! 10. The tier goes down as a whole where it has that number of runs all the same, where step 4
//!     asks for it, for lack of space and in manual compactions.
//!
//! Why: the deepest tier as a whole meets the whole store. With a last level of `D` bytes this is
//! one merge of more than `D`, even if only a hundredth of `D` was written since the last one. A
//! slice is paid by the bytes that come at that time.
//!
//! Cost, with `t` levels above the last one: such a merge writes `1 + R` bytes at most for
//! one that comes, and `t - 2` merges have brought it there, each of which wrote it once. So
//! compaction writes `t - 1 + R` bytes for one at most, in any order of writes and scans, but for
//! step 10. Without slices it is `t + D / T` on average, with `T` bytes in the tier when it goes
//! down, and nearly all of it is one merge.
//!
//! If `A` bytes come at a time, a byte joins by step 6 at most `log2(T / A)` times, because its run
//! at least doubles whenever it does. Of the runs that this step leaves, each is larger than all
//! newer ones together, so there are at most `1 + log2(T / A)` of them.
//!
//! Without writes there is no merge that could take anything along, however many scans there are.
//!
//! # Others
//! Several compactions: while others run, the uppermost level with at least `runs` runs that their
//! claims allow goes down. A manual compaction takes the uppermost level that has keys of the
//! range, until they are in one run.
//!
//! Other layouts are drained before all steps, by one plan at a time: while the last level has
//! several runs, the oldest two are merged. If the tree is deeper than the options say, its deepest
//! level is the last. The decider has no state.

mod along;

use std::cmp::Reverse;
use std::sync::Arc;

use terrace_env::ByteCount;

use self::along::{Along, Limits, Reason, Slice};
use crate::claims::Claims;
use crate::compaction::{Choice, Compaction, Pressure, Urgency};
use crate::leveled::LEVEL_STREAM_FIRST;
use crate::plan::{Cut, Input, Merge, Move, Part, Place, Plan, Route};
use crate::tree::{RunId, RunView, SegmentView, Segments, Span, TreeView};

/// The parameters of tiered compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TieredOptions {
    /// How many runs of a level go down together.
    pub runs: usize,
    /// Number of runs in level 0 from which on writers are held back.
    pub level0_slow: usize,
    /// How many there should be at most.
    pub level0_stop: usize,
    /// How many levels there are, level 0 and the last one included.
    pub levels: usize,
    /// The size of a table.
    pub table_size: ByteCount,
    /// How many compactions may run at once.
    pub jobs: usize,
    /// The most older bytes that a merge into the deepest tier takes along for each newer one; 0:
    /// none, and the deepest tier goes down as a whole.
    pub along_max: usize,
}

impl Default for TieredOptions {
    fn default() -> Self {
        let (runs, levels) = (4, 4);
        let table_size = ByteCount::mib(16);
        let (level0_slow, level0_stop) = (8, 12);
        Self { runs, level0_slow, level0_stop, levels, table_size, jobs: 1, along_max: 0 }
    }
}

/// Tiered compaction.
#[derive(Clone, Debug, Default)]
pub struct Tiered {
    options: TieredOptions,
}

impl Tiered {
    /// A decider with these parameters.
    ///
    /// # Panics
    /// When there are fewer than 2 or more than 64 levels, when fewer than two runs would go down,
    /// or when `table_size` is zero.
    #[must_use]
    pub fn new(options: TieredOptions) -> Self {
        assert!((2..=64).contains(&options.levels), "2 to 64 levels, not {}", options.levels);
        assert!(options.runs > 1 && options.table_size.0 > 0, "a limit too low: {options:?}");
        Self { options }
    }

    /// The last level: that of the options, or the tree's if that is deeper.
    pub(crate) fn last(&self, tree: &TreeView) -> usize {
        self.options.levels.max(tree.levels.len()) - 1
    }

    /// How far a level is at its limit of runs.
    pub(crate) fn score(&self, tree: &TreeView, level: usize) -> f64 {
        tree.runs(level).len() as f64 / self.options.runs as f64
    }

    /// Step 1: the level that is due.
    fn fullest(&self, tree: &TreeView) -> Option<usize> {
        let mut best = None;
        for level in (0..self.last(tree)).filter(|level| self.is_due(tree, *level)) {
            let score = self.score(tree, level);
            if best.is_none_or(|(_, highest)| score > highest) {
                best = Some((level, score));
            }
        }
        best.map(|(level, _)| level)
    }

    /// Steps 1 and 10.
    fn is_due(&self, tree: &TreeView, level: usize) -> bool {
        let is_sliced = self.deepest_sliced(tree) == Some(level);
        let least = if is_sliced { self.options.level0_slow } else { self.options.runs };
        tree.runs(level).len() >= least
    }

    /// The deepest tier, if merges into it take older data along.
    fn deepest_sliced(&self, tree: &TreeView) -> Option<usize> {
        (self.last(tree) > 1 && self.options.along_max > 0).then(|| self.last(tree) - 1)
    }

    /// A merge of all runs of a level into the next one.
    fn down(&self, tree: &TreeView, level: usize, reason: Reason) -> Option<Choice> {
        let runs: Vec<(usize, &RunView)> =
            tree.runs(level).iter().map(|run| (level, run)).collect();
        let to = level + 1;
        if to == self.last(tree) {
            return self.merge(tree, runs, to, oldest(tree, to));
        }
        let newest = tree.runs(to).first().map_or(0, |run| run.id.0);
        debug_assert!(tree.runs(to).iter().all(|run| run.id.0 <= newest), "runs newest first");
        let choice = self.merge(tree, runs, to, RunId(newest + 1))?;
        match choice.plan {
            Plan::Merge(merge) if self.deepest_sliced(tree) == Some(to) => {
                Some(self.with_older(tree, merge, level, reason))
            }
            _ => Some(choice),
        }
    }

    /// A merge of all runs of a level into the next one, and of nothing else.
    pub(crate) fn down_whole(&self, tree: &TreeView, level: usize) -> Option<Choice> {
        self.down(tree, level, Reason::Nothing)
    }

    /// Steps 6 to 9: a merge into the deepest tier, with the older data that it takes along.
    fn with_older(
        &self,
        tree: &TreeView,
        mut merge: Merge,
        level: usize,
        reason: Reason,
    ) -> Choice {
        let TieredOptions { runs, level0_slow, along_max, .. } = self.options;
        let limits = Limits { older: along_max as u64, runs, runs_most: level0_slow };
        let Along { joined, slice } = Along::of(tree, level, limits, reason);
        debug_assert!(joined <= tree.runs(level + 1).len(), "{joined} runs join");
        let (tier, last) = (level + 1, level + 2);
        for (at, run) in tree.runs(tier).iter().enumerate() {
            let parts: Vec<Part> = match &slice {
                _ if at < joined => run.segments.iter().map(part).collect(),
                Some(slice) => run.segments.iter().filter_map(|s| within(s, slice)).collect(),
                None => Vec::new(),
            };
            let place = Place { level: tier as u8, run: run.id };
            merge.inputs.extend((!parts.is_empty()).then_some(Input { place, parts }));
        }
        if let Some(slice) = slice {
            let place = Place { level: last as u8, run: oldest(tree, last) };
            let tables = tree.runs(last).first().map(|run| run.segments.slice(slice.tables));
            let parts: Vec<Part> = tables.unwrap_or_default().iter().map(part).collect();
            merge.inputs.extend((!parts.is_empty()).then_some(Input { place, parts }));
            debug_assert_eq!(merge.routes.len(), 1, "a merge down has one route");
            let outside = merge.routes.remove(0);
            let before = slice.start.map(|end| Route { end: Some(end), ..outside.clone() });
            let behind = slice.end.is_some().then(|| outside.clone());
            let stream = LEVEL_STREAM_FIRST + last as u16;
            let within = Route { end: slice.end, to: place, stream, cut: outside.cut };
            merge.routes = before.into_iter().chain([within]).chain(behind).collect();
        }
        Choice { plan: Plan::Merge(merge), state: Vec::new() }
    }

    /// The last level's oldest two runs into the oldest.
    pub(crate) fn drain(&self, tree: &TreeView) -> Option<Choice> {
        let last = self.last(tree);
        let [.., newer, oldest] = tree.runs(last) else { return None };
        self.merge(tree, vec![(last, newer)], last, oldest.id)
    }

    /// Runs into a run of `level`, with the segments that they overlap there.
    fn merge(
        &self,
        tree: &TreeView,
        sources: Vec<(usize, &RunView)>,
        level: usize,
        run: RunId,
    ) -> Option<Choice> {
        let to = Place { level: level as u8, run };
        let spans = sources.iter().filter_map(|(_, run)| run.span());
        let hull = spans.reduce(|hull, span| hull.hull(&span))?;
        let target = tree.runs(level).iter().find(|other| other.id == run);
        debug_assert!(
            sources.iter().all(|(of, run)| (*of, Reverse(run.id)) < (level, Reverse(to.run))),
            "data of newer runs to {to}"
        );
        let met = target.map_or_else(Segments::default, |target| target.overlapping(&hull));
        let segments = || sources.iter().flat_map(|(_, run)| &run.segments);
        if met.is_empty() && are_apart(segments()) && !segments().any(mostly_deletes) {
            let moves = sources.iter().flat_map(|(level, run)| {
                let from = Place { level: *level as u8, run: run.id };
                run.segments.iter().map(move |s| Move { part: part(s), from, to: Some(to) })
            });
            return Some(Choice { plan: Plan::TrivialMove(moves.collect()), state: Vec::new() });
        }
        let input = |level: usize, run: RunId, segments: Segments<'_>| Input {
            place: Place { level: level as u8, run },
            parts: segments.iter().map(part).collect(),
        };
        let of_sources = sources.iter();
        let of_sources =
            of_sources.map(|(level, run)| input(*level, run.id, run.segments.as_slice()));
        let mut inputs: Vec<Input> = of_sources.collect();
        if !met.is_empty() {
            inputs.push(input(level, run, met));
        }
        let (stream, cut) = (LEVEL_STREAM_FIRST + level as u16, Cut::at(self.options.table_size));
        let routes = vec![Route { end: None, to, stream, cut }];
        let plan = Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false });
        Some(Choice { plan, state: Vec::new() })
    }

    /// How far the levels above this one are out of shape.
    pub(crate) fn pressure_above(&self, tree: &TreeView, level: usize) -> Pressure {
        let (slow, stop) = (self.options.level0_slow as f64, self.options.level0_stop as f64);
        let level0 = Pressure::of(tree.runs(0).len() as f64, slow, stop);
        let unit = self.options.runs as f64;
        let scores = (1..level).map(|level| self.score(tree, level));
        let deeper = Pressure::of(scores.fold(0.0, f64::max), slow / unit, stop / unit);
        Pressure(level0.0.max(deeper.0.min(Pressure::MATCH.0)))
    }

    /// Step 4.
    fn deletes_down(&self, tree: &TreeView) -> Option<Choice> {
        let due = |level: &usize| {
            tree.runs(*level).iter().any(|run| run.segments.iter().any(mostly_deletes))
        };
        self.down(tree, (0..self.last(tree)).find(due)?, Reason::Nothing)
    }
}

impl Compaction for Tiered {
    fn name(&self) -> &'static str {
        "tiered"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], urgency: Urgency) -> Option<Choice> {
        let due = self.drain(tree).or_else(|| self.down(tree, self.fullest(tree)?, Reason::Shape));
        let due = due.or_else(|| self.deletes_down(tree));
        match urgency {
            Urgency::Shape | Urgency::Rest => due,
            Urgency::Space | Urgency::All => due.or_else(|| {
                let upper = (0..self.last(tree)).rev();
                let mut upper = upper.filter(|level| !tree.runs(*level).is_empty());
                upper.find_map(|level| self.down(tree, level, Reason::Nothing))
            }),
        }
    }

    fn choices(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Vec<Choice> {
        if let Some(drain) = self.drain(tree) {
            return vec![drain];
        }
        let holds = |level: &usize| !tree.runs(*level).is_empty();
        let mut levels: Vec<usize> = (0..self.last(tree)).filter(holds).collect();
        levels.sort_by_key(|level| Reverse(tree.runs(*level).len()));
        let down = |level: &usize, reason| self.down(tree, *level, reason);
        let due = levels.iter().filter(|level| self.is_due(tree, **level));
        let due = due.filter_map(|level| down(level, Reason::Shape));
        let first = self.pick(tree, state, urgency);
        let rest = matches!(urgency, Urgency::Space | Urgency::All)
            .then(|| levels.iter().filter_map(|level| down(level, Reason::Nothing)));
        due.chain(first).chain(rest.into_iter().flatten()).collect()
    }

    fn choices_for_scans(&self, tree: &TreeView, state: &[u8]) -> Vec<Choice> {
        let sliced = match self.deepest_sliced(tree) {
            Some(level) if self.drain(tree).is_none() => level,
            _ => return self.choices(tree, state, Urgency::All),
        };
        let holds = |level: &usize| !tree.runs(*level).is_empty();
        let mut levels: Vec<usize> = (0..sliced).filter(holds).collect();
        levels.sort_by_key(|level| Reverse(tree.runs(*level).len()));
        levels.into_iter().filter_map(|level| self.down(tree, level, Reason::Scans)).collect()
    }

    fn jobs_max(&self) -> usize {
        self.options.jobs
    }

    fn pick_beside(&self, tree: &TreeView, claims: &Claims, _: &[u8]) -> Option<Choice> {
        // Another layout is drained by one plan at a time: a plan into the oldest run of the last
        // level would pass the newer ones.
        if tree.runs(self.last(tree)).len() > 1 {
            return None;
        }
        let due = (0..self.last(tree)).filter(|level| self.is_due(tree, *level));
        let mut due = due.filter_map(|level| self.down(tree, level, Reason::Shape));
        due.find(|choice| claims.allow(&choice.plan))
    }

    fn manual_compaction(&self, tree: &TreeView, _: &[u8], span: &Span) -> Option<Choice> {
        let holds = |level: usize| {
            let runs = tree.runs(level).iter();
            runs.filter(|run| !run.overlapping(span).is_empty()).count()
        };
        let runs: usize = (0..tree.levels.len()).map(holds).sum();
        let upper = (0..self.last(tree)).find(|level| holds(*level) > 0).filter(|_| runs > 1);
        self.drain(tree).or_else(|| self.down(tree, upper?, Reason::Nothing))
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        self.pressure_above(tree, self.last(tree))
    }
}

/// The oldest run of a level, or the one that is to be.
pub(crate) fn oldest(tree: &TreeView, level: usize) -> RunId {
    tree.runs(level).last().map_or(RunId(1), |run| run.id)
}

/// The part of a segment that lies in a slice.
fn within(segment: &SegmentView, slice: &Slice) -> Option<Part> {
    let Span { start, end } = &segment.span;
    let start = slice.start.as_ref().map_or(start, |from| from.max(start));
    let end = slice.end.as_ref().map_or(end, |to| to.min(end));
    let span = Span { start: Arc::clone(start), end: Arc::clone(end) };
    (!span.is_empty()).then_some(Part { file: segment.file, span })
}

fn part(segment: &SegmentView) -> Part {
    Part { file: segment.file, span: segment.span.clone() }
}

/// Whether at least half of its entries are tombstones.
pub(crate) fn mostly_deletes(segment: &SegmentView) -> bool {
    segment.tombstones > 0 && segment.tombstones.saturating_mul(2) >= segment.entries
}

/// Whether no two segments overlap.
pub(crate) fn are_apart<'a>(segments: impl Iterator<Item = &'a SegmentView>) -> bool {
    let mut spans: Vec<&Span> = segments.map(|segment| &segment.span).collect();
    spans.sort_by(|a, b| a.start.cmp(&b.start));
    spans.windows(2).all(|pair| pair[0].end <= pair[1].start)
}
