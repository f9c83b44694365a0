//! [`RowParts`]: the parts of a system: its name and summary, its parameters and their values,
//! how full its stores may be, and functions that make its deciders and the size of its tables.
//!
//! The functions must be pure: the same system and store give the same deciders, because a store
//! that is opened again has to go on where it was. They do not check the parameters:
//! [`System::check`] does.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::parameter::Parameter;
use super::parameters::{FIRST_KEYS, LOAD, REWRITE_MAX};
use super::{StoreShape, System};
use crate::{Compaction, Placement, Reclaim, ZonesSource};

/// Makes the compaction decider; the last argument tells a decider where tables lie.
pub(super) type Compacts = fn(&System, &StoreShape, Arc<dyn ZonesSource>) -> Arc<dyn Compaction>;

/// The parameters that every row has.
const OF_ALL_ROWS: &[Parameter] = &[FIRST_KEYS, LOAD, REWRITE_MAX];

/// Tables of a set, at least on average. With tables of 4 MiB a merge writes 5.5 to 6.3 of them
/// (`sealdb/fig10`); some sets lose a part before the rest.
pub(super) const TABLES_OF_A_SET: u64 = 4;

/// A row. Each system's module has one as its constant `PARTS`, and a system is added by such a
/// module and a name in [`Row`](super::Row), with its place in `ALL` and `parts`.
#[derive(Clone, Copy)]
pub(super) struct RowParts {
    /// Name of the system.
    pub(super) name: &'static str,
    /// The system in a line, for `--help`.
    pub(super) summary: &'static str,
    /// Loads and devices that the system is made for.
    pub(super) suits: &'static str,
    /// Its costs: weaknesses against other systems.
    pub(super) costs: &'static str,
    /// Largest share, in percent of the space [for data](StoreShape::for_data), up to which keys
    /// and values can be overwritten in random order without end.
    pub(super) live_max: u64,
    /// How many tables lie one after the other on a device without zones, on average and at least,
    /// when data has been overwritten for long: those that come free together.
    pub(super) tables_together: u64,
    /// The system with the parameters that are the row's own.
    pub(super) own: System,
    /// The parameters that it has in addition to [`OF_ALL_ROWS`], in lists. Others are neither read
    /// nor written.
    pub(super) parameters: &'static [&'static [Parameter]],
    /// Where files go.
    pub(super) placement: fn(&System) -> Arc<dyn Placement>,
    /// Which tables are merged.
    pub(super) compaction: Compacts,
    /// Which zones are emptied.
    pub(super) reclaim: fn(&System) -> Arc<dyn Reclaim>,
    /// The size of a table, where no parameter gives it.
    pub(super) table_size: fn(&System, &StoreShape) -> ByteCount,
}

impl RowParts {
    /// The parameters that the row has, by name in alphabetical order.
    pub(super) fn parameters(&self) -> Vec<&'static Parameter> {
        let of_row = self.parameters.iter().copied().flatten();
        let mut parameters: Vec<_> = of_row.chain(OF_ALL_ROWS).collect();
        parameters.sort_by_key(|parameter| parameter.name());
        parameters
    }
}
