//! [`Bands`]: compaction of overlapping bands in two levels (Pitchumani, Hughes and Miller, "SMRDB:
//! key-value data store for shingled magnetic recording disks", SYSTOR '15, and the first author's
//! thesis, section 3.2.3, "SMR-friendly Organization and Compaction"). A band is a table.
//!
//! Level 0 holds the runs of new data. Level 1 is mostly ordered: its bands may overlap. The score
//! of level 0 is its runs over `level0_runs`. That of level 1 is the most bands that one of its
//! bands overlaps, over `overlap_bands`. The level with the higher score is compacted, if that is
//! at least 1.
//!
//! 1. Take runs of level 0: the oldest one, and then newer ones that overlap it, up to
//!    `level0_slow`. Pass over a newer run if it overlaps an older one that was passed over, so
//!    that the older one does not come to lie above it.
//! 2. From level 0 to level 1, the candidates are the bands of level 1 that overlap the taken
//!    bands. If there is none, and only one run was taken, its bands move to level 1 by metadata
//!    alone, unless at least half of the entries of one of them are tombstones.
//! 3. Within level 1, the candidates are the band that overlaps the most others, and those others.
//!    A band that lies under no newer one is left out.
//! 4. Prune the candidates to the least sequential one ([`sequentiality`]), and add all newer bands
//!    of level 1 that it overlaps, that these overlap, and so on. Merge these; in step 2 together
//!    with the bands of level 0.
//!
//! # Why reads stay correct
//! No band that stays in level 1 is newer than a merged band and has keys of it (step 4), and level
//! 0 is newer than level 1. So the outputs may go above everything that stays. They go to the
//! oldest run that is newer than all that stays and overlaps them; if there is none, to a new run.
//!
//! The thesis, taken literally, merges only the newer bands that the least sequential one overlaps
//! itself. That returns stale keys: a band that overlaps one of these and is still newer would be
//! older than their old entries afterwards.
//!
//! # Why it comes to rest
//! A merge within level 1 begins with a band that lies under a newer one. (Without this rule a
//! single band could be rewritten for ever.) The outputs of a merge overlap neither each other nor
//! anything newer, and later merges take any that they meet. So each merge within level 1 uses up
//! at least one band that was there before the first of them.
//!
//! # Gaps in the thesis, and parts not taken over
//! - The threshold of step 1: it is `level0_slow`, because more runs are there only while writers
//!   are held back.
//! - The trigger of level 1, `overlap_bands`. With random writes, the bytes written depend on the
//!   trigger as a share of the `n` bands of the level: with a fixed trigger about `2 + 0.43 n /
//!   overlap_bands` bytes for one, with 140 bands as with 500 (golden `metrics-bands.txt`). With a
//!   fixed number, large stores rewrite more and more; with a fixed share, their reads meet more
//!   and more bands. By default the trigger is twice the square root of `n`.
//! - Which level goes first. It is the one with the higher score, as in LevelDB.
//! - Bands of level 1 are moved to older runs by metadata alone where this makes runs fewer,
//!   because a scan looks into every run. This comes before all merges but manual ones.
//! - A band of which at least half the entries are tombstones: in level 0 it starts step 1; in
//!   level 1 it is merged with the oldest band that lies under it, and with the bands that step 4
//!   adds. So the space of deleted data comes back though nothing new is written.
//! - Overwritten entries lie in older bands until these are merged. Where tables take more than 40
//!   % of the store, fewer overlaps than `overlap_bands` start a compaction within level 1, and
//!   from 65 % on any overlap does. Otherwise a store would be full of overwritten entries.
//! - When space is short and nothing of this is due, level 0 is compacted as long as it holds
//!   anything, and then level 1 until no bands overlap.
//! - A manual compaction merges each group of overlapping bands that reaches into the range, from
//!   both levels, by one plan. Then it moves the bands of the range to one run.
//! - Levels of another system: the deepest level that holds anything takes the part of level 1.
//!   Bands of levels in between move to it by metadata alone, before all else.
//!
//! Load-aware, level 1 is merged in [slices](mod@slice) instead of by step 3.
//!
//! One plan runs at a time. There is no state.

