//! [`RowParts`]: the parts of a system: its name and summary, its parameters and their values,
//! how full its stores may be, and functions that make its deciders and the size of its tables.
//!
//! The functions must be pure: the same system and store give the same deciders, because a store
//! that is opened again has to go on where it was. They do not check the parameters:
//! [`System::check`] does.
//!
//! Rows are compared, ordered and printed by their names, so no two may have the same.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use terrace_env::ByteCount;

use super::parameter::Parameter;
use super::parameters_of_all;
use super::{StoreShape, System};
use crate::{Compaction, Placement, Reclaim, ZonesSource};

/// Makes the compaction decider; the last argument tells a decider where tables lie.
type Compacts = fn(&System, &StoreShape, Arc<dyn ZonesSource>) -> Arc<dyn Compaction>;

/// Tables of a set, at least on average. With tables of 4 MiB a merge writes 5.5 to 6.3 of them
/// (`sealdb/fig10`); some sets lose a part before the rest.
pub(super) const TABLES_OF_A_SET: u64 = 4;

/// A row. Each system's module has one as its `PARTS`. A row of another crate is a
/// [`Row::Custom`](super::Row::Custom) of its parts:
///
/// ```
/// use std::sync::Arc;
/// use terrace_policy::{
///     LastResort, Leveled, LeveledOptions, LogStructured, Row, RowParts, System,
/// };
///
/// static PARTS: RowParts = RowParts {
///     name: "own",
///     summary: "leveled, with the sizes of the library",
///     suits: "an example",
///     costs: "no parameter changes its levels",
///     live_max: 50,
///     tables_together: 1,
///     io_size: RowParts::IO_SIZE,
///     own: System { row: Row::Custom(&PARTS), ..System::of(Row::Bluefs) },
///     parameters: &[],
///     placement: |_| Arc::new(LogStructured),
///     compaction: |_, _, _| Arc::new(Leveled::new(LeveledOptions::default())),
///     reclaim: |_| Arc::new(LastResort),
///     table_size: |_, store| store.memtable_size,
/// };
/// assert_eq!(System::of(Row::Custom(&PARTS)).to_string(), "own");
/// ```
#[derive(Clone, Copy)]
pub struct RowParts {
    /// Name of the system. A store remembers it.
    pub name: &'static str,
    /// The system in a line, for `--help`.
    pub summary: &'static str,
    /// Loads and devices that the system is made for.
    pub suits: &'static str,
    /// Its costs: weaknesses against other systems.
    pub costs: &'static str,
    /// Largest share, in percent of the space [for data](StoreShape::for_data), up to which keys
    /// and values can be overwritten in random order without end.
    pub live_max: u64,
    /// How many tables lie one after the other on a device without zones, on average and at least,
    /// when data has been overwritten for long: those that come free together.
    pub tables_together: u64,
    /// Size of the requests of flushes and compactions, where memory suffices
    /// ([`System::io_size`]).
    pub io_size: ByteCount,
    /// The system with the parameters that are the row's own.
    pub own: System,
    /// The parameters that it has in addition to those of all rows, in lists. Others are neither
    /// read nor written. Parameters are made in this crate alone: rows of other crates have none
    /// here.
    pub parameters: &'static [&'static [Parameter]],
    /// Where files go.
    pub placement: fn(&System) -> Arc<dyn Placement>,
    /// Which tables are merged.
    pub compaction: Compacts,
    /// Which zones are emptied.
    pub reclaim: fn(&System) -> Arc<dyn Reclaim>,
    /// The size of a table, where no parameter gives it.
    pub table_size: fn(&System, &StoreShape) -> ByteCount,
}

impl RowParts {
    /// The usual [`io_size`](field@Self::io_size).
    pub const IO_SIZE: ByteCount = ByteCount::mib(2);

    /// The parameters that the row has, by name in alphabetical order.
    pub(super) fn parameters(&self) -> Vec<&'static Parameter> {
        let of_row = self.parameters.iter().copied().flatten();
        let mut parameters: Vec<_> = of_row.chain(parameters_of_all::ALL).collect();
        parameters.sort_by_key(|parameter| parameter.name());
        parameters
    }
}

impl PartialEq for RowParts {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for RowParts {}

impl PartialOrd for RowParts {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RowParts {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl Hash for RowParts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for RowParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
