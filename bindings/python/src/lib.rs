//! The module `terrace._terrace`: Terrace for Python. The package `terrace` re-exports it.
//!
//! | file | content |
//! |---|---|
//! | `db` | [`Db`](db::Db): opening, batches, snapshots, transactions, upkeep |
//! | `key_space` | reads and writes of one key space; `Db` inherits those of the default one |
//! | `batch`, `snapshot`, `transaction` | the classes of these names |
//! | `reader` | a store that another process writes, read without asking that process |
//! | `iterator` | walks over a range, with the calls of `plyvel` |
//! | `walk` | how the entries of a walk are fetched |
//! | `arrow_scan`, `arrow_put` | entries as streams of record batches, by Arrow's C interface |
//! | `filter` | functions that say which values compactions keep |
//! | `held`, `opened`, `closable` | handles of a store: their drop, their count, their `close` |
//! | `input` | keys and values from any object with a buffer |
//! | `ttl` | how long an entry is there |
//! | `counter` | values of counters as numbers |
//! | `view` | a value as a `memoryview`, without a copy |
//! | `module` | the module with its classes and functions |
//! | `options`, `error` | options by keyword; exceptions |
//!
//! The lock of the interpreter is released while the store works. All classes may be used from
//! several threads.

#![expect(
    clippy::disallowed_types,
    reason = "a thread has these locks while it waits for the store, which terrace_env's forbid"
)]

mod arrow_put;
mod arrow_scan;
mod batch;
mod closable;
mod counter;
mod db;
mod error;
mod filter;
mod held;
mod input;
mod iterator;
mod key_space;
mod module;
mod opened;
mod options;
mod reader;
mod snapshot;
mod transaction;
mod ttl;
mod view;
mod walk;
