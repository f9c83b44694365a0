//! Options of an engine, as values.
//!
//! | question | answered in |
//! |---|---|
//! | which options are there, and what is their default | `options` |
//! | which of them shape tables, and are remembered by the store | `table_options` |
//! | which values do compactions keep | `filters` |
//! | how is the memory budget shared out | `shares` |
//!
//! No locks and no I/O.

mod filters;
#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod options;
mod shares;
mod table_options;

pub use filters::CompactionFilters;
pub use options::{Durability, EngineOptions, ReadOptions};
pub use table_options::{TableOptions, TableShape};

pub(crate) use filters::Keep;
pub(crate) use shares::Shares;
