//! The systems: each a row of choices - where tables go, what is merged, how space comes back - and
//! of their figures. One module to a system, which states its algorithm.

mod bluefs;
mod leveldb_greedy;
mod shape;
mod system;
mod text;

pub use shape::StoreShape;
pub use system::{Row, System};
pub use text::ParseSystemError;
