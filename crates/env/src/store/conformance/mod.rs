//! Conformance suite of [`Store`](super::Store): checks that every implementation is run through.
//!
//! [`run`] needs nothing but empty stores. [`run_durable`] also closes stores, ends their process,
//! cuts their power and looks at what is found again, and walks at random beside
//! [`MemoryStore`](super::MemoryStore), which serves as the model. A check that fails panics with
//! what was expected and what was found; the name of the check is printed to standard error, and no
//! further check is run.
//!
//! | part | what it holds |
//! |---|---|
//! | `suite` | the list of checks, and how they are run |
//! | `files`, `changes`, `names`, `space` | checks of an open store |
//! | `durability` | checks of what is found again |
//! | `walk` | the random walk |
//! | `subject` | a store that can be closed and opened again |
//! | `actions` | steps that the checks share |
//!
//! The checks are sparing: at most three files are written at a time, and less than 4 MiB are ever
//! in use. They hold in simulations and on threads. Each check has a new store for itself, with
//! nothing in it; the checks of space expect that nobody else writes to it.
//!
//! The suite leaves open whatever the contract leaves open: reading an uncommitted file, deleting a
//! file that is being written, reading parts of trimmed blocks or anything of trimmed logs, and
//! what becomes of unsynced bytes when a store is closed without a power cut.

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
