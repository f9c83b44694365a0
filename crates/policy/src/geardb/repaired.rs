//! Gear compaction as the paper means it, with the parts that are missing there. [`GearRepairs`]
//! has the constants.
//!
//! - A gear compaction begins in level 0, with step 1 of the [module](super), or in the window of a
//!   level above its bound (below). Then it begins with step 2, and that level is i.
//! - The oldest run of level 0 moves to level 1 unread if it overlaps nothing in levels 0 and 1,
//!   unless more than a quarter of the entries of one of its tables are tombstones.
//! - A zone of a level above its limit goes down unread, if it is full, its tables of the level
//!   overlap nothing in the next level, and no table of another level begins in it
//!   ([`Gear::zone_down`]). A table in no known zone goes down likewise. So tables of a sequential
//!   load go down without being rewritten.
//!
//! # Repairs
//! - By algorithm 1 as printed, a level without a full window does not join, and the level above
//!   grows without bound. Here a level of at most 1/k of its limit is all window.
//! - The last tables of a window may overlap no input, so that their zones do not become empty.
//!   When a window is nearly empty, the next zones join it. After more than k compactions in a row
//!   that overlapped nothing of the window, it is replaced by zones whose tables overlap the input.
//!   Its remaining tables wait for their next turn.
//! - A level may hold more than its limit, because windows leave data in it. Where it exceeds its
//!   bound, a gear compaction begins there ([`Gear::overfull`]). It does not wait for the window of
//!   the next level: a window that it does not overlap is replaced at once. Tables that wait to go
//!   down with their zone are not counted.
//! - Data may be left in zones that are mostly dead, such as those whose window was replaced. If
//!   nothing else is due, and a level lies in more zones than its tables, its window and an
//!   allowance need, a compaction may rewrite the level's part of one of these zones, the emptiest
//!   first ([`Gear::gather`] and [`Sight::has_merged`] have the conditions).
//! - A window is 1/k of the level's bytes, not of its limit (unless `window_of_limit` says so):
//!   otherwise it would be most of a level that is far below its limit. It is whole zones, and of
//!   the last zone the tables that make up the rest.

use terrace_env::ByteCount;

use super::cascade::{Cascade, oldest, place};
use super::division::{Fate, Gaps};
use super::layout::{Held, Layout, LevelZone, Spread};
use super::sight::Sight;
use super::window::{LastZone, Window, newest};
use super::{Gear, goes};
use crate::plan::Plan;
use crate::tree::{SegmentView, Span};

/// Zones that a level may occupy in addition to those for its tables, its window and a part of its
/// tables: the one being written, one that was being written when the store was closed, and the
/// rest of the window's last one.
const SPREAD_ZONES: u64 = 3;

/// Constants of the repairs. None is in the paper, except for [`window_of_limit`], its equation 2.
/// `geardb/repairs` of the lab draws the effect of each.
///
/// [`window_of_limit`]: Self::window_of_limit
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GearRepairs {
    /// How much a level may come to hold before a gear compaction begins in it, in percent of its
    /// bound. Range: 100 to 1000.
    pub bound: u16,
    /// Whether the bound of a level is its limit, even if its windows leave more in it.
    pub bound_of_limit: bool,
    /// A compaction that begins in a level over its bound takes tables from its window until their
    /// bytes reach this many times `level0_size`. The whole window at once could be a large part of
    /// the store, and level 0 would wait until it is written. Range: 1 to 1000.
    pub overfull: u16,
    /// A zone's remaining data is gathered if it is no more than this, in percent of the zone. 0:
    /// never. Range: 0 to 100.
    pub gathered: u8,
    /// A level may occupy zones for more than its tables and its window: for one in `spread` of its
    /// tables, and for three zones. Range: 1 to 1000.
    pub spread: u16,
    /// Further zones join a window of which no more than one part in `nearly_empty` is left. Range:
    /// 1 to 1000.
    pub nearly_empty: u16,
    /// Whether a window is 1/k of its level's limit, and not of the level's bytes.
    pub window_of_limit: bool,
}

impl GearRepairs {
    /// The values of the row `geardb`.
    pub const OWN: Self = Self {
        bound: 125,
        bound_of_limit: false,
        overfull: 4,
        gathered: 75,
        spread: 8,
        nearly_empty: 8,
        window_of_limit: false,
    };
}

impl Gear {
    pub(super) fn repaired(&self, sight: &mut Sight<'_>) -> Option<Plan> {
        let tree = sight.tree;
        if tree.runs(0).len() >= self.options.leveled.level0_runs {
            return self.active(sight);
        }
        let is_full = |zone: &LevelZone<'_>| !zone.is_writing();
        let inner = 1..self.levels(tree) - 1;
        let is_over = |level: &usize| Self::size(tree, *level) as f64 > self.leveled.target(*level);
        let mut over = inner.clone().filter(is_over);
        let whole = over.find_map(|level| self.zone_down(sight, level, is_full));
        let plan = whole.or_else(|| inner.into_iter().find_map(|l| self.overfull(sight, l)));
        plan.or_else(|| {
            let levels = if sight.has_merged() { 1..self.levels(tree) } else { 0..0 };
            levels.into_iter().find_map(|level| self.gather(sight, level))
        })
    }