mod bands;
mod sequentiality;
mod slice;

use std::sync::Arc;

use terrace_env::ByteCount;

use self::bands::{Band, Level, Taken, met, ordered, united};
use self::sequentiality::Density;
use self::slice::Slice;
use crate::compaction::{Choice, Compaction, Pressure, Urgency, WriteRule};
use crate::leveled::{LEVEL_STREAM_FIRST, Throttle, part};
use crate::plan::{Cut, Input, Merge, Move, Part, Place, Plan, Route};
use crate::tree::{RunView, SegmentView, Span, TreeView};

/// Bytes of a band's histogram (thesis, section 3.2.3).
const HISTOGRAM_MAX: ByteCount = ByteCount::kib(4);

/// Shares of the store's space taken by tables: from the first on fewer overlaps start a
/// compaction, from the second on any overlap does. A third of the space is left for dead tables
/// that are still read, for level 0 and for the outputs of a merge.
const FULL: (f64, f64) = (0.4, 0.65);

/// The most bands that change their run with one commit, which writes their annotations anew.
const MOVES_MAX: usize = 64;

/// The parameters of compaction of overlapping bands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandsOptions {
    /// How many runs in level 0 start a compaction.
    pub level0_runs: usize,
    /// Number of runs in level 0 from which on writers are held back; and the most runs that go
    /// down together.
    pub level0_slow: usize,
    /// How many there should be at most.
    pub level0_stop: usize,
    /// How writers are held back.
    pub throttle: Throttle,
    /// Number of other bands that one band of level 1 overlaps, from which on a compaction within
    /// level 1 begins; `None`: twice the square root of the number of its bands.
    pub overlap_bands: Option<usize>,
    /// The size of a table: of a band.
    pub table_size: ByteCount,
    /// The space of the store. As the tree comes to fill it, fewer overlaps start a compaction.
    pub capacity: ByteCount,
}

/// Compaction of overlapping bands.
#[derive(Clone, Debug)]
pub struct Bands {
    options: BandsOptions,
}

impl Bands {
    /// A decider with these parameters.
    ///
    /// # Panics
    /// When `level0_runs`, `level0_slow`, `overlap_bands`, `table_size` or `capacity` is zero.
    #[must_use]
    pub fn new(options: BandsOptions) -> Self {
        let BandsOptions { level0_runs, level0_slow, overlap_bands, table_size, .. } = options;
        let least = level0_runs.min(level0_slow).min(overlap_bands.unwrap_or(1));
        assert!(
            least > 0 && table_size.0 > 0 && options.capacity.0 > 0,
            "a limit of zero: {options:?}"
        );
        Self { options }
    }

    /// Bands of levels between level 0 and the ordered one go to it, the deepest first.
    fn drain(&self, tree: &TreeView) -> Option<Plan> {
        let ordered = Level::of(tree, ordered(tree));
        let level = (1..ordered.number).rev().find(|level| !tree.runs(*level).is_empty())?;
        let run = tree.runs(level).last()?;
        let bands: Vec<&SegmentView> = run.segments.iter().take(MOVES_MAX).collect();
        let hull = hull(bands.iter().copied())?;
        let (from, to) = (Level::of(tree, level).place(run.id), ordered.place_for(&hull, &vec![]));
        Some(moved(&bands, from, to))
    }

    fn fold(tree: &TreeView) -> Option<Plan> {
        let moves = Level::of(tree, ordered(tree)).fold(MOVES_MAX);
        (!moves.is_empty()).then_some(Plan::TrivialMove(moves))
    }

    /// Steps 1 and 2.
    fn level0(&self, tree: &TreeView) -> Option<Plan> {
        let taken = self.level0_taken(tree)?;
        let segments = || taken.iter().flat_map(|run| &run.segments);
        let spans = united(segments().map(|segment| segment.span.clone()).collect());
        let level1 = Level::of(tree, ordered(tree));
        let candidates = level1.met_by(&spans);
        let pruned = least_sequential(tree, candidates).map(|band| level1.with_newer(band));
        if let ([run], None) = (&taken[..], &pruned)
            && !segments().any(mostly_deletes)
        {
            let bands: Vec<&SegmentView> = segments().collect();
            let hull = hull(bands.iter().copied())?;
            let to = level1.place_for(&hull, &vec![]);
            return Some(moved(&bands, Level::of(tree, 0).place(run.id), to));
        }
        self.merge(tree, &taken, pruned.unwrap_or_default())
    }

