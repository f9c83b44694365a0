//! [`Sight`]: the arguments of one choice of gear compaction: the tree, the zones of its tables,
//! and the state.
//!
//! The zones of a level are asked for once per choice, when the choice first needs them. Reclaim
//! may move tables meanwhile, so the zones of two levels may be of different moments.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use terrace_env::{ByteCount, ZoneId};

use super::cascade::oldest;
use super::layout::{Layout, LevelZone, home};
use super::state::{GearState, NOWHERE};
use super::window::newest;
use crate::compaction::Choice;
use crate::plan::Plan;
use crate::tree::{Key, RunView, SegmentView, TreeView};
use crate::zones::{ZonesSource, ZonesView};

/// Input of one choice.
pub(super) struct Sight<'a> {
    pub(super) tree: &'a TreeView,
    pub(super) zones: ZonesByLevel<'a>,
    pub(super) state: GearState,
}

/// Where the tables of each level lie; asked for level by level, as most choices look at few.
pub(super) struct ZonesByLevel<'a> {
    tree: &'a TreeView,
    source: &'a dyn ZonesSource,
    levels: Vec<OnceCell<ZonesView>>,
}

impl<'a> ZonesByLevel<'a> {
    pub(super) fn new(tree: &'a TreeView, source: &'a dyn ZonesSource, levels: usize) -> Self {
        Self { tree, source, levels: vec![OnceCell::new(); levels] }
    }

    pub(super) fn of(&self, level: usize) -> &ZonesView {
        self.levels[level].get_or_init(|| {
            let tables = self.tree.runs(level).iter().flat_map(|run| &run.segments);
            let files: Vec<_> = tables.map(|table| table.file).collect();
            self.source.placed(&files)
        })
    }
}

impl<'a> Sight<'a> {
    /// The tables of a level that nothing of the next one keeps from going down with their zone,
    /// once that is full and nothing of level 0 is in it; by where they begin.
    pub(super) fn waiting(&self, run: &'a RunView, level: usize) -> BTreeMap<&'a Key, ByteCount> {
        let runs = self.tree.runs(0).iter().flat_map(|run| &run.segments);
        let zones = self.zones.of(0);
        let level0: BTreeSet<ZoneId> = runs.map(|table| home(zones, table.file)).collect();
        let layout = Layout::of(Some(run), self.zones.of(level)).zones;
        let fills = |zone: &LevelZone<'_>| {
            zone.is_writing() || zone.zone != NOWHERE && level0.contains(&zone.zone)
        };
        let zones = layout.into_iter().filter(fills);
        let tables = zones.flat_map(|zone| zone.tables).filter(|t| is_free(self.tree, level, t));
        tables.map(|table| (&table.span.start, table.size)).collect()
    }

    /// Whether a zone holds tables of other levels as well.
    pub(super) fn is_shared(&self, zone: ZoneId, level: usize) -> bool {
        let lies = |other: usize| {
            let mut tables = self.tree.runs(other).iter().flat_map(|run| &run.segments);
            tables.any(|table| home(self.zones.of(other), table.file) == zone)
        };
        zone != NOWHERE && (0..self.tree.levels.len()).filter(|other| *other != level).any(lies)
    }

    /// Whether anything was merged since the oldest run of level 0 was flushed: merges leave zones
    /// that are partly dead, and to see which are takes a look at all tables. Tables that range
    /// deletes shrink wait for the next merge.
    pub(super) fn has_merged(&self) -> bool {
        let level0 = self.tree.runs(0).iter().flat_map(|run| &run.segments);
        let deeper = self.tree.levels.iter().skip(1).flat_map(|level| &level.runs);
        let newest = newest(deeper.flat_map(|run| &run.segments));
        level0.map(|table| table.file).min().is_none_or(|oldest| oldest < newest)
    }

    pub(super) fn choose(&self, plan: Plan) -> Choice {
        Choice { plan, state: self.state.encode() }
    }
}

/// Whether a table meets nothing of the level below its own.
pub(super) fn is_free(tree: &TreeView, level: usize, table: &SegmentView) -> bool {
    oldest(tree, level + 1).is_none_or(|run| run.overlapping(&table.span).is_empty())
}
