//! Leveled compaction, as LevelDB does it (`db/version_set.cc`, `PickCompaction`).
//!
//! Level 0 holds several runs, such as one for each flush. Each further level holds one run. The
//! target size of level 1 is an option; each deeper level has `factor` times the target of the
//! level above. Steps marked *option* are off by default ([`LeveledOptions`]); in brackets stands
//! the system that has them. "Ten tables" is the option `overlap_tables`.
//!
//! 1. *Level.* The score of a level is its size over its target, for level 0 its runs over their
//!    limit. The level with the highest score of at least 1 is compacted into the next one. The
//!    last level has no score.
//! 2. *Inputs.* Of level 0: the oldest run, and all runs whose range of keys overlaps the range of
//!    the runs taken already. Of another level: the first table at or after the level's pointer.
//!    The pointer then moves past the taken tables; after the last table it begins with the first
//!    again. *Option* (LevelDB: up to 25 tables): the compaction grows by neighbours that overlap
//!    nothing more in the next level.
//! 3. *Merge or move.* The inputs merge with the tables of the next level in their range of keys.
//!    *Option* (SEALDB): of the last of these tables, the merge may take only a part, see
//!    [`whole_inputs`](LeveledOptions::whole_inputs). If the inputs are of one run and the next
//!    level has no table there, they move by metadata alone, unless more than a quarter of the
//!    entries of one of them are tombstones. *Option* (LevelDB): they are merged, too, if they
//!    overlap more than ten tables' bytes of the level after the next.
//! 4. *Outputs* end at the table size, and where they would overlap more than ten tables' bytes of
//!    the level after theirs. *Options*: see [`LeveledOptions::carry_overlap`] (LevelDB),
//!    [`aligned_from`](LeveledOptions::aligned_from), and [`sets`](LeveledOptions::sets) (SEALDB).
//! 5. *Tombstones.* If no level is due, a table of whose entries at least half are tombstones goes
//!    down; from level 0 its run, with all that overlap it. The last level stays as it is.
//! 6. *Flush. Option* (LevelDB: down to level 2): a flush goes below level 0 if its keys overlap
//!    nothing on the way, and at most ten tables' bytes of the level after its place.
//! 7. *At rest.* Asked at rest, and if nothing else is due: the oldest run of level 0, with all
//!    that overlap it, is merged into level 1, if the tables there in their range of keys have at
//!    most four times their own bytes, and their entries less than 32 KiB on average. This spares
//!    reads.
//! 8. *Space.* If space is short and no level is due: first a table above the last level of whose
//!    entries a 16th are tombstones; then, of the deepest level with tables that overlap one below,
//!    the table that meets fewest bytes in the next level for its own; then level 0; then a table
//!    with any tombstone. The order from the bottom up gives each byte a level with room.
//! 9. *Reads. Option* (LevelDB: a read for every 16 KiB): a table goes down after that number of
//!    point reads have searched it without success, if nothing else is due; from level 0 its run,
//!    with all that overlap it. Scans count by their bytes.
//!
//! LevelDB has no steps 5, 7 and 8, and moves tables whatever their tombstones. In step 9 it allows
//! a table of less than 1.6 MB a hundred reads, and also counts those that a filter spared.
//!
//! Several compactions: another one is chosen by steps 1 to 4, as far as the claims of the others
//! allow it. Scores do not count bytes that already leave the level.
//!
//! Other layouts are drained before all steps, by one plan at a time: in the deepest level below
//! level 0 with several runs, the oldest run but one is merged into the oldest, table by table.
//!
//! The state is the [pointers](crate::pointers).

mod beyond_shape;
mod choices;
mod merging;
mod options;

pub(crate) use merging::part;
pub use options::{LeveledOptions, Throttle};

use terrace_env::{ByteCount, FileId};