    /// Steps 1 to 4.
    fn active(&self, sight: &mut Sight<'_>) -> Option<Plan> {
        let tree = sight.tree;
        let inputs = self.level0_inputs(tree)?;
        let oldest_run = inputs.last().cloned();
        let mut cascade = Cascade::into(tree, inputs, 1);
        if let Some((from, tables)) = oldest_run.filter(|_| cascade.is_of_one_run())
            && tables.iter().all(|table| table.tombstones * 4 <= table.entries)
        {
            let moves = tables.iter().map(|table| goes(table, from, place(tree, 1)));
            return Some(Plan::TrivialMove(moves.collect()));
        }
        while cascade.level + 1 < self.levels(tree) && self.becomes_full(tree, &cascade) {
            let window = self.window(sight, cascade.level + 1, &cascade.pieces, false);
            let fates = cascade.divided(&window, self.table_size(), Gaps::Closed);
            if !cascade.go_on(fates, &window) {
                break;
            }
        }
        sight.state.settled =
            newest(tree.levels.iter().flat_map(|l| &l.runs).flat_map(|r| &r.segments));
        Some(cascade.plan(self.table_size()))
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
        if level <= 1 || size <= limit {
            turn.window.clear();
            return Window::whole(run);
        }
        let of_limit = self.options.repairs.window_of_limit;
        let wanted = ByteCount(if of_limit { limit } else { size / k });
        let zones = sight.zones.of(level);
        let mut window = Window::remembered(run, zones, turn);
        let serves = |table: &SegmentView| table.span.meets(pieces);
        if window.is_nearly_empty(wanted, self.options.repairs.nearly_empty) {
            let layout = Layout::of(run, zones);
            window.turn_on(&layout, turn, wanted, LastZone::Part, |_| true);
        }
        if pieces.is_empty() || window.meets_any(pieces) {
            turn.misses = 0;
            return window;
        }
        turn.misses = turn.misses.saturating_add(1);
        if now || u64::from(turn.misses) > k {
            let layout = Layout::of(run, zones);
            turn.window.clear();
            window = Window::none();
            window.turn_on(&layout, turn, wanted, LastZone::Part, serves);
        }
        window
    }

    /// The most bytes that a level may come to hold: its limit or, if larger, the data that its
    /// windows leave in it; and more for data that no compaction meets any more. Tables that wait
    /// to go down as they are do not count.
    fn most(&self, level: usize) -> f64 {
        let GearRepairs { bound, bound_of_limit, .. } = self.options.repairs;
        let k = f64::from(self.options.windows);
        let left = (k - 1.0) * k.powi(level as i32 - 1) * self.options.level0_size.0 as f64;
        let limit = self.leveled.target(level);
        let most = if bound_of_limit { limit } else { limit.max(left) };
        most * f64::from(bound) / 100.0
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
        debug_assert!(left <= run.size().0, "{left} bytes of a level of {}", run.size());
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
        let fates = offered.divided(&window, any, Gaps::Closed);
        let on = fates.into_iter().filter(|(_, fate)| *fate != Fate::Stay);
        let on: Vec<Span> = on.map(|(span, _)| span).collect();
        let mut size = 0;
        let most = u64::from(self.options.repairs.overfull)
            * self.options.level0_size.max(self.table_size()).0;
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
        let fates = cascade.divided(&window, any, Gaps::Closed);
        cascade.go_on(fates, &window);
        Some(cascade.plan(self.table_size()))
    }

    /// A compaction that rewrites the data left in the emptiest zone of a level, if the level
    /// spreads over too many zones.
    fn gather(&self, sight: &Sight<'_>, level: usize) -> Option<Plan> {
        let GearRepairs { gathered, spread: part, .. } = self.options.repairs;
        let run = oldest(sight.tree, level)?;
        let spread = Spread::of(run, sight.zones.of(level));
        let zone = spread.zones.iter().map(|held| held.zone.capacity.0).max()?;
        let size = run.size().0;
        let window = size / u64::from(self.options.windows);
        if spread.capacity() <= size + size / u64::from(part) + window + SPREAD_ZONES * zone {
            return None;
        }
        let settled = |table: &&SegmentView| table.file <= sight.state.settled;
        let emptiest = spread.zones.into_iter().filter(|held| {
            !held.zone.is_open()
                && held.tables.iter().all(settled)
                && held.size.0 <= held.zone.capacity.0 * u64::from(gathered) / 100
        });
        let Held { tables, .. } = emptiest.min_by_key(|held| (held.size, held.zone.zone))?;
        let inputs = vec![(place(sight.tree, level), tables)];
        Some(Cascade::new(sight.tree, inputs, level).plan(self.table_size()))
    }
}
