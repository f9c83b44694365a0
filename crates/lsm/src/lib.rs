//! The LSM-tree engine over a [`Store`](terrace_env::Store): batches, log, memtable, tables,
//! compaction, reads and recovery.
//!
//! | question | answered in |
//! |---|---|
//! | how is an engine recovered from its store | `opening` |
//! | which calls and options do clients have | `engine`, `options`, `limits`, `error` |
//! | how is a store copied, and backed up, while it is written | `checkpoint` |
//! | which writes belong together, and with which bytes | `batch` |
//! | how does a write become durable and visible, and come to tables | `write` |
//! | how does sorted input become tables directly | `write` |
//! | how is a key found, and how are keys walked in order | `read` |
//! | which entries of damaged tables can be read | `read` |
//! | how do tables become other tables | `compact` |
//! | how do several reads and writes take effect at once | `transactions` |
//! | is there enough space, and how are writers slowed down | `space` |
//! | how do memtables and runs become one order | `merge` |
//! | which tables does the tree hold, and how does it change | `tree` |
//! | how are key spaces made and dropped | `tree` |
//! | how is a table laid out, read and written | `table`, `compression` |
//! | how are the newest entries kept in order | `memtable` |
//! | how are whole ranges of keys deleted, and which are known to be empty | `ranges` |
//! | how much memory does each part use | `memory` |
//! | which readers are there, and how old are they | `readers` |
//! | how are keys and ranges of keys represented | `key`, `bounds` |
//! | which entries of a table do only snapshots keep | `old_versions` |
//! | when does an entry expire, and which tables have such entries | `expiry`, `expiries` |
//! | how are operands combined to a value | `operands` |
//! | does the engine work, has it failed, or is it closing | `lifecycle` |
//! | which jobs are running, and how far are they | `running` |
//! | which counts and events exist | `counters`, `stats`, `lifetime`, `lifetime_sums`, `event` |
//! | how much space will deletes free | `deleted` |
//! | how is a file decoded for people, whole or damaged | [`inspect`] |
//! | which modules are for tests and simulations | `canary`, `cost`, `golden`, `planless` |
//!
//! `terrace_policy` decides which tables are merged. The engine does not know zones or addresses.
//! The formats on the medium are described in `docs/format/` (`keys`, `batch`, `table`,
//! `annotation`).
//!
//! # Order
//! A module imports only from modules of its own line and of later lines; `cargo xtask tidy` checks
//! it. So an owner does not call the owners that use it: it returns its result, and the caller
//! notifies others.
//!
//! 1. `opening`
//! 2. `engine`
//! 3. `checkpoint`, `transactions`
//! 4. `read`
//! 5. `write`
//! 6. `compact`
//! 7. `space`
//! 8. `stats`, `deleted`, `inspect`
//! 9. `merge`
//! 10. `tree`
//! 11. `table`
//! 12. `memtable`
//! 13. `ranges`
//! 14. `batch`
//! 15. `lifecycle`, `running`
//! 16. `event`, `memory`, `lifetime_sums`
//! 17. `counters`, `options`, `bounds`
//! 18. `error`, `expiry`, `key`, `operands`
//! 19. `readers`, `lifetime`, `compression`, `limits`, `old_versions`, `expiries`,
//!     `cost`, `canary`
//!
//! # Locks
//! No lock is held over a call to the store, or over a wait other than for its own condition.
//! Order, outermost first: write lane (the lock of the empty ranges is taken within it), flush
//! queue, board, space, tree, lifecycle. The other owners' locks are not held together with these,
//! except with the lifecycle's lock.

mod batch;
mod bounds;
pub mod canary;
mod checkpoint;
mod compact;
mod compression;
mod cost;
mod counters;
mod deleted;
mod engine;
mod error;
mod event;
mod expiries;
mod expiry;
#[cfg(test)]
mod golden;
pub mod inspect;
mod key;
mod lifecycle;
mod lifetime;
mod lifetime_sums;
pub mod limits;
mod memory;
mod memtable;
mod merge;
mod old_versions;
mod opening;
mod operands;
mod options;
#[cfg(test)]
mod planless;
mod ranges;
mod read;
mod readers;
mod running;
mod space;
mod stats;
mod table;
mod transactions;
mod tree;
mod write;

pub use batch::{BATCH_BYTES_MAX, Batch};
pub use bounds::Bounds;
pub use checkpoint::{CheckpointProgress, Checkpointed, TableComparison};
pub use compression::{Compression, LevelCompression, ParseCompressionError};
pub use engine::Engine;
pub use error::{Conflict, Error};
pub use event::{Event, Job, Listener};
pub use key::{KEY_BYTES_MAX, KeySpaceId, Kind, VALUE_BYTES_MAX};
pub use lifetime::{LevelWork, Written, WrittenBytes};
pub use memory::MemoryStats;
pub use opening::{backup_of, is_unfinished_copy, mark_of_unfinished_copy, remembered_system};
pub use operands::{Append, Counter, MergeKey, MergeOperator, MergeRefused, Operator};
pub use options::{
    CompactionFilters, Durability, EngineOptions, KeySpaceOptions, ReadOptions, TableOptions,
    TableShape,
};
pub use read::Cursor;
pub use read::Scan;
pub use read::Snapshot;
pub use read::Verified;
pub use read::{LeftOut, Salvage};
pub use readers::{ReaderKind, ReaderStats, SpaceHolders};
pub use running::JobStats;
pub use stats::{LevelStats, Stats, WriteAmplification};
pub use transactions::{Swap, Transaction, TransactionScan};
pub use tree::KeySpaceEntry;
pub use tree::LostRange;
pub use write::{Ingest, Ingested};
