//! Sliced compaction: tiers over one leveled last level, into which the tiers go down in small
//! steps, at a pointer that sweeps the keys. Our own design.
//!
//! A *tier* is a level above the last one. It holds runs as they came, newest first.
//!
//! 1. A tier above the deepest with at least `runs` runs goes down, and becomes one run, the
//!    newest, of the next tier: in steps of about a slice, if it is large ([`TierStep`]).
//! 2. Into the last level go *slices*. A slice is a range of keys that begins at the pointer. All
//!    runs of the deepest tiers are merged there with the tables of the last level, and the pointer
//!    goes on to the end of the slice ([`Slice`]). The deepest tiers that together hold nine tenths
//!    of the bytes of all tiers take part; and those above whose runs have pieces in a slice that
//!    are worth a request.
//! 3. A slice is due when the tiers together have at least `share` percent of the bytes of the last
//!    level; when the deepest has at least `tier_most` runs; or when few zones are free. See
//!    [`Debts`].
//! 4. Of the levels that are due, the one furthest over its limit is next; of equals the upper one.
//!    Writers are slowed by the same measure.
//! 5. If nothing of this is due, a tier that has a segment of mostly tombstones goes down, the
//!    uppermost first. Of the deepest one, the slice with that segment goes down.
//! 6. If space is short and nothing else is due, a slice goes down, and without a deepest tier the
//!    deepest level that holds anything.
//! 7. At rest, a tier above the deepest with several runs goes down, the uppermost first: readers
//!    meet fewer runs, and no byte is written more often. But small runs in the deepest tier make
//!    slices due early, so it gets none at rest once it has half of `tier_most`.
//! 8. Data that meets nothing older goes straight to the last level ([`straight`]).
//! 9. The pointer jumps to a part of the keys that has got much more new data than the next one
//!    ([`heat`]).
//!
//! Why: a deepest tier that goes down as a whole is all due at once, takes the time and the space
//! of a merge of the whole store, and holds nothing right after that. Slices keep it as large as it
//! may be.
//!
//! # Cost
//! In the tiers, a byte waits for half a sweep on average. So twice the tiers' bytes come down in
//! one sweep, which writes the last level once. With `f` = bytes of the tiers / bytes of the last
//! level, `t` tiers, and a share `n` of keys that are new, compaction writes about
//!
//! > `(t - 1) + 1/(2f) + n`
//!
//! bytes for one: each merge of tiers writes it once, and the sweep writes the last level and the
//! new keys. Overwritten entries meet in the tiers, and slices take some bytes before they are in
//! the deepest tier, so it is a little less. At `f = 1/4` and with three tiers it is 4, and 5 if
//! all keys are new.
//!
//! On a drive that is nearly full, `f` is the space that the live data leaves: with a share `l` of
//! the space live and `r` of it in reserve, `f = (1 - l - r) / l`.
//!
//! # Zones
//! Tables of the last level lie in zones in key order, and die in that order. So a zone of theirs
//! is dead as a whole soon after the pointer has passed. A run of a tier lies in zones in key order
//! too, and dies after the pointer, or as a whole. Where tables of a run are smaller than a zone,
//! the runs that share it are of nearly the same age. So the sweep is the collector: where free
//! zones run short, slices go on early, and writers are slowed before the last one is taken.
//!
//! It does not free zones that hold other files, nor those that readers hold.
//!
//! # Others
//! One plan runs at a time: a disk would go back and forth between two. Other layouts are
//! drained first, as by [`Tiered`]. The state is the pointer, and the list of begun merges of
//! tiers.

mod debts;
mod heat;
mod slice;
mod straight;
mod tier_step;

use std::sync::Arc;

use terrace_env::ByteCount;

use self::debts::Debts;
use self::slice::{Slice, SliceLimits};
use self::tier_step::{TierStep, Unfinished};
use crate::compaction::{Choice, Compaction, Pressure, Urgency};
use crate::intake::FlushRoute;
use crate::plan::{Place, Plan};
use crate::pointers::Pointers;
use crate::tiered::{Tiered, TieredOptions, mostly_deletes, oldest};
use crate::tree::{Span, TreeView};
use crate::zones::ZonesSource;

