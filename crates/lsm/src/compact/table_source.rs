//! [`TableSource`]: creates the tables of a job, with the job's rank, cause, reservation, placement
//! group and use of the offload device, and says whether the job may open one more table.
//!
//! One table may always be open. Another one may be opened if the job's limit of open tables,
//! memory, and its reservation (open zones and space) allow it now. A job without a reservation has
//! one table open at a time; it takes the space that its rank may take, and fails if that is not
//! enough.
//!
//! It does not decide when a table ends. One actor at a time uses it.

use std::sync::Arc;

use terrace_env::store::{CreateOptions, FileKind, PlacementGroup, Rank, Reservation, Store};
use terrace_env::{ByteCount, Cause};
use terrace_policy::Route;

use crate::Error;
use crate::counters::Count;
use crate::memory::Memory;
use crate::options::ShapeOptions;
use crate::table::{SpaceLayouts, TableBuilder, TableLayout};
use crate::tree::table_hint;

/// The most tables that a job has open at once. Each takes memory for its writes, and may take an
/// open zone. A cascade through all levels has five destinations.
pub(crate) const TABLES_OPEN_MAX: usize = 8;

/// Divisor of its cut for the excess of a table: its last entry and the rest of a block.
const OVERSHOOT_SHARE: u64 = 32;

/// See the [module](self).
pub(crate) struct TableSource {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: ShapeOptions,
    pub(crate) memory: Arc<Memory>,
    /// The most bytes of a table's histogram, as the decider asks.
    pub(crate) histogram_max: ByteCount,
    /// The last level that is not empty.
    pub(crate) last_level: u8,
    pub(crate) rank: Rank,
    pub(crate) cause: Cause,
    /// Space for the job's worst case. A job without it takes the space that its rank may, and
    /// fails if that is not enough.
    pub(crate) reservation: Option<Arc<Reservation>>,
    /// The group of the tables, if they are a set.
    pub(crate) group: Option<Arc<PlacementGroup>>,
    /// Whether the tables may lie on the store's offload device.
    pub(crate) offload: bool,
    /// Bytes that the job may write before it ends at its next key.
    pub(crate) budget: ByteCount,
    /// The most bytes of all its tables together.
    pub(crate) worst: ByteCount,
    /// The most tables open at once.
    pub(crate) tables_open: usize,
    /// Counter of bytes that are written and not committed.
    pub(crate) discarded: Arc<Count>,
}

impl TableSource {
    /// Begins a table. `written`: the bytes of the job's tables so far.
    pub(crate) fn begin(&self, route: &Route, written: u64) -> Result<TableBuilder, Error> {
        let left = self.worst.0.min(self.budget.0).saturating_sub(written);
        let writer = self.store.create(&CreateOptions {
            kind: FileKind::Table,
            hint: table_hint(route.to.level, route.stream),
            size: Some(ByteCount(whole(route).min(left))),
            rank: self.rank,
            reservation: self.reservation.as_deref(),
            group: self.group.as_deref(),
            offload: self.offload,
            cause: self.cause,
        })?;
        let (level, last) = (route.to.level, self.last_level);
        let layout = TableLayout::of(&self.options, level, last);
        let layout = layout.with_histogram(self.histogram_max, route.cut.size);
        let builder = TableBuilder::new(writer, layout, &self.memory.jobs);
        Ok(builder.with_spaces(SpaceLayouts::new(&self.options, level, last)))
    }

    /// Whether the job may open a table in addition to `open` others: whether there are memory,
    /// open zones and space for it now. The first table is always allowed. `largest`: bytes of the
    /// job's largest table.
    pub(crate) fn may_open_beside(&self, open: usize, largest: u64) -> bool {
        let most = self.worst.0.min(self.budget.0);
        let size = if self.group.is_some() { most } else { largest.min(most) };
        let admits =
            |reservation: &Arc<Reservation>| reservation.admits(open as u32 + 1, ByteCount(size));
        open == 0
            || (open < self.tables_open
                && self.memory.has_room_for_table()
                && self.reservation.as_ref().is_some_and(admits))
    }
}

/// The most bytes of a table of a route.
pub(crate) fn whole(route: &Route) -> u64 {
    route.cut.size.0.saturating_add(route.cut.size.0 / OVERSHOOT_SHARE)
}
