//! Gear compaction over level-pure zones (Yao et al., "GearDB: A GC-free Key-Value Store on HM-SMR
//! Drives with Gear Compaction", FAST '19, section 3).
//!
//! *Layout* (3.1). A zone serves tables of one level, and each level has one zone that is written.
//! Two levels share a zone where a table went down by metadata alone, or where no zone was free.
//!
//! *Compaction windows* (3.2). In each level a group of zones, 1/k of it, is its window. Gear
//! compactions take only tables of windows, so that what dies in a level dies in its window; the
//! exceptions are named below. Levels 0 and 1 are always all window. When the last table of a
//! window has been compacted, its zones hold nothing live, but for the last one, of which the
//! window may have had only a part. Other zones then become the window. See [`window`].
//!
//! *Gear compaction* (3.3, algorithm 1).
//! 1. Active compaction: the runs of level 0 that are due merge with what they overlap in level 1.
//! 2. The merged data is divided by the tables of level 2, see [`division`]: what lies out of its
//!    window ends in level 1; what lies out of its range is dumped into level 2; what lies within
//!    its window goes on.
//! 3. Passive compaction: data within the window merges with the tables of level 2's window that it
//!    overlaps, and the result is divided by level 3; and so on, level by level.
//! 4. A level joins only if the one above it has reached its limit, and it has a full window.
//!
//! So level i goes through a whole window while level i + 1 goes through a k-th of one, as gears
//! do. The cascade is one plan, see [`cascade`].
//!
//! *Sequential writes* (4) go down by metadata alone: first a run of level 0 that overlaps nothing
//! in level 1, as it is; then whole zones, see [`layout`].
//!
//! # What the paper leaves open, and what it gets wrong
//! - By algorithm 1 as printed a level without a full window never takes anything, and the level
//!   above grows without bound. A level that is smaller than its window is all window here.
//! - The last tables of a window may overlap no input, and their zones then never become empty: see
//!   [`window`]. Data left in zones that lost their turn is written anew when a level spreads over
//!   more zones than its windows explain ([`Gear::gather`]).
//! - Outputs must end where a range that goes elsewhere begins, or tables of a level would overlap.
//!   The routes ensure it.
//! - Windows of L(i+1) take 1/k of whatever passes: level i keeps (k - 1) k^(i-1) times what one
//!   compaction brings, even if its limit is lower. Data that no gear compaction meets any more may
//!   add to that. Beyond it, level i is where a gear compaction begins ([`Gear::overfull`]). Tables
//!   that overlap nothing of the next level and wait for their zone to fill do not count: they go
//!   down with the zone, unread.
//! - A window is 1/k of the level's bytes, not of its limit: else a level of a quarter of its limit
//!   would be half dead.
//!
//! [`GearOptions::published`] replaces these repairs by the one in the authors' code, which the
//! paper does not mention: levels over their limits are compacted as LevelDB does, table by table
//! and outside windows. The repair leaves dead tables in all zones. Outputs still end where they
//! must.
//!
//! [`Leveled`] chooses the other compactions: manual ones, those for lack of space, those of tables
//! that are mostly deletes, and those that merge the runs of a level that has several.
//!
//! One plan is under way at a time, and one worker writes it. The window may be out of date where
//! reclaim has moved a table: a table that has left its zone has left the window, too.

mod cascade;
mod division;
mod layout;
mod sight;
mod state;
mod window;

use std::sync::Arc;

use terrace_env::ByteCount;

use self::cascade::{Cascade, oldest, place};
use self::division::Fate;
use self::layout::{Held, Layout, Spread};
use self::sight::{Sight, ZonesByLevel, is_free};
use self::state::GearState;
use self::window::{Window, newest};
use crate::compaction::{Choice, Compaction, Pressure, Urgency};
use crate::leveled::{Leveled, LeveledOptions};
use crate::plan::{Move, Part, Place, Plan};
use crate::tree::{RunView, SegmentView, Span, TreeView};
use crate::zones::ZonesSource;