    /// Step 1: newest first.
    fn level0_taken<'a>(&self, tree: &'a TreeView) -> Option<Vec<&'a RunView>> {
        let (oldest, newer) = tree.runs(0).split_last()?;
        let reach = oldest.span()?;
        let (mut taken, mut passed) = (vec![oldest], Vec::new());
        for run in newer.iter().rev() {
            let Some(span) = run.span() else { continue };
            let is_free = !passed.iter().any(|other: &Span| other.overlaps(&span));
            if span.overlaps(&reach) && is_free && taken.len() < self.options.level0_slow {
                taken.push(run);
            } else {
                passed.push(span);
            }
        }
        taken.reverse();
        debug_assert!(taken.len() <= self.options.level0_slow, "{} runs", taken.len());
        Some(taken)
    }

    /// Step 3, from `overlaps` on.
    fn level1(&self, tree: &TreeView, overlaps: usize) -> Option<Plan> {
        let level1 = Level::of(tree, ordered(tree));
        let ((_, most), count) = level1.most_overlapped()?;
        if count < overlaps {
            return None;
        }
        let mut candidates = level1.met_by(std::slice::from_ref(&most.span));
        candidates.retain(|band| level1.has_newer(*band));
        let band = least_sequential(tree, candidates)?;
        self.merge(tree, &[], level1.with_newer(band))
    }

    /// Number of overlaps of one band from which on level 1 is due.
    fn overlaps_max(&self, tree: &TreeView) -> usize {
        let bands = || Level::of(tree, ordered(tree)).bands().count();
        let own = self.options.overlap_bands.unwrap_or_else(|| (4 * bands()).isqrt());
        let size: u64 = tree.levels.iter().map(|level| level.size().0).sum();
        let share = size as f64 / self.options.capacity.0 as f64;
        let (from, to) = FULL;
        let left = ((to - share) / (to - from)).clamp(0.0, 1.0);
        ((own as f64 * left) as usize).max(1)
    }

    /// The level with the higher score.
    fn fullest(&self, tree: &TreeView) -> Option<Plan> {
        let most = Level::of(tree, ordered(tree)).most_overlapped();
        let (overlaps, overlaps_max) =
            (most.map_or(0, |(_, count)| count), self.overlaps_max(tree));
        let (runs, runs_max) = (tree.runs(0).len(), self.options.level0_runs);
        // The products compare the scores.
        if overlaps >= overlaps_max
            && (runs < runs_max || overlaps * runs_max > runs * overlaps_max)
        {
            return self.level1(tree, overlaps_max);
        }
        (runs >= runs_max).then(|| self.level0(tree)).flatten()
    }

    /// A band that is mostly tombstones.
    fn deletes(&self, tree: &TreeView) -> Option<Plan> {
        if tree.runs(0).iter().any(|run| run.segments.iter().any(mostly_deletes)) {
            return self.level0(tree);
        }
        let level1 = Level::of(tree, ordered(tree));
        let due = level1.bands().filter(|(_, band)| mostly_deletes(band));
        let oldest = due.filter_map(|(at, band)| {
            let hidden = level1.met_by(std::slice::from_ref(&band.span));
            hidden.into_iter().max_by_key(|(older, _)| *older).filter(|(older, _)| *older > at)
        });
        self.merge(tree, &[], level1.with_newer(oldest.max_by_key(|(at, _)| *at)?))
    }

    /// Bands of level 0 and of level 1 into level 1.
    fn merge(&self, tree: &TreeView, level0: &[&RunView], level1: Taken<'_>) -> Option<Plan> {
        let ordered = Level::of(tree, ordered(tree));
        let upper = level0.iter().flat_map(|run| run.segments.iter());
        let hull = hull(upper.chain(level1.iter().flatten().copied()))?;
        let to = ordered.place_for(&hull, &level1);
        let all_of = |run: &&RunView| Input {
            place: Level::of(tree, 0).place(run.id),
            parts: run.segments.iter().map(part).collect(),
        };
        let of_level1 = ordered.runs.iter().zip(&level1).filter(|(_, bands)| !bands.is_empty());
        let of_level1 = of_level1.map(|(run, bands)| Input {
            place: ordered.place(run.id),
            parts: bands.iter().map(|band| part(band)).collect(),
        });
        let inputs: Vec<Input> = level0.iter().map(all_of).chain(of_level1).collect();
        debug_assert!(inputs.iter().all(|input| !input.parts.is_empty()), "{inputs:?}");
        let stream = LEVEL_STREAM_FIRST + u16::from(to.level);
        let cut = Cut::at(self.options.table_size);
        let routes = vec![Route { end: None, to, stream, cut }];
        Some(Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false }))
    }

    /// The newer runs of level 1 within a slice, into the oldest of them.
    fn slice(&self, tree: &TreeView) -> Option<Plan> {
        let level1 = Level::of(tree, ordered(tree));
        let Slice { span: slice, runs } = Slice::first(&level1, self.options.table_size)?;
        let runs = &level1.runs[..runs];
        let clipped = |segment: &SegmentView| {
            let start = Arc::clone((&segment.span.start).max(&slice.start));
            let span = Span { start, end: Arc::clone((&segment.span.end).min(&slice.end)) };
            debug_assert!(!span.is_empty(), "{:?} outside of {slice:?}", segment.span);
            Part { file: segment.file, span }
        };
        let of_run = |run: &RunView| Input {
            place: level1.place(run.id),
            parts: run.overlapping(&slice).iter().map(clipped).collect(),
        };
        let inputs = runs.iter().map(of_run).filter(|input| !input.parts.is_empty());
        let to = level1.place(runs.last()?.id);
        let stream = LEVEL_STREAM_FIRST + u16::from(to.level);
        let cut = Cut::at(self.options.table_size);
        let routes = vec![Route { end: None, to, stream, cut }];
        let inputs: Vec<Input> = inputs.collect();
        debug_assert!(inputs.len() > 1, "a slice of {} runs spares readers none", inputs.len());
        Some(Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false }))
    }

    /// The first group of bands that overlap each other, directly or by others, within reach of a
    /// range, as one merge; a band of level 0 that overlaps nothing is moved.
    fn whole_groups(&self, tree: &TreeView, span: &Span) -> Option<Plan> {
        let level1 = Level::of(tree, ordered(tree));
        let all = Level::of(tree, 0).bands().chain(level1.bands());
        let groups = united(all.map(|(_, band)| band.span.clone()).collect());
        groups.iter().filter(|group| group.overlaps(span)).find_map(|group| {
            let group = std::slice::from_ref(group);
            let level0: Vec<RunView> =
                tree.runs(0).iter().filter_map(|run| within(run, group)).collect();
            let taken: Taken<'_> = level1.runs.iter().map(|run| met(run, group)).collect();
            let count = level0.iter().map(|run| run.segments.len()).sum::<usize>()
                + taken.iter().map(Vec::len).sum::<usize>();
            match &level0[..] {
                [run] if count == 1 => {
                    let bands: Vec<&SegmentView> = run.segments.iter().collect();
                    let to = level1.place_for(&group[0], &vec![]);
                    Some(moved(&bands, Level::of(tree, 0).place(run.id), to))
                }
                _ if count == 1 => None,
                _ => self.merge(tree, &level0.iter().collect::<Vec<_>>(), taken),
            }
        })
    }

    /// Bands within reach of a range that overlap nothing, to the oldest run.
    fn gather(tree: &TreeView, span: &Span) -> Option<Plan> {
        let level1 = Level::of(tree, ordered(tree));
        let oldest = level1.runs.last()?;
        let apart = level1.met_by(std::slice::from_ref(span)).into_iter();
        let apart = apart.filter(|(at, _)| at + 1 < level1.runs.len()).take(MOVES_MAX);
        let to = Some(level1.place(oldest.id));
        let moves: Vec<Move> = apart
            .map(|(at, band)| Move { part: part(band), from: level1.place(level1.runs[at].id), to })
            .collect();
        (!moves.is_empty()).then_some(Plan::TrivialMove(moves))
    }
}

