//! The systems: each is a row of deciders (where tables go, which tables are merged, how space
//! comes back) and their parameters.
//!
//! | file | content |
//! |---|---|
//! | one for each system | its algorithm in words, and its parts in one constant, `PARTS` |
//! | `leveldb` | the parts of LevelDB that most systems have |
//! | `parameter`, `parameters` | a parameter; those that systems have, with their ranges |
//! | `parameters_of_all` | those of all systems |
//! | `gear_parameters` | those of gear compaction alone |
//! | `parts` | the parts of a row |
//! | `row` | [`Row`]: the rows by name |
//! | `shape` | the store that parameters are fitted to |
//! | `system` | [`System`]: a row with chosen parameters, and its deciders |
//! | `text` | systems as text |
//! | `write_amplification` | how much a row's compactions write, in closed form |
//!
//! A store may be opened under another system, or with other parameters, each time. So a decider
//! must accept every legal tree, and any state of its own system. The name of a system is stored on
//! the medium: do not reuse the name of a removed one.

mod bluefs;
#[cfg(test)]
mod fuzz;
mod gear_parameters;
mod geardb;
mod level_separated;
mod leveldb;
mod leveldb_cost_benefit;
mod leveldb_disk;
mod leveldb_greedy;
mod leveldb_sets;
mod lifetime;
mod parameter;
mod parameters;
mod parameters_of_all;
mod parts;
mod row;
mod sealdb;
mod shape;
mod sliced;
mod smrdb;
mod smrdb_leveled;
mod system;
mod text;
mod tiered;
mod write_amplification;

pub use parameter::ParameterText;
pub use parts::RowParts;
pub use row::Row;
pub use shape::{MEMTABLES_KEPT, StoreShape, ZONES_KEPT};
pub use system::System;
pub use text::ParseSystemError;