/// The parameters of sliced compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicedOptions {
    /// Parameters of the tiers. The last level is the last of `levels`; `jobs` and `along_max` have
    /// no effect.
    pub tiers: TieredOptions,
    /// How large the tiers grow together, in percent of the last level.
    pub share: u64,
    /// Number of runs at which the deepest tier is due, at any size.
    pub tier_most: usize,
    /// About how many bytes a slice takes.
    pub slice: ByteCount,
    /// The capacity of a zone; 0 where there are none. It is also the most bytes of the last level
    /// that meet nothing and are rewritten with a slice all the same, so that a zone is not kept by
    /// a few tables.
    pub zone_capacity: ByteCount,
    /// The size of a memtable.
    pub memtable_size: ByteCount,
}

/// Sliced compaction.
#[derive(Clone, Debug)]
pub struct Sliced {
    tiers: Tiered,
    options: SlicedOptions,
    zones: Arc<dyn ZonesSource>,
}

/// Whether the pointer goes on after a slice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sweep {
    GoesOn,
    Rests,
}

impl Sliced {
    /// A decider with these parameters.
    ///
    /// # Panics
    /// When [`Tiered::new`] would, or when `share`, `tier_most` or `slice` is zero.
    #[must_use]
    pub fn new(options: SlicedOptions, zones: Arc<dyn ZonesSource>) -> Self {
        let SlicedOptions { share, tier_most, slice, .. } = options;
        assert!(share > 0 && tier_most > 0 && slice.0 > 0, "a limit of zero: {options:?}");
        Self { tiers: Tiered::new(options.tiers.clone()), options, zones }
    }

    /// The deepest tier.
    fn deepest(&self, tree: &TreeView) -> usize {
        self.tiers.last(tree) - 1
    }

    /// Steps 3 and 4.
    fn debts(&self, tree: &TreeView) -> Debts {
        Debts::of(tree, self.deepest(tree), &self.options, self.zones.supply())
    }

    /// Steps 3 and 4: the levels that are due.
    fn due(&self, tree: &TreeView, state: &Pointers) -> Vec<usize> {
        self.debts(tree).due(|level| Unfinished::runs_since(tree, level, state.of(level)))
    }

    fn limits(&self) -> SliceLimits {
        SliceLimits {
            size: self.options.slice,
            carried_max: self.options.zone_capacity,
            table_size: self.options.tiers.table_size,
        }
    }

    /// A level, or a slice for the deepest tier.
    fn down(&self, tree: &TreeView, state: &Pointers, level: usize) -> Option<Choice> {
        if level == self.deepest(tree) {
            let top = debts::top_of_slice(tree, level, self.options.slice);
            let pointer = state.of(level);
            let zone = self.options.zone_capacity.max(self.options.slice);
            let jump = heat::jump(tree, level, pointer, zone);
            let from = jump.as_deref().unwrap_or(pointer);
            return self.slice(tree, state, top, from, Sweep::GoesOn);
        }
        if let Some(plan) = straight::moves(tree, level, self.tiers.last(tree)) {
            return Some(Choice { plan, state: state.encode() });
        }
        let whole = self.tiers.down_whole(tree, level)?;
        let step = match whole.plan {
            Plan::TrivialMove(_) => None,
            Plan::Merge(_) => TierStep::of(tree, level, state.of(level), &self.limits()),
        };
        let (plan, of_level) =
            step.map_or((whole.plan, Vec::new()), |step| (step.plan, step.state));
        Some(Choice { plan, state: state.moved(level, &of_level).encode() })
    }

    /// Step 2.
    fn slice(
        &self,
        tree: &TreeView,
        state: &Pointers,
        top: usize,
        from: &[u8],
        sweep: Sweep,
    ) -> Option<Choice> {
        let tier = self.deepest(tree);
        let limits = self.limits();
        let to = Place { level: tier as u8 + 1, run: oldest(tree, tier + 1) };
        let slice = Slice::of(tree, top..=tier, from, &limits)?;
        let state = match sweep {
            Sweep::GoesOn => state.moved(tier, slice.end.as_deref().unwrap_or_default()),
            Sweep::Rests => state.clone(),
        };
        Some(Choice { plan: slice.plan(to, &limits), state: state.encode() })
    }

