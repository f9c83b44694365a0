//! Options of an engine, as values.
//!
//! | question | answered in |
//! |---|---|
//! | which options are there, with which defaults | `options` |
//! | which of them shape tables, and are remembered by the store | `table_options` |
//! | which options can a key space have of its own | `key_space_options` |
//! | which key spaces have some, and how do jobs make tables | `space_options` |
//! | which values do compactions keep | `filters` |
//! | how is the memory budget divided | `shares` |
//!
//! No locks and no I/O.

mod filters;
mod key_space_options;
#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod options;
mod shares;
mod space_options;
mod table_options;

pub use filters::CompactionFilters;
pub use key_space_options::KeySpaceOptions;
pub use options::{Durability, EngineOptions, ReadOptions};
pub use table_options::{TableOptions, TableShape};

pub(crate) use filters::Keep;
pub(crate) use shares::Shares;
pub(crate) use space_options::{ShapeOptions, SpaceOptions};
