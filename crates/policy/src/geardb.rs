//! Gear compaction over zones that hold tables of one level (Yao et al., "GearDB: A GC-free
//! Key-Value Store on HM-SMR Drives with Gear Compaction", FAST '19, section 3).
//!
//! *Layout* (3.1). In the paper a zone holds tables of one level, and each level writes to one
//! zone. This decider takes any layout: zones may hold tables of several levels.
//!
//! *Compaction windows* (3.2). In a level, a group of zones is the window: 1/k of the level. Gear
//! compactions take tables from windows, so that the dead data of a level lies in its window, and
//! whole zones of the window become nearly empty. Then other zones become the window. The upper
//! levels are all window: in the paper 0 and 1. See [`window`].
//!
//! *Gear compaction* (3.3, algorithm 1).
//! 1. Active compaction: tables of a level, level 0 in the paper, merge with the tables that they
//!    overlap in the next level, i.
//! 2. The merged data is divided by the tables of level i + 1 ([`division`]). Data in the ranges of
//!    tables out of its window stays in level i. Data in the range of no table may be written to
//!    level i + 1 as it is. Data in the ranges of the window's tables goes on.
//! 3. Passive compaction: the data that goes on merges with the tables of the window that it
//!    overlaps. The result is divided by the next level, and so on.
//! 4. Level i + 1 takes part if level i is full. Some variants also ask that level i + 1 hold
//!    enough.
//!
//! All steps of a gear compaction are one plan, made before anything is read: see [`cascade`].
//!
//! # Variants
//! The paper, the authors' code and a working form differ. So there are three variants
//! ([`GearVariant`]), each with its rules in a module: [`algorithm1`], [`code`] and [`repaired`].
//!
//! | | `algorithm1` | `code` | `repaired` |
//! |---|---|---|---|
//! | begins in | level 0 | level of the highest score | level 0; a level above its bound |
//! | levels that are all window | 0, 1 | 0, 1, 2 | 0, 1; those up to 1/k of their limit |
//! | other windows | zones: 1/k of the limit | 1/k of the zones | tables: 1/k of the level |
//! | level i is full | with the merge's bytes | before the merge | with the merge's bytes |
//! | level i + 1 holds | 1/k of its limit | 1/k of level i's limit | anything |
//! | zones go down unread | no | three quarters written | full |
//!
//! A level deeper than level 0 that has several runs is first merged into one. [`Leveled`] chooses
//! the compactions that are not gear compactions: manual compactions, all compactions while space
//! is short, and, except for `algorithm1`, those of tables with many tombstones, and of level 0 at
//! rest.
//!
//! One plan runs at a time, and one worker writes it.

mod algorithm1;
mod cascade;
mod code;
mod division;
mod layout;
mod repaired;
mod sight;
mod state;
mod window;

use std::sync::Arc;

use terrace_env::{ByteCount, FileId, ZoneId};

use self::cascade::{Cascade, oldest, place};
use self::layout::{Layout, LevelZone};
pub use self::repaired::GearRepairs;
use self::sight::{Sight, ZonesByLevel, is_free};
use self::state::GearState;
use crate::compaction::{Choice, Compaction, Pressure, Urgency, WriteRule};
use crate::intake::FlushRoute;
use crate::leveled::{Leveled, LeveledOptions};
use crate::plan::{Move, Part, Place, Plan};
use crate::tree::{SegmentView, Span, TreeView};
use crate::zones::ZonesSource;

/// A variant of gear compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GearVariant {
    /// The paper's, with repairs: no level grows without bound, and zones become empty.
    #[default]
    Repaired,
    /// The authors' code, as far as it is known.
    Code,
    /// Algorithm 1 as it is printed. While level 2 is empty, it goes no deeper than level 1, which
    /// grows without bound.
    Algorithm1,
}

/// The parameters of gear compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GearOptions {
    /// Levels, limits and tables.
    pub leveled: LeveledOptions,
    /// How many windows a level has: k. More: less data lies dead in a window, and a level keeps
    /// more data.
    pub windows: u32,
    /// About the bytes that an active compaction brings from level 0.
    pub level0_size: ByteCount,
    /// Rules of gear compaction: the variant.
    pub variant: GearVariant,
    /// Constants of [`GearVariant::Repaired`].
    pub repairs: GearRepairs,
}

/// Gear compaction.
#[derive(Clone, Debug)]
pub struct Gear {
    options: GearOptions,
    leveled: Leveled,
    zones: Arc<dyn ZonesSource>,
}

/// Zones of the compaction windows in a state, with the level of each window, for a picture.
pub(crate) fn windows_of(state: &[u8]) -> Vec<(u8, ZoneId)> {
    let turns = GearState::all(state).turns;
    let of_level = |(level, turn): (usize, &state::Turn)| {
        let zones = turn.window.iter().map(|range| range.zone);
        let known = zones.filter(|zone| *zone != state::NOWHERE);
        known.map(|zone| (level as u8, zone)).collect::<Vec<_>>()
    };
    let mut windows: Vec<_> = turns.iter().enumerate().flat_map(of_level).collect();
    windows.sort_unstable();
    windows.dedup();
    windows
}

/// Tables that a compaction takes, run by run, newest first.
type Inputs<'a> = Vec<(Place, Vec<&'a SegmentView>)>;

impl Gear {
    /// A decider with these parameters, for a store whose files lie where `zones` says.
    ///
    /// # Panics
    /// When `windows` is zero, or when [`Leveled::new`] panics.
    #[must_use]
    pub fn new(options: GearOptions, zones: Arc<dyn ZonesSource>) -> Self {
        assert!(options.windows > 0, "no windows: {options:?}");
        let leveled = Leveled::new(options.leveled.clone());
        Self { options, leveled, zones }
    }