impl Compaction for Bands {
    fn name(&self) -> &'static str {
        "bands"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], urgency: Urgency) -> Option<Choice> {
        let due = self.drain(tree).or_else(|| Self::fold(tree));
        let due = due.or_else(|| self.fullest(tree)).or_else(|| self.deletes(tree));
        let plan = match urgency {
            Urgency::Shape | Urgency::Rest => due,
            Urgency::Space | Urgency::All => {
                due.or_else(|| self.level0(tree)).or_else(|| self.level1(tree, 1))
            }
        };
        plan.map(|plan| Choice { plan, state: Vec::new() })
    }

    fn choices(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Vec<Choice> {
        let first = self.pick(tree, state, urgency);
        let is_drain = matches!(&first, Some(Choice { plan: Plan::TrivialMove(_), .. }));
        let (runs, overlaps_max) = (tree.runs(0).len(), self.overlaps_max(tree));
        let is_space = matches!(urgency, Urgency::Space | Urgency::All);
        // Bands that are still to be drained or folded are in the way of merges.
        let level0 = || (runs >= self.options.level0_runs || is_space).then(|| self.level0(tree));
        let level1 = || self.level1(tree, if is_space { 1 } else { overlaps_max });
        let others = (!is_drain).then(|| level0().flatten().into_iter().chain(level1()));
        let others = others.into_iter().flatten();
        let others = others.map(|plan| Choice { plan, state: Vec::new() });
        first.into_iter().chain(others).collect()
    }

    fn for_readers(&self, tree: &TreeView, _: &[u8]) -> Option<Choice> {
        self.slice(tree).map(|plan| Choice { plan, state: Vec::new() })
    }

    fn manual_compaction(&self, tree: &TreeView, _: &[u8], span: &Span) -> Option<Choice> {
        let due = self.drain(tree).or_else(|| self.whole_groups(tree, span));
        let plan = due.or_else(|| Self::gather(tree, span))?;
        Some(Choice { plan, state: Vec::new() })
    }

    fn moves_together(&self) -> usize {
        1
    }

    fn histogram_max(&self) -> ByteCount {
        HISTOGRAM_MAX
    }

    fn allows_overlaps(&self) -> bool {
        true
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        let (slow, stop) = (self.options.level0_slow as f64, self.options.level0_stop as f64);
        Pressure::of(tree.runs(0).len() as f64, slow, stop)
    }

    fn write_rule(&self, tree: &TreeView) -> WriteRule {
        let BandsOptions { level0_slow, level0_stop, throttle, .. } = self.options;
        throttle.rule(tree.runs(0).len(), level0_slow, level0_stop, || self.pressure(tree))
    }
}

