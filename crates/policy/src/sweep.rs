//! Lifetime-leveling compaction: a pointer sweeps each level, and the tables that it passes die in
//! the order in which they were written (Jung and Shin, "Lifetime-Leveling LSM-tree Compaction for
//! ZNS SSD", HotStorage '22). `CP(i)` is the pointer of level `i`.
//!
//! 1. A level is chosen as in [`Leveled`], and so are the runs of level 0. In another level `i`,
//!    the first table at or after `CP(i)` is taken, going round.
//! 2. Of level `i+1`, the tables from `CP(i)` up to the next `CP(i)` take part. Those that overlap
//!    tables of step 1 or 3 are merged with them. The others are *carried along*: read and written
//!    anew, so that no long-lived table is left in a zone that otherwise dies. Exceptions are
//!    below.
//! 3. Further tables of level `i` join, up to a limit, while they improve the ratio of the bytes
//!    from level `i` to those from level `i+1`.
//! 4. The next `CP(i)` is the smaller of two keys: the first key of the next table of level `i`,
//!    and that of the next one of level `i+1`. If there is neither, it is the end of the taken
//!    tables.
//! 5. Outputs end where those of [`Leveled`] end, and also at `CP(i)`, at `CP(i+1)` and at the next
//!    `CP(i)`. The keys after the next `CP(i)` are the *tail*, which the next compaction of level
//!    `i` usually consumes. So it goes to zones of its own stream, the T-zone (without `tzone`: to
//!    the level's stream).
//! 6. One worker writes the merge, unless `in_order` is off. So a zone holds one interval of keys,
//!    and dies whole after the pointer, with the exceptions below.
//!
//! # Where the slides are silent
//! - If level `i+1` has no table in their range of keys, tables move down by metadata alone. But if
//!   more than a quarter of the entries of one of them are tombstones, they are written anew
//!   instead. Nothing is carried along with either.
//! - The tables carried along before the first table that is merged, or after the last one, are
//!   smaller than a zone. A larger part fills zones of its own, and copying it at each round costs
//!   more than it gains. On a device without zones, there is none of either.
//! - Before the first overlap, tables are carried along only after the last one that is newer than
//!   the first input of level `i`. Otherwise a compaction that ended early would have its outputs
//!   written again and again.
//! - With the last table of level `i`, the rest of level `i+1` is carried along if it is smaller
//!   than a zone.
//! - Compactions that do not belong to a sweep are those of [`Leveled`]: of level 0, of tables with
//!   many tombstones, manual ones, those that merge runs of another system's layout, and those for
//!   lack of space. They carry nothing along, and may leave holes in zones. Their outputs end at
//!   the pointers as well.
//!
//! One plan runs at a time. The state is the pointers.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::ByteCount;

use crate::compaction::{Choice, Compaction, Pressure, Urgency};
use crate::leveled::{LEVEL_STREAM_FIRST, Leveled, LeveledOptions, part};
use crate::plan::{Input, Merge, Move, Place, Plan, Route};
use crate::pointers::Pointers;
use crate::tree::{Key, LEVELS_MAX, RunId, SegmentView, Segments, Span, TreeView};

/// The stream of tails: the T-zone's. All levels share it, because there is one tail to a level.
pub const TAIL_STREAM: u16 = LEVEL_STREAM_FIRST + LEVELS_MAX as u16;

/// The parameters of lifetime-leveling compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepOptions {
    /// Parameters of leveled compaction.
    pub leveled: LeveledOptions,
    /// Step 3: how many further tables of a level go down together at most.
    pub extra_tables: usize,
    /// Step 5: whether tails go to a zone of their own.
    pub tzone: bool,
    /// Step 6: whether a merge is written by one worker.
    pub in_order: bool,
    /// The capacity of a zone; 0 where there are none, and nothing is carried along.
    pub zone_capacity: ByteCount,
}

/// Lifetime-leveling compaction.
#[derive(Clone, Debug)]
pub struct Sweep {
    leveled: Leveled,
    options: SweepOptions,
}

