//! The module `terrace._terrace`: Terrace for Python. The package `terrace` re-exports it.
//!
//! | file | content |
//! |---|---|
//! | `db` | [`Db`](db::Db): opening, batches, snapshots, transactions, upkeep |
//! | `key_space` | reads and writes of one key space; `Db` inherits those of the default one |
//! | `batch`, `snapshot`, `transaction` | the classes of these names |
//! | `iterator` | walks over a range, with the calls of `plyvel` |
//! | `input` | keys and values from any object with a buffer |
//! | `ttl` | how long an entry is there |
//! | `view` | a value as a `memoryview`, without a copy |
//! | `module` | the module with its classes and functions |
//! | `options`, `error` | options by keyword; exceptions |
//!
//! The lock of the interpreter is released while the store works. All classes may be used from
//! several threads.

mod batch;
mod db;
mod error;
mod input;
mod iterator;
mod key_space;
mod module;
mod options;
mod snapshot;
mod transaction;
mod ttl;
mod view;
