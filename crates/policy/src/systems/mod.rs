//! The systems: each a row of choices - where tables go, what is merged, how space comes back - and
//! of their parameters. One module to a system, which states its algorithm and gives its parts in
//! one constant.

mod bluefs;
mod geardb;
mod level_separated;
mod leveldb;
mod leveldb_cost_benefit;
mod leveldb_greedy;
mod lifetime;
mod parameter;
mod parts;
mod shape;
mod system;
mod text;
mod tiered;

use parts::RowParts;
pub use shape::{MEMTABLES_KEPT, StoreShape, ZONES_KEPT};
pub use system::{Row, System};
pub use text::ParseSystemError;