use crate::claims::Claims;
use crate::compaction::{Choice, Compaction, Pressure, Urgency, WriteRule};
use crate::intake::{FlushRoute, leveldb_flush};
use crate::plan::{Place, Plan};
use crate::pointers::Pointers;
use crate::tree::{RunId, RunView, SegmentView, Span, TreeView};
use merging::Source;

/// The stream of the first level; each level has its own.
pub const LEVEL_STREAM_FIRST: u16 = 16;

/// Leveled compaction.
#[derive(Clone, Debug, Default)]
pub struct Leveled {
    options: LeveledOptions,
}

impl Leveled {
    /// A decider with these parameters.
    ///
    /// # Panics
    /// When there are fewer than 2 or more than 64 levels, or when `level0_runs`, `factor`,
    /// `table_size` or `level1_size` is zero.
    #[must_use]
    pub fn new(options: LeveledOptions) -> Self {
        assert!((2..=64).contains(&options.levels), "2 to 64 levels, not {}", options.levels);
        assert!(options.level0_runs > 0 && options.factor > 0, "a limit of zero: {options:?}");
        assert!(options.table_size.0 > 0 && options.level1_size.0 > 0, "a size of zero");
        Self { options }
    }

    /// The last level: a tree may have been made deeper by another decider.
    pub(crate) fn last(&self, tree: &TreeView) -> usize {
        self.options.levels.max(tree.levels.len()) - 1
    }

    /// The bytes that a level below level 0 may hold.
    pub(crate) fn target(&self, level: usize) -> f64 {
        debug_assert!(level > 0, "level 0 has no target");
        let grown = f64::from(self.options.factor).powi(level as i32 - 1);
        self.options.level1_size.0 as f64 * grown
    }

    fn score(&self, tree: &TreeView, level: usize) -> f64 {
        match level {
            0 => tree.runs(0).len() as f64 / self.options.level0_runs as f64,
            _ => tree.levels.get(level).map_or(0.0, |l| l.size().0 as f64) / self.target(level),
        }
    }

    /// The level that is furthest above its target.
    pub(crate) fn fullest(&self, tree: &TreeView) -> Option<usize> {
        let mut best = None;
        for (level, score) in (0..self.last(tree)).map(|level| (level, self.score(tree, level))) {
            if score >= 1.0 && best.is_none_or(|(_, highest)| score > highest) {
                best = Some((level, score));
            }
        }
        best.map(|(level, _)| level)
    }