/// Tables that one compaction of a level takes.
struct Step<'a> {
    level: usize,
    /// Tables of the level.
    upper: Segments<'a>,
    /// Tables of the next one.
    lower: Segments<'a>,
    /// The next pointer.
    next: Key,
}

/// A level and the next one, as the pointer finds them.
struct Front<'a> {
    upper: Segments<'a>,
    lower: Segments<'a>,
    pointer: &'a [u8],
    /// The most that is carried along in one part.
    carried_max: ByteCount,
}

fn size(segments: Segments<'_>) -> ByteCount {
    ByteCount(segments.iter().map(|segment| segment.size.0).sum())
}

impl Front<'_> {
    /// Step 2: which tables of the next level take part with these.
    fn met(&self, tables: &Range<usize>) -> Range<usize> {
        let (start, end) = (&self.upper[tables.start].span.start, &self.upper[tables.end - 1].span);
        let first = self.lower.partition_point(|segment| segment.span.end <= *start);
        let behind = self.lower.partition_point(|segment| segment.span.start < end.end);
        if first >= behind {
            return first..first;
        }
        let carried = |part: Range<usize>| size(self.lower.slice(part)) < self.carried_max;
        let passed = self.lower.partition_point(|segment| &segment.span.start[..] < self.pointer);
        let seed = self.upper[tables.start].file;
        let newer = |table: &SegmentView| table.file > seed;
        let before = self.lower.slice(passed.min(first)..first);
        let passed = before.iter().rposition(newer).map_or(passed, |at| passed + at + 1);
        let from = if passed < first && carried(passed..first) { passed } else { first };
        let rest = behind..self.lower.len();
        let is_last = tables.end == self.upper.len();
        let to = if is_last && carried(rest.clone()) { rest.end } else { behind };
        debug_assert!(from <= first && behind <= to, "{from}..{to} without {first}..{behind}");
        from..to
    }

    /// Step 3: how many tables from `first` on go down together.
    fn extended(&self, first: usize, extra_max: usize) -> Range<usize> {
        let mut taken = first..first + 1;
        let ratio = |tables: &Range<usize>| {
            let met = self.met(tables);
            (size(self.upper.slice(tables.clone())).0, size(self.lower.slice(met)).0)
        };
        while taken.len() <= extra_max && taken.end < self.upper.len() {
            let more = first..taken.end + 1;
            let ((up, down), (more_up, more_down)) = (ratio(&taken), ratio(&more));
            let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
            if product(more_up, down) <= product(up, more_down) {
                break;
            }
            taken = more;
        }
        debug_assert!(taken.len() - 1 <= extra_max, "{taken:?}, {extra_max} further ones at most");
        taken
    }
}

impl Sweep {
    /// A decider with these parameters.
    ///
    /// # Panics
    /// When [`Leveled::new`] would.
    #[must_use]
    pub fn new(options: SweepOptions) -> Self {
        Self { leveled: Leveled::new(options.leveled.clone()), options }
    }

