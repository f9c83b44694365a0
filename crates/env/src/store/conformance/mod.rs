//! Conformance suite of [`Store`](super::Store): checks that an implementation of the trait can be
//! tested with.
//!
//! - [`run`] checks stores while they are open. It needs a function that makes empty stores.
//! - [`run_durable`] does the same, and also closes stores, ends their process or cuts their power,
//!   and checks the state that is found again. In the end it does random operations on a store and
//!   on [`MemoryStore`](super::MemoryStore), which is the model.
//!
//! | part | content |
//! |---|---|
//! | `suite` | the functions that run the checks |
//! | `files`, `changes`, `names`, `space` | checks of an open store |
//! | `durability` | checks of the state that is found again |
//! | `walk` | random operations |
//! | `subject` | a store that can be closed and opened again |
//! | `actions` | steps that the checks share |
//!
//! Each check has a new, empty store to which it alone writes. A check that fails panics,
//! and its name is printed to standard error.
//!
//! Not checked, because the contract leaves it open: reading an uncommitted file, deleting a file
//! that is being written, reading parts of trimmed blocks or anything of trimmed logs, and whether
//! unsynced bytes survive when a store is closed. Placement groups and the ranks of space are not
//! checked either.

mod actions;
mod changes;
mod durability;
mod files;
mod names;
mod space;
mod subject;
mod suite;
mod walk;

pub use subject::Subject;
pub use suite::{run, run_durable};