    /// Step 5.
    fn deletes_down(&self, tree: &TreeView, state: &Pointers) -> Option<Choice> {
        let deepest = self.deepest(tree);
        let segments = |level| tree.runs(level).iter().flat_map(|run| &run.segments);
        let due = |level: &usize| segments(*level).any(mostly_deletes);
        match (0..=deepest).find(due)? {
            level if level == deepest => {
                let segment = segments(level).find(|segment| mostly_deletes(segment))?;
                self.slice(tree, state, deepest, &segment.span.start, Sweep::Rests)
            }
            level => self.down(tree, state, level),
        }
    }

    /// Step 7.
    fn at_rest(&self, tree: &TreeView, state: &Pointers) -> Option<Choice> {
        let deepest = self.deepest(tree);
        let has_room = tree.runs(deepest).len() * 2 < self.options.tier_most;
        let behind = if has_room { deepest } else { deepest.saturating_sub(1) };
        let level = (0..behind).find(|level| tree.runs(*level).len() > 1)?;
        self.down(tree, state, level)
    }

    /// Steps 1 to 7, of a tree in this layout: the choices in their order, each made as it is asked
    /// for.
    fn drained<'a>(
        &'a self,
        tree: &'a TreeView,
        state: &'a Pointers,
        urgency: Urgency,
    ) -> impl Iterator<Item = Choice> + 'a {
        let due = self.due(tree, state);
        let beyond = || match self.deletes_down(tree, state) {
            None if urgency == Urgency::Rest => self.at_rest(tree, state),
            deletes => deletes,
        };
        let beyond = if due.is_empty() { beyond() } else { None };
        let is_for_space = matches!(urgency, Urgency::Space | Urgency::All);
        let levels = if is_for_space { 0..self.deepest(tree) + 1 } else { 0..0 };
        let for_space = levels.rev().filter(|level| !tree.runs(*level).is_empty());
        let down = |level| self.down(tree, state, level);
        due.into_iter().filter_map(down).chain(beyond).chain(for_space.filter_map(down))
    }

    fn state(&self, tree: &TreeView, state: &[u8]) -> Pointers {
        Pointers::decode(state, self.deepest(tree) + 1)
    }

    /// Another layout: a last level of several runs.
    fn drain(&self, tree: &TreeView, state: &Pointers) -> Option<Choice> {
        Some(Choice { state: state.encode(), ..self.tiers.drain(tree)? })
    }
}

impl Compaction for Sliced {
    fn name(&self) -> &'static str {
        "sliced"
    }

    fn pick(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice> {
        let state = self.state(tree, state);
        self.drain(tree, &state).or_else(|| self.drained(tree, &state, urgency).next())
    }

    fn choices(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Vec<Choice> {
        let state = self.state(tree, state);
        match self.drain(tree, &state) {
            Some(drain) => vec![drain],
            None => self.drained(tree, &state, urgency).collect(),
        }
    }

    fn manual_compaction(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice> {
        let state = self.state(tree, state);
        if let Some(drain) = self.drain(tree, &state) {
            return Some(drain);
        }
        let holds = |level: usize| {
            let runs = tree.runs(level).iter();
            runs.filter(|run| !run.overlapping(span).is_empty()).count()
        };
        let runs: usize = (0..tree.levels.len()).map(holds).sum();
        let upper = (0..self.tiers.last(tree)).find(|level| holds(*level) > 0);
        let upper = upper.filter(|_| runs > 1)?;
        if upper == self.deepest(tree) {
            return self.slice(tree, &state, upper, &span.start, Sweep::Rests);
        }
        self.down(tree, &state, upper)
    }

    fn flush_routes(&self, tree: &TreeView, span: &Span) -> Vec<FlushRoute> {
        straight::flush_routes(tree, span, self.tiers.last(tree))
    }

    fn flush_routes_max(&self) -> usize {
        straight::ROUTES_MAX
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        let tiers = self.tiers.pressure_above(tree, self.deepest(tree));
        Pressure(tiers.0.max(self.debts(tree).pressure().0))
    }
}