/// Step 4: the candidate that stays in place least if everything is reordered; of several the
/// first.
fn least_sequential<'a>(tree: &TreeView, candidates: Vec<Band<'a>>) -> Option<Band<'a>> {
    if candidates.len() < 2 {
        return candidates.into_iter().next();
    }
    let density = Density::of(tree);
    let scored = candidates.into_iter().map(|band| (density.sequentiality(band.1), band));
    scored.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, band)| band)
}

fn mostly_deletes(segment: &SegmentView) -> bool {
    segment.tombstones > 0 && segment.tombstones.saturating_mul(2) >= segment.entries
}

fn hull<'a>(segments: impl Iterator<Item = &'a SegmentView>) -> Option<Span> {
    segments.map(|segment| segment.span.clone()).reduce(|hull, span| hull.hull(&span))
}

fn moved(bands: &[&SegmentView], from: Place, to: Place) -> Plan {
    let one = |band: &&SegmentView| Move { part: part(band), from, to: Some(to) };
    Plan::TrivialMove(bands.iter().map(one).collect())
}

/// Part of a run that overlaps these ranges; `None`: nothing does.
fn within(run: &RunView, spans: &[Span]) -> Option<RunView> {
    let segments = met(run, spans);
    (!segments.is_empty())
        .then(|| RunView { id: run.id, segments: segments.into_iter().cloned().collect() })
}
