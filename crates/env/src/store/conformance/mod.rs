//! Conformance suite of [`Store`](super::Store): checks that any implementation can be tested with.
//!
//! - [`run`] needs empty stores.
//! - [`run_durable`] also closes stores, ends their process, cuts their power, and looks at what is
//!   found again. It also does random operations beside [`MemoryStore`](super::MemoryStore), which
//!   is the model.
//!
//! | part | content |
//! |---|---|
//! | `suite` | the list of checks, and how they are run |
//! | `files`, `changes`, `names`, `space` | checks of an open store |
//! | `durability` | checks of what is found again |
//! | `walk` | random operations |
//! | `subject` | a store that can be closed and opened again |
//! | `actions` | steps that the checks share |
//!
//! A check that fails panics with what was expected and what was found, and its name is printed to
//! standard error. The checks run on threads and in simulations. They need little space. Each has
//! a new, empty store that nobody else writes to.
//!
//! The suite does not check what the contract leaves open: reading an uncommitted file, deleting a
//! file that is being written, reading parts of trimmed blocks or anything of trimmed logs, and
//! unsynced bytes when a store is closed without a power cut. Nor does it check placement groups
//! and the ranks of space.

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