/// A level may occupy zones for more than its tables and its window: for one part in so many of its
/// tables,
const SPREAD_SHARE: u64 = 8;
/// and for so many zones: the one being written, one that was being written when the store was
/// closed, and the rest of the window's last one.
const SPREAD_ZONES: u64 = 3;
/// A zone's remaining data is gathered if it is no more than this, in quarters of the zone.
const GATHERED_QUARTERS: u64 = 3;

/// A compaction that begins in a level over all limits takes tables from its window until their
/// bytes reach this many times `level0_size`. The whole window at once could be a large part of the
/// store, and level 0 would wait until it is written.
const OVERFULL_ACTIVE: u64 = 4;

/// The parameters of gear compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GearOptions {
    /// Levels, limits and tables.
    pub leveled: LeveledOptions,
    /// How many windows a level has: k. More: less lies dead in a window; a level keeps more.
    pub windows: u32,
    /// About the bytes that an active compaction brings from level 0.
    pub level0_size: ByteCount,
    /// Whether to choose as the published code does.
    pub published: bool,
}

/// Gear compaction.
#[derive(Clone, Debug)]
pub struct Gear {
    options: GearOptions,
    leveled: Leveled,
    zones: Arc<dyn ZonesSource>,
}

impl Gear {
    /// A decider with these parameters, for a store whose files lie where `zones` says.
    ///
    /// # Panics
    /// When a parameter is zero.
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
        let levels = self.levels(tree);
        let zones = ZonesByLevel::new(tree, zones, levels);
        let mut sight = Sight { tree, zones, state: GearState::decode(state, levels) };
        if let Some(drained) = self.leveled.drain_runs(tree) {
            return Some(sight.choose(drained));
        }
        if tree.runs(0).len() >= self.options.leveled.level0_runs {
            return self.active(&mut sight);
        }
        if self.options.published {
            return self.by_size(sight);
        }
        let whole = (1..self.levels(tree) - 1).find_map(|level| self.zone_down(&sight, level));
        if let Some(plan) = whole {
            return Some(sight.choose(plan));
        }
        let overfull =
            (1..self.levels(tree) - 1).find_map(|level| self.overfull(&mut sight, level));
        let plan = overfull.or_else(|| {
            let levels = if sight.has_merged() { 1..self.levels(tree) } else { 0..0 };
            levels.into_iter().find_map(|level| self.gather(&sight, level))
        });
        plan.map(|plan| sight.choose(plan))
    }

    /// Steps 1 to 4.
    fn active(&self, sight: &mut Sight<'_>) -> Option<Choice> {
        let tree = sight.tree;
        let runs = tree.runs(0);
        let (taken, hull) = self.leveled.level0_due(tree, runs.len().checked_sub(1)?)?;
        let met: Vec<&SegmentView> =
            oldest(tree, 1).into_iter().flat_map(|run| run.overlapping(&hull)).collect();
        let mostly_data =
            |run: &RunView| run.segments.iter().all(|s| s.tombstones * 4 <= s.entries);
        if let [run] = taken[..]
            && met.is_empty()
            && mostly_data(run)
        {
            let from = Place { level: 0, run: run.id };
            let moves = run.segments.iter().map(|table| goes(table, from, place(tree, 1)));
            return Some(sight.choose(Plan::TrivialMove(moves.collect())));
        }
        let mut inputs: Vec<(Place, Vec<&SegmentView>)> = taken
            .iter()
            .map(|run| (Place { level: 0, run: run.id }, run.segments.iter().collect()))
            .collect();
        if !met.is_empty() {
            inputs.push((place(tree, 1), met));
        }
        let mut cascade = Cascade::new(tree, inputs, 1);
        while cascade.level + 1 < self.levels(tree) && self.joins(sight, &cascade) {
            let window = self.window(sight, cascade.level + 1, &cascade.pieces, false);
            let fates = cascade.divided(&window, self.table_size(), self.options.published);
            if !cascade.go_on(fates, &window) {
                break;
            }
        }
        sight.state.settled =
            newest(tree.levels.iter().flat_map(|l| &l.runs).flat_map(|r| &r.segments));
        Some(sight.choose(cascade.plan(self.table_size())))
    }

    /// Step 4: whether the next level takes part.
    fn joins(&self, sight: &Sight<'_>, cascade: &Cascade<'_>) -> bool {
        let size = |level: usize| sight.tree.levels.get(level).map_or(0, |level| level.size().0);
        let here = cascade.level;
        let left = size(here).saturating_sub(cascade.taken(here).0);
        let full = (left + cascade.bytes().0) as f64 >= self.leveled.target(here);
        let window = self.leveled.target(here + 1) / f64::from(self.options.windows);
        full && (!self.options.published || size(here + 1) as f64 >= window)
    }

    /// The window of a level for a compaction that comes with these pieces, which are in key order.
    /// `now`: it has to meet them, if anything of the level does.
    fn window<'a>(
        &self,
        sight: &mut Sight<'a>,
        level: usize,
        pieces: &[Span],
        now: bool,
    ) -> Window<'a> {
        let run = oldest(sight.tree, level);
        let size = run.map_or(0, |run| run.size().0);
        let k = u64::from(self.options.windows);
        let limit = (self.leveled.target(level) / k as f64) as u64;
        let turn = &mut sight.state.turns[level];
        if level <= 1 || size <= limit && !self.options.published {
            turn.window.clear();
            return Window::whole(run);
        }
        let wanted = ByteCount(if self.options.published { limit } else { size / k });
        let zones = sight.zones.of(level);
        let mut window = Window::remembered(run, zones, turn);
        let serves = |table: &SegmentView| table.span.meets(pieces);
        if self.options.published {
            if window.tables.is_empty() {
                let layout = Layout::of(run, zones);
                window.turn_on(&layout, turn, wanted, |_| true);
            }
            return window;
        }
        if window.is_nearly_empty(wanted) {
            let layout = Layout::of(run, zones);
            window.turn_on(&layout, turn, wanted, |_| true);
        }
        if pieces.is_empty() || window.meets_any(pieces) {
            turn.misses = 0;
            return window;
        }
        turn.misses = turn.misses.saturating_add(1);
        if now || u64::from(turn.misses) > k {
            let layout = Layout::of(run, zones);
            turn.window.clear();
            window = Window { tables: Vec::new() };
            window.turn_on(&layout, turn, wanted, serves);
        }
        window
    }

    /// The most bytes that a level may come to hold: its limit or, if larger, the data that its
    /// windows leave in it; and a quarter more for data that no compaction meets any more. Tables
    /// that wait to go down as they are do not count.
    fn most(&self, level: usize) -> f64 {
        let k = f64::from(self.options.windows);
        let left = (k - 1.0) * k.powi(level as i32 - 1) * self.options.level0_size.0 as f64;
        self.leveled.target(level).max(left) * 1.25
    }

    /// A gear compaction that begins in the window of a level that is over all limits. It takes the
    /// tables of the window of which something can go on. Tables that wait to go down as they are
    /// do not count towards the level's size.
    fn overfull(&self, sight: &mut Sight<'_>, level: usize) -> Option<Plan> {
        let tree = sight.tree;
        let run = oldest(tree, level)?;
        if run.size().0 as f64 <= self.most(level) {
            return None;
        }
        let waiting = sight.waiting(run, level);
        let left: u64 = waiting.values().map(|size| size.0).sum();
        if (run.size().0 - left) as f64 <= self.most(level) {
            return None;
        }
        let mut all = self.window(sight, level, &[], true);
        all.tables.retain(|table| !waiting.contains_key(&table.span.start));
        let of_level = |tables| Cascade::new(tree, vec![(place(tree, level), tables)], level);
        let offered = of_level(all.tables.clone());
        let spans: Vec<Span> = all.tables.iter().map(|table| table.span.clone()).collect();
        let window = self.window(sight, level + 1, &spans, true);
        // Here a small table is better than none.
        let any = ByteCount(1);
        let fates = offered.divided(&window, any, false);
        let on = fates.into_iter().filter(|(_, fate)| *fate != Fate::Stay);
        let on: Vec<Span> = on.map(|(span, _)| span).collect();
        let mut size = 0;
        let most = OVERFULL_ACTIVE * self.options.level0_size.max(self.table_size()).0;
        let tables = all.tables.iter().copied().filter(|table| table.span.meets(&on));
        let tables = tables.take_while(|table| {
            let fits = size < most;
            size += table.size.0;
            fits
        });
        let tables: Vec<&SegmentView> = tables.collect();
        if tables.is_empty() {
            return None;
        }
        let mut cascade = of_level(tables);
        let fates = cascade.divided(&window, any, false);
        cascade.go_on(fates, &window);
        Some(cascade.plan(self.table_size()))
    }

    /// A zone that is full and of one level, of a level over its limit, and that meets nothing in
    /// the next one, goes down as a whole.
    fn zone_down(&self, sight: &Sight<'_>, level: usize) -> Option<Plan> {
        let (tree, run) = (sight.tree, oldest(sight.tree, level)?);
        if run.size().0 as f64 <= self.leveled.target(level) {
            return None;
        }
        let layout = Layout::of(Some(run), sight.zones.of(level));
        let mut whole = layout.zones.iter().filter(|zone| {
            !zone.is_writing() && zone.tables.iter().all(|t| is_free(tree, level, t))
        });
        let zone = whole.find(|zone| !sight.is_shared(zone.zone, level))?;
        let (from, to) = (place(tree, level), place(tree, level + 1));
        Some(Plan::TrivialMove(zone.tables.iter().map(|table| goes(table, from, to)).collect()))
    }

    /// A compaction that rewrites the data left in the emptiest zone of a level, if the level
    /// spreads over too many zones.
    fn gather(&self, sight: &Sight<'_>, level: usize) -> Option<Plan> {
        let run = oldest(sight.tree, level)?;
        let spread = Spread::of(run, sight.zones.of(level));
        let zone = spread.zones.iter().map(|held| held.zone.capacity.0).max()?;
        let size = run.size().0;
        let window = size / u64::from(self.options.windows);
        if spread.capacity() <= size + size / SPREAD_SHARE + window + SPREAD_ZONES * zone {
            return None;
        }
        let settled = |table: &&SegmentView| table.file <= sight.state.settled;
        let emptiest = spread.zones.into_iter().filter(|held| {
            !held.zone.is_open()
                && held.tables.iter().all(settled)
                && held.size.0 <= held.zone.capacity.0 / 4 * GATHERED_QUARTERS
        });
        let Held { tables, .. } = emptiest.min_by_key(|held| (held.size, held.zone.zone))?;
        let inputs = vec![(place(sight.tree, level), tables)];
        Some(Cascade::new(sight.tree, inputs, level).plan(self.table_size()))
    }

    /// Compactions that the published code adds to gear compaction: levels over their limits, table
    /// by table.
    fn by_size(&self, mut sight: Sight<'_>) -> Option<Choice> {
        let Choice { plan, state } = self.leveled.by_size(sight.tree, &sight.state.pointers)?;
        sight.state.pointers = state;
        Some(sight.choose(plan))
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
        if urgency == Urgency::Space {
            let choice = self.leveled.pick(tree, &[], urgency);
            return self.beside(tree, state, choice.map(|choice| choice.plan));
        }
        let due = self.decide(tree, &*self.zones, state);
        due.or_else(|| self.beside(tree, state, self.leveled.beyond_shape(tree, urgency)))
    }

    fn manual_compaction(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice> {
        let choice = self.leveled.manual_compaction(tree, &[], span);
        self.beside(tree, state, choice.map(|choice| choice.plan))
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        self.leveled.pressure(tree)
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
