//! Opening: how an engine is found again in its store, and how its owners are put together.
//!
//! | question | answered in |
//! |---|---|
//! | which owners are there, and what is each given | `owners` |
//! | in which order does an opening go | `open` |
//! | what do the annotations of the files tell | `found` |
//! | how are logs read into memtables | `replay` |
//!
//! A store is claimed first: by one engine to write, or by any number to read. If another claim
//! excludes that, the opening fails. A read-only opening writes nothing.
//!
//! One thread opens, before the engine has actors.

mod found;
mod open;
mod owners;
mod replay;
#[cfg(test)]
mod rig;

pub use found::{is_unfinished_copy, mark_of_unfinished_copy, remembered_system};

#[cfg(test)]
pub(crate) use rig::Rig;