    /// Step 2 for level 0: a run and all that overlap it, newest first, and their range.
    pub(crate) fn level0_due<'a>(
        &self,
        tree: &'a TreeView,
        seed: usize,
    ) -> Option<(Vec<&'a RunView>, Span)> {
        let runs = tree.runs(0);
        let mut hull = runs.get(seed)?.span()?;
        let mut taken = vec![false; runs.len()];
        taken[seed] = true;
        // Runs older than a taken one that overlap the hull must be taken as well. Newer ones are
        // taken because they would soon be merged with the same tables anyway.
        loop {
            let next = (0..runs.len())
                .find(|&i| !taken[i] && runs[i].span().is_some_and(|span| span.overlaps(&hull)));
            let Some(next) = next else { break };
            taken[next] = true;
            hull = runs[next].span().map_or(hull.clone(), |span| span.hull(&hull));
        }
        debug_assert!(taken[seed], "run {seed} goes down");
        let taken = runs.iter().zip(&taken).filter(|(_, taken)| **taken);
        Some((taken.map(|(run, _)| run).collect(), hull))
    }

    fn level0(&self, tree: &TreeView, state: &Pointers, seed: usize) -> Option<Choice> {
        let (runs, _) = self.level0_due(tree, seed)?;
        let sources = runs.iter().map(|run| Source {
            place: Place { level: 0, run: run.id },
            segments: run.segments.iter().collect(),
        });
        Some(self.merge_into(tree, sources.collect(), 1, state.encode()))
    }

    /// Where a table is that is not in the last level: its level, and its place in the level's
    /// only run, or the place of its run in level 0.
    fn place_of(&self, tree: &TreeView, table: FileId) -> Option<(usize, usize)> {
        let holds = |run: &RunView| run.segments.iter().position(|it| it.file == table);
        if let Some(run) = tree.runs(0).iter().position(|run| holds(run).is_some()) {
            return Some((0, run));
        }
        let mut levels = 1..self.last(tree);
        levels.find_map(|level| Some((level, holds(tree.runs(level).first()?)?)))
    }

    /// Step 9: the tables of a level that go down because point reads searched `table` without
    /// success, and the pointers then.
    pub(crate) fn after_seeks<'a>(
        &self,
        tree: &'a TreeView,
        state: &Pointers,
        table: FileId,
    ) -> Option<(usize, Vec<&'a SegmentView>, Pointers)> {
        let (level, at) = self.place_of(tree, table).filter(|(level, _)| *level > 0)?;
        let seed = tree.runs(level).first()?.segments.get(at)?;
        let (tables, state) = self.turn_of(tree, level, seed, state);
        Some((level, tables, state))
    }

    /// The run of level 0 that holds a table.
    pub(crate) fn level0_run_of(&self, tree: &TreeView, table: FileId) -> Option<usize> {
        self.place_of(tree, table).filter(|(level, _)| *level == 0).map(|(_, run)| run)
    }

    /// The compaction that brings a level below level 0 with several runs nearer to one.
    pub(crate) fn drain_runs(&self, tree: &TreeView) -> Option<Plan> {
        Some(self.drain(tree, &self.pointers(tree, &[]))?.plan)
    }

    /// The score of a level without the bytes that leave it with the running plans.
    fn score_beside(&self, tree: &TreeView, claims: &Claims, level: usize) -> f64 {
        if level > 0 {
            let left = self.score(tree, level) * self.target(level);
            return (left - claims.leaving(tree, level).0 as f64) / self.target(level);
        }
        let is_free = |run: &&RunView| !claims.take_from(Place { level: 0, run: run.id });
        tree.runs(0).iter().filter(is_free).count() as f64 / self.options.level0_runs as f64
    }

    /// The plan of a level that is too large, while other plans run: of level 0 its due runs, of
    /// any other level the first segment from its turn on that is free.
    fn turn_beside(
        &self,
        tree: &TreeView,
        claims: &Claims,
        state: &Pointers,
        level: usize,
    ) -> Option<Choice> {
        let is_free = |choice: &Choice| claims.allow(&choice.plan);
        if level == 0 {
            return self.level0_oldest(tree, state).filter(is_free);
        }
        let segments = &tree.runs(level).first()?.segments;
        let first = segments.partition_point(|segment| &segment.span.start[..] < state.of(level));
        let in_turn = (first..segments.len()).chain(0..first).filter_map(|at| segments.get(at));
        let mut choices = in_turn.map(|seed| {
            let (segments, state) = self.turn_of(tree, level, seed, state);
            self.segments_down(tree, level, segments, &state)
        });
        choices.find(is_free)
    }

    /// Step 2 for the other levels.
    pub(crate) fn round_robin(
        &self,
        tree: &TreeView,
        state: &Pointers,
        level: usize,
    ) -> Option<Choice> {
        let (segments, state) = self.turn(tree, state, level)?;
        Some(self.segments_down(tree, level, segments, &state))
    }

    /// The segment whose turn it is, with the neighbours that the compaction grows by, and the
    /// pointers when they have had it.
    pub(crate) fn turn<'a>(
        &self,
        tree: &'a TreeView,
        state: &Pointers,
        level: usize,
    ) -> Option<(Vec<&'a SegmentView>, Pointers)> {
        let segments = &tree.runs(level).first()?.segments;
        let pointer = state.of(level);
        let at = segments.partition_point(|segment| &segment.span.start[..] < pointer);
        let seed = segments.get(at).or(segments.first())?;
        Some(self.turn_of(tree, level, seed, state))
    }

    fn turn_of<'a>(
        &self,
        tree: &'a TreeView,
        level: usize,
        seed: &'a SegmentView,
        state: &Pointers,
    ) -> (Vec<&'a SegmentView>, Pointers) {
        let segments = self.grown(tree, level, seed);
        let end = segments.last().map_or(&seed.span.end, |last| &last.span.end);
        debug_assert!(*end >= seed.span.end, "{seed:?} is not among the tables that go down");
        let state = state.moved(level, end);
        (segments, state)
    }

    /// One segment of a level's only run into the next level.
    pub(crate) fn segment_down(
        &self,
        tree: &TreeView,
        level: usize,
        seed: &SegmentView,
        state: &Pointers,
    ) -> Choice {
        self.segments_down(tree, level, vec![seed], state)
    }

    fn segments_down(
        &self,
        tree: &TreeView,
        level: usize,
        segments: Vec<&SegmentView>,
        state: &Pointers,
    ) -> Choice {
        let run = tree.runs(level).first().map_or(RunId::default(), |run| run.id);
        let source = Source { place: Place { level: level as u8, run }, segments };
        self.merge_into(tree, vec![source], level + 1, state.encode())
    }

    /// Step 2, growth: a segment and those neighbours that lie within the keys of the tables that
    /// it meets in the next level, if these meet nothing more there and all together are small
    /// enough (LevelDB's `SetupOtherInputs`).
    fn grown<'a>(
        &self,
        tree: &'a TreeView,
        level: usize,
        seed: &'a SegmentView,
    ) -> Vec<&'a SegmentView> {
        let alone = vec![seed];
        let (Some(run), Some(next)) = (tree.runs(level).first(), tree.runs(level + 1).last())
        else {
            return alone;
        };
        let met = next.overlapping(&seed.span);
        if self.options.growth == 0 || met.is_empty() {
            return alone;
        }
        let hull = met.iter().fold(seed.span.clone(), |hull, table| hull.hull(&table.span));
        let grown: Vec<&SegmentView> = run.overlapping(&hull).iter().collect();
        let range = grown.iter().fold(hull, |hull, table| hull.hull(&table.span));
        let tables = grown.iter().copied().chain(met.iter());
        let bytes: u64 = tables.map(|table| table.size.0).sum();
        let most = self.options.table_size.0.saturating_mul(self.options.growth.into());
        if next.overlapping(&range).len() > met.len() || bytes >= most { alone } else { grown }
    }

    /// Drains levels below level 0 that have several runs.
    fn drain(&self, tree: &TreeView, state: &Pointers) -> Option<Choice> {
        let deepest = (1..tree.levels.len()).rev().find(|&level| tree.runs(level).len() > 1)?;
        let runs = tree.runs(deepest);
        let (newer, oldest) = (&runs[runs.len() - 2], &runs[runs.len() - 1]);
        debug_assert!(newer.id > oldest.id, "runs {} and {}, newest first", newer.id, oldest.id);
        let seed = newer.segments.first()?;
        let source =
            Source { place: Place { level: deepest as u8, run: newer.id }, segments: vec![seed] };
        let to = Place { level: deepest as u8, run: oldest.id };
        Some(self.merge_to(tree, vec![source], to, state.encode()))
    }

    /// The pointers of a tree's levels.
    pub(crate) fn pointers(&self, tree: &TreeView, state: &[u8]) -> Pointers {
        Pointers::decode(state, self.last(tree) + 1)
    }

    /// The plan that is due. `turn` says which tables a level that is too large sends down.
    pub(crate) fn pick_with(
        &self,
        tree: &TreeView,
        state: &Pointers,
        urgency: Urgency,
        turn: impl Fn(usize) -> Option<Choice>,
    ) -> Option<Choice> {
        let due = self.drain(tree, state).or_else(|| match self.fullest(tree)? {
            0 => self.level0_oldest(tree, state),
            level => turn(level),
        });
        due.or_else(|| self.beyond(tree, state, urgency))
    }

    fn level0_oldest(&self, tree: &TreeView, state: &Pointers) -> Option<Choice> {
        self.level0(tree, state, tree.runs(0).len().checked_sub(1)?)
    }
}

