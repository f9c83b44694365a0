//! Opening: recovers an engine from its store, and connects its owners.
//!
//! | question | answered in |
//! |---|---|
//! | which owners are there, and which others does each need | `owners` |
//! | which steps does an opening take | `open` |
//! | which state do the annotations of files describe | `found` |
//! | how are logs read into memtables | `replay` |
//!
//! A store is claimed first: by one engine for writing, or by any number for reading. If another
//! claim excludes that, the opening fails. A read-only opening writes nothing.
//!
//! One thread opens, before the engine has actors.

mod found;
mod open;
mod owners;
mod replay;
#[cfg(test)]
mod rig;

pub use found::{backup_of, is_unfinished_copy, mark_of_unfinished_copy, remembered_system};

#[cfg(test)]
pub(crate) use rig::Rig;