    /// Steps 1 to 4.
    fn step<'a>(&self, tree: &'a TreeView, state: &Pointers, level: usize) -> Option<Step<'a>> {
        let upper = tree.runs(level).first()?.segments.as_slice();
        let lower = tree.runs(level + 1).last();
        let lower = lower.map_or_else(Segments::default, |run| run.segments.as_slice());
        let at = upper.partition_point(|segment| &segment.span.start[..] < state.of(level));
        let (at, pointer) =
            if at < upper.len() { (at, state.of(level)) } else { (0, &[] as &[u8]) };
        let carried_max = self.options.zone_capacity;
        let front = Front { upper, lower, pointer, carried_max };
        let tables = front.extended(at, self.options.extra_tables);
        let met = front.met(&tables);
        let start = |segment: &SegmentView| Arc::clone(&segment.span.start);
        let end = |segment: &SegmentView| Arc::clone(&segment.span.end);
        let next = [upper.get(tables.end), lower.get(met.end)].into_iter().flatten().map(start);
        let (upper, lower) = (upper.slice(tables), lower.slice(met));
        debug_assert!(!upper.is_empty(), "a step of no table of level {level}");
        let last = [upper.last(), lower.last()].into_iter().flatten().map(end);
        let next = next.min().or(last.max())?;
        Some(Step { level, upper, lower, next })
    }

    /// Step 5.
    fn plan(&self, tree: &TreeView, state: &Pointers, step: &Step<'_>) -> Choice {
        let run = |level: usize, of: Option<RunId>| Place {
            level: level as u8,
            run: of.unwrap_or(RunId(1)),
        };
        let Step { level, upper, lower, ref next } = *step;
        let from = run(level, tree.runs(level).first().map(|run| run.id));
        let to = run(level + 1, tree.runs(level + 1).last().map(|run| run.id));
        let state = state.moved(level, next);
        let mostly_data = upper.iter().all(|segment| segment.tombstones * 4 <= segment.entries);
        if lower.is_empty() && mostly_data {
            let moves = upper.iter().map(|table| Move { part: part(table), from, to: Some(to) });
            return Choice { plan: Plan::TrivialMove(moves.collect()), state: state.encode() };
        }
        let input =
            |place, tables: Segments<'_>| Input { place, parts: tables.iter().map(part).collect() };
        let mut inputs = vec![input(from, upper)];
        if !lower.is_empty() {
            inputs.push(input(to, lower));
        }
        let spans = upper.iter().chain(lower).map(|segment| segment.span.clone());
        let hull = spans.reduce(|hull, span| hull.hull(&span)).expect("a table at least");
        let cut = self.leveled.cut(tree, level + 1, &hull);
        let stream = LEVEL_STREAM_FIRST + u16::from(to.level);
        let mut routes = vec![Route { end: None, to, stream, cut }];
        if *next < hull.end && self.options.tzone {
            let tail = Route { stream: TAIL_STREAM, ..routes[0].clone() };
            routes[0].end = Some(Arc::clone(next));
            routes.push(tail);
        } else if *next < hull.end {
            routes[0].cut.keys.push(Arc::clone(next));
        }
        let plan = Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false });
        Choice { plan, state: state.encode() }
    }

    /// Cuts outputs at the pointers of their own level and of the one above, whose sweep consumes
    /// them too.
    fn at_pointers(&self, choice: Choice, state: &Pointers) -> Choice {
        let Choice { plan: Plan::Merge(mut merge), state: after } = choice else { return choice };
        for route in &mut merge.routes {
            let level = usize::from(route.to.level);
            let pointers = [level.saturating_sub(1), level].map(|level| state.of(level));
            let keys = pointers.into_iter().filter(|key| !key.is_empty()).map(Key::from);
            route.cut.keys.extend(keys);
            route.cut.keys.sort_unstable();
            route.cut.keys.dedup();
        }
        Choice { plan: Plan::Merge(merge), state: after }
    }
}

impl Compaction for Sweep {
    fn name(&self) -> &'static str {
        "lifetime-leveling"
    }

    fn pick(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice> {
        let state = self.leveled.pointers(tree, state);
        let turn = |level| Some(self.plan(tree, &state, &self.step(tree, &state, level)?));
        let choice = self.leveled.pick_with(tree, &state, urgency, turn)?;
        Some(self.at_pointers(choice, &state))
    }

    fn choices(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Vec<Choice> {
        let state = self.leveled.pointers(tree, state);
        let turn = |level| Some(self.plan(tree, &state, &self.step(tree, &state, level)?));
        let choices = self.leveled.choices_with(tree, &state, urgency, turn);
        choices.into_iter().map(|choice| self.at_pointers(choice, &state)).collect()
    }

    fn manual_compaction(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice> {
        let pointers = self.leveled.pointers(tree, state);
        let choice = self.leveled.manual_compaction(tree, state, span)?;
        Some(self.at_pointers(choice, &pointers))
    }

    fn writes_in_order(&self) -> bool {
        self.options.in_order
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        self.leveled.pressure(tree)
    }
}
