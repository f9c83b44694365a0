//! Calls of a store as futures ([`AsyncDb`]), with the cargo feature `async`. No runtime is needed
//! or known: a future works in any, and is woken by its waker.
//!
//! A future submits its operation at its first poll. Actors of the store do the operations: two for
//! reads, one for writes, four for other calls, started when there is an operation for them. Ten
//! thousand futures can wait at once, and need no thread each.
//!
//! | part | content |
//! |---|---|
//! | `answer` | the place where an actor leaves an answer, and wakes the future |
//! | `waiting` | the operations that wait, and the decision which of them an actor does next |
//! | `submissions` | the actors, from their start to their end |
//! | `turns` | how an actor does the operations of a turn |
//! | `operation` | the future of an operation |
//! | `async_db`, `async_key_space` | the calls |
//! | `async_scan` | scans, page by page |
//!
//! The folder is above the engine, which knows no futures.

mod answer;
mod async_db;
mod async_key_space;
mod async_scan;
mod operation;
mod submissions;
mod turns;
mod waiting;

pub use async_db::AsyncDb;
pub use async_key_space::AsyncKeySpace;
pub use async_scan::AsyncScan;
pub use operation::Operation;

pub(crate) use submissions::Submissions;
