//! Gear compaction as the authors' code does it, as far as that is known.
//!
//! 1. A compaction begins as in LevelDB, in the level with the highest score of at least 1. Of
//!    level 0 it takes the oldest run and those that overlap it. Of another level it takes the
//!    table at the pointer, with its neighbours ([`LeveledOptions::growth`]). These merge with the
//!    tables of the next level, i, in their range of keys, whether those are in its window or not.
//! 2. Level i + 1 joins if level i is full, and level i + 1 has 1/k of the limit *of level i*. Both
//!    count before the merge.
//! 3. Levels 1 and 2 are all window. From level 3 on, the window is the level's oldest zones: the
//!    number of its zones divided by k (`windows`), rounded down. It is chosen anew when some of
//!    its zones hold no more of it, or when it should have more zones.
//! 4. Data in the range of no table of level i + 1 is treated by [`Gaps::Together`]: between two
//!    tables of the window it goes on; elsewhere it is written to level i + 1 or stays. This also
//!    happens where level i + 1 does not join.
//! 5. If the level of step 1 is not level 0, the following is tried before the merge: a zone of the
//!    level goes down unread if no table of the level that begins in it overlaps the next level, no
//!    table of another level begins in it, and at most a quarter of it is unwritten. Then there is
//!    no merge.
//! 6. If no level is due, a table that point reads have searched without success is taken as by
//!    step 1, as in LevelDB ([`LeveledOptions::seek_cost`]).
//!
//! # Not known of the code, and chosen here
//! - A level without a table has no range, so nothing is dumped into it.
//! - Outputs are cut where they overlap `overlap_tables` tables of the next level, counted as
//!   LevelDB counts.
//! - A table in no known zone is a zone of its own, and does not go down by step 5.
//!
//! [`LeveledOptions::growth`]: crate::LeveledOptions::growth
//! [`LeveledOptions::seek_cost`]: crate::LeveledOptions::seek_cost

use terrace_env::FileId;

use super::cascade::{Cascade, oldest, place};
use super::division::Gaps;
use super::layout::{Layout, LevelZone};
use super::sight::Sight;
use super::state::NOWHERE;
use super::window::Window;
use super::{Gear, Inputs};
use crate::plan::{Cut, Merge, Plan};
use crate::tree::{Span, TreeView};

/// The last level that is all window.
const ALL_WINDOW: usize = 2;

/// The part of a zone that may be unwritten when it goes down is one in this many.
const UNWRITTEN_SHARE: u64 = 4;

impl Gear {
    pub(super) fn code(&self, sight: &mut Sight<'_>) -> Option<Plan> {
        let tree = sight.tree;
        let level = self.leveled.fullest(tree)?;
        let inputs = if level == 0 {
            self.level0_inputs(tree)?
        } else {
            if let Some(plan) = self.zone_down(sight, level, is_nearly_written) {
                return Some(plan);
            }
            let pointers = self.leveled.pointers(tree, &sight.state.pointers);
            let (tables, pointers) = self.leveled.turn(tree, &pointers, level)?;
            sight.state.pointers = pointers.encode();
            vec![(place(tree, level), tables)]
        };
        Some(self.code_from(sight, inputs, level))
    }

    /// Step 6.
    pub(super) fn code_after_seeks(&self, sight: &mut Sight<'_>, table: FileId) -> Option<Plan> {
        let tree = sight.tree;
        if let Some(run) = self.leveled.level0_run_of(tree, table) {
            let inputs = self.level0_inputs_of(tree, run)?;
            return Some(self.code_from(sight, inputs, 0));
        }
        let pointers = self.leveled.pointers(tree, &sight.state.pointers);
        let (level, tables, pointers) = self.leveled.after_seeks(tree, &pointers, table)?;
        sight.state.pointers = pointers.encode();
        Some(self.code_from(sight, vec![(place(tree, level), tables)], level))
    }

    /// A merge of these tables of a level into the next one, and on.
    fn code_from<'a>(&self, sight: &mut Sight<'a>, inputs: Inputs<'a>, level: usize) -> Plan {
        let tree = sight.tree;
        let mut cascade = Cascade::into(tree, inputs, level + 1);
        while cascade.level + 1 < self.levels(tree) {
            let joins = self.code_joins(tree, cascade.level);
            let window =
                if joins { self.code_window(sight, cascade.level + 1) } else { Window::none() };
            let fates = cascade.divided(&window, self.table_size(), Gaps::Together);
            if !cascade.go_on(fates, &window) {
                break;
            }
        }
        self.cut_like_leveldb(tree, cascade.plan(self.table_size()))
    }

    /// Step 2: whether the level after `level` takes part.
    fn code_joins(&self, tree: &TreeView, level: usize) -> bool {
        let limit = self.leveled.target(level);
        let least = limit / f64::from(self.options.windows);
        Self::size(tree, level) as f64 >= limit && Self::size(tree, level + 1) as f64 >= least
    }

    /// Step 3.
    fn code_window<'a>(&self, sight: &mut Sight<'a>, level: usize) -> Window<'a> {
        let run = oldest(sight.tree, level);
        let (zones, turn) = (sight.zones.of(level), &mut sight.state.turns[level]);
        if level <= ALL_WINDOW {
            turn.window.clear();
            return Window::whole(run);
        }
        let layout = Layout::of(run, zones);
        let count = layout.zones.len() / self.options.windows as usize;
        let window = Window::remembered(run, zones, turn);
        if count > 0 && window.zones(&layout) >= count {
            return window;
        }
        Window::of_oldest(&layout, count, turn)
    }

    fn cut_like_leveldb(&self, tree: &TreeView, plan: Plan) -> Plan {
        let Plan::Merge(Merge { inputs, mut routes, moves, set }) = plan else { return plan };
        let spans = inputs.iter().flat_map(|input| &input.parts).map(|part| part.span.clone());
        let Some(mut rest) = spans.reduce(|hull, span| hull.hull(&span)) else {
            return Plan::Merge(Merge { inputs, routes, moves, set });
        };
        for route in &mut routes {
            let end = route.end.clone().unwrap_or_else(|| rest.end.clone());
            let span = Span { start: rest.start.clone(), end: end.clone() };
            let cut = self.leveled.cut(tree, route.to.level.into(), &span);
            let keys = std::mem::take(&mut route.cut.keys);
            route.cut = Cut { keys, carry_overlap: true, ..cut };
            rest.start = end;
        }
        Plan::Merge(Merge { inputs, routes, moves, set })
    }
}

/// Step 5.
fn is_nearly_written(zone: &LevelZone<'_>) -> bool {
    let (Some(written), Some(capacity)) = (zone.written, zone.capacity) else { return false };
    zone.zone != NOWHERE && capacity.0 - written.0.min(capacity.0) <= capacity.0 / UNWRITTEN_SHARE
}
