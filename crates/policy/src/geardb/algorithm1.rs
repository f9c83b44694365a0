//! Algorithm 1 as the paper prints it (section 3.3), without repairs.
//!
//! 1. A compaction begins when level 0 has `level0_runs` runs. The oldest run, and those that
//!    overlap it, merge with the tables of level 1 in their range of keys. Level 1 is all window.
//! 2. Level i + 1 joins if level i reaches its limit with the bytes that the merge brings, and
//!    level i + 1 has 1/k of its own limit, which is the size of its window (equation 2).
//! 3. A window is whole zones in rotation, enough to hold 1/k of the level's limit. The next zones
//!    follow when it is empty.
//! 4. The merged data is divided as printed: [`Gaps::Printed`].
//!
//! # Outcome
//! - As long as level 2 is empty, it has no window and does not join, so these compactions put
//!   nothing there. Level 1 then grows with the store, and a compaction rewrites the tables that it
//!   overlaps there.
//! - In a store that another variant has filled, compactions do reach deeper levels. But data
//!   collects above the first level that has less than 1/k of its limit. It also collects above a
//!   level whose window is left with tables that no input overlaps, because such a window is not
//!   renewed.
//! - There is no rule that gathers live data out of zones that are mostly dead.

use terrace_env::ByteCount;

use super::Gear;
use super::cascade::{Cascade, oldest};
use super::division::Gaps;
use super::layout::Layout;
use super::sight::Sight;
use super::window::{LastZone, Window};
use crate::plan::Plan;

impl Gear {
    pub(super) fn algorithm1(&self, sight: &mut Sight<'_>) -> Option<Plan> {
        let tree = sight.tree;
        if tree.runs(0).len() < self.options.leveled.level0_runs {
            return None;
        }
        let mut cascade = Cascade::into(tree, self.level0_inputs(tree)?, 1);
        while cascade.level + 1 < self.levels(tree) && self.algorithm1_joins(sight, &cascade) {
            let window = self.algorithm1_window(sight, cascade.level + 1);
            let fates = cascade.divided(&window, self.table_size(), Gaps::Printed);
            if !cascade.go_on(fates, &window) {
                break;
            }
        }
        Some(cascade.plan(self.table_size()))
    }

    /// Step 2.
    fn algorithm1_joins(&self, sight: &Sight<'_>, cascade: &Cascade<'_>) -> bool {
        let next = cascade.level + 1;
        self.becomes_full(sight.tree, cascade)
            && Self::size(sight.tree, next) >= self.algorithm1_window_size(next).0
    }

    /// Equation 2.
    fn algorithm1_window_size(&self, level: usize) -> ByteCount {
        ByteCount((self.leveled.target(level) / f64::from(self.options.windows)) as u64)
    }

    /// Step 3.
    fn algorithm1_window<'a>(&self, sight: &mut Sight<'a>, level: usize) -> Window<'a> {
        let run = oldest(sight.tree, level);
        let (zones, turn) = (sight.zones.of(level), &mut sight.state.turns[level]);
        let mut window = Window::remembered(run, zones, turn);
        if window.tables.is_empty() {
            let layout = Layout::of(run, zones);
            let wanted = self.algorithm1_window_size(level);
            window.turn_on(&layout, turn, wanted, LastZone::Whole, |_| true);
        }
        window
    }
}