impl Compaction for Leveled {
    fn name(&self) -> &'static str {
        "leveled"
    }

    fn pick(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice> {
        let state = self.pointers(tree, state);
        self.pick_with(tree, &state, urgency, |level| self.round_robin(tree, &state, level))
    }

    fn choices(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Vec<Choice> {
        let state = self.pointers(tree, state);
        self.choices_with(tree, &state, urgency, |level| self.round_robin(tree, &state, level))
    }

    fn seeks_allowed(&self, size: ByteCount) -> Option<u64> {
        size.0.checked_div(self.options.seek_cost.0).map(|seeks| seeks.max(1))
    }

    fn pick_after_seeks(&self, tree: &TreeView, state: &[u8], table: FileId) -> Option<Choice> {
        let state = self.pointers(tree, state);
        if let Some(run) = self.level0_run_of(tree, table) {
            return self.level0(tree, &state, run);
        }
        let (level, tables, state) = self.after_seeks(tree, &state, table)?;
        Some(self.segments_down(tree, level, tables, &state))
    }

    fn jobs_max(&self) -> usize {
        self.options.jobs
    }

    fn moves_together(&self) -> usize {
        self.options.moves_together
    }

    fn reads_sets(&self) -> bool {
        self.options.sets && self.options.set_reads
    }

    fn pick_beside(&self, tree: &TreeView, claims: &Claims, state: &[u8]) -> Option<Choice> {
        let state = self.pointers(tree, state);
        // Another layout is drained by one plan at a time.
        if (1..tree.levels.len()).any(|level| tree.runs(level).len() > 1) {
            return None;
        }
        let levels = 0..self.last(tree);
        let scores = levels.map(|level| (level, self.score_beside(tree, claims, level)));
        let mut due: Vec<_> = scores.filter(|(_, score)| *score >= 1.0).collect();
        due.sort_by(|a, b| b.1.total_cmp(&a.1));
        due.into_iter().find_map(|(level, _)| self.turn_beside(tree, claims, &state, level))
    }

    fn flush_routes(&self, tree: &TreeView, span: &Span) -> Vec<FlushRoute> {
        FlushRoute::all_to(leveldb_flush(tree, span, self.options.flush_level, self.overlap_max()))
    }

    fn manual_compaction(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice> {
        let state = self.pointers(tree, state);
        if let Some(choice) = self.drain(tree, &state) {
            return Some(choice);
        }
        let level0 = tree.runs(0);
        let seed = level0.iter().rposition(|run| !run.overlapping(span).is_empty());
        match seed {
            Some(seed) => self.level0(tree, &state, seed),
            None => self.covering(tree, &state, Some(span)),
        }
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        let runs = tree.runs(0).len() as f64;
        let (slow, stop) = (self.options.level0_slow as f64, self.options.level0_stop as f64);
        let level0 = Pressure::of(runs, slow, stop);
        // Deeper levels are as far over their targets as level 0 is over its limit while writers
        // write as fast as compaction can take it. A level that is further over than that - a store
        // opened with smaller levels - is no reason to go slower.
        let unit = self.options.level0_runs as f64;
        let scores = (1..self.last(tree)).map(|level| self.score(tree, level));
        let deeper = Pressure::of(scores.fold(0.0, f64::max), slow / unit, stop / unit);
        Pressure(level0.0.max(deeper.0.min(Pressure::MATCH.0)))
    }

    fn write_rule(&self, tree: &TreeView) -> WriteRule {
        let LeveledOptions { level0_slow, level0_stop, throttle, .. } = self.options;
        throttle.rule(tree.runs(0).len(), level0_slow, level0_stop, || self.pressure(tree))
    }
}