    /// How many levels there are: another decider may have made a tree deeper.
    fn levels(&self, tree: &TreeView) -> usize {
        self.options.leveled.levels.max(tree.levels.len())
    }

    fn table_size(&self) -> ByteCount {
        self.options.leveled.table_size
    }

    /// The next plan that keeps the shape, of this tree in these zones. Pure.
    #[must_use]
    pub fn decide(&self, tree: &TreeView, zones: &dyn ZonesSource, state: &[u8]) -> Option<Choice> {
        let mut sight = self.sight(tree, zones, state);
        let plan = self.leveled.drain_runs(tree).or_else(|| match self.options.variant {
            GearVariant::Repaired => self.repaired(&mut sight),
            GearVariant::Code => self.code(&mut sight),
            GearVariant::Algorithm1 => self.algorithm1(&mut sight),
        });
        plan.map(|plan| sight.choose(plan))
    }

    fn sight<'a>(&self, tree: &'a TreeView, zones: &'a dyn ZonesSource, state: &[u8]) -> Sight<'a> {
        let levels = self.levels(tree);
        let zones = ZonesByLevel::new(tree, zones, levels);
        Sight { tree, zones, state: GearState::decode(state, levels) }
    }

    /// The oldest run of level 0, and all that overlap it.
    fn level0_inputs<'a>(&self, tree: &'a TreeView) -> Option<Inputs<'a>> {
        self.level0_inputs_of(tree, tree.runs(0).len().checked_sub(1)?)
    }

    /// A run of level 0, and all that overlap it.
    fn level0_inputs_of<'a>(&self, tree: &'a TreeView, seed: usize) -> Option<Inputs<'a>> {
        let (runs, _) = self.leveled.level0_due(tree, seed)?;
        let tables = runs.into_iter().map(|run| {
            let place = Place { level: 0, run: run.id };
            (place, run.segments.iter().collect())
        });
        Some(tables.collect())
    }

    /// The bytes that a level has.
    fn size(tree: &TreeView, level: usize) -> u64 {
        tree.levels.get(level).map_or(0, |level| level.size().0)
    }

    /// Whether a level has reached its limit once a cascade ends there.
    fn becomes_full(&self, tree: &TreeView, cascade: &Cascade<'_>) -> bool {
        let here = cascade.level;
        let left = Self::size(tree, here).saturating_sub(cascade.taken(here).0);
        (left + cascade.bytes().0) as f64 >= self.leveled.target(here)
    }

    /// A zone of one level that meets nothing in the next one goes down as a whole; `is_full` says
    /// which zones may.
    fn zone_down(
        &self,
        sight: &Sight<'_>,
        level: usize,
        is_full: impl Fn(&LevelZone<'_>) -> bool,
    ) -> Option<Plan> {
        let (tree, run) = (sight.tree, oldest(sight.tree, level)?);
        let layout = Layout::of(Some(run), sight.zones.of(level));
        let mut whole = layout
            .zones
            .iter()
            .filter(|zone| is_full(zone) && zone.tables.iter().all(|t| is_free(tree, level, t)));
        let zone = whole.find(|zone| !sight.is_shared(zone.zone, level))?;
        let (from, to) = (place(tree, level), place(tree, level + 1));
        Some(Plan::TrivialMove(zone.tables.iter().map(|table| goes(table, from, to)).collect()))
    }

    /// A plan that leaves the windows as they are.
    fn beside(&self, tree: &TreeView, state: &[u8], plan: Option<Plan>) -> Option<Choice> {
        let state = GearState::decode(state, self.levels(tree)).encode();
        plan.map(|plan| Choice { plan, state })
    }
}

impl Compaction for Gear {
    fn name(&self) -> &'static str {
        "gear"
    }

    fn pick(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice> {
        if matches!(urgency, Urgency::Space | Urgency::All) {
            let choice = self.leveled.pick(tree, &[], urgency);
            return self.beside(tree, state, choice.map(|choice| choice.plan));
        }
        let due = self.decide(tree, &*self.zones, state);
        if self.options.variant == GearVariant::Algorithm1 {
            return due;
        }
        due.or_else(|| self.beside(tree, state, self.leveled.beyond_shape(tree, urgency)))
    }

    fn seeks_allowed(&self, size: ByteCount) -> Option<u64> {
        self.leveled.seeks_allowed(size)
    }

    fn pick_after_seeks(&self, tree: &TreeView, state: &[u8], table: FileId) -> Option<Choice> {
        if self.options.variant != GearVariant::Code {
            let choice = self.leveled.pick_after_seeks(tree, &[], table);
            return self.beside(tree, state, choice.map(|choice| choice.plan));
        }
        let mut sight = self.sight(tree, &*self.zones, state);
        let plan = self.code_after_seeks(&mut sight, table);
        plan.map(|plan| sight.choose(plan))
    }

    fn moves_together(&self) -> usize {
        self.leveled.moves_together()
    }

    fn flush_routes(&self, tree: &TreeView, span: &Span) -> Vec<FlushRoute> {
        self.leveled.flush_routes(tree, span)
    }

    fn manual_compaction(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice> {
        let choice = self.leveled.manual_compaction(tree, &[], span);
        self.beside(tree, state, choice.map(|choice| choice.plan))
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        self.leveled.pressure(tree)
    }

    fn write_rule(&self, tree: &TreeView) -> WriteRule {
        self.leveled.write_rule(tree)
    }

    /// A level has one zone that is written (section 3.1).
    fn writes_in_order(&self) -> bool {
        true
    }
}

fn goes(table: &SegmentView, from: Place, to: Place) -> Move {
    let part = Part { file: table.file, span: table.span.clone() };
    Move { part, from, to: Some(to) }
}
