//! The LSM-tree engine over a [`Store`](terrace_env::Store): batches, log, memtable, tables,
//! compaction, reads and recovery.
//!
//! | question | answered in |
//! |---|---|
//! | how is a write made durable and visible | `writing` |
//! | how does sorted input become tables directly | `writing` |
//! | how are the newest entries kept in order | `memtable` |
//! | how is a key found, and how are keys walked in order | `reading` |
//! | what is left of damaged tables | `reading` |
//! | what does the tree hold, how does it change, how is it found again | `tree` |
//! | how are key spaces made and dropped | `tree` |
//! | what is in a table, and how is it read and written | `table` |
//! | how do memtables become tables, and tables other tables | `jobs` |
//! | how is a store copied while it is written | `jobs` |
//! | how are whole ranges of keys deleted | `ranges` |
//! | how much memory is used, and for what | `memory` |
//! | what do clients call | `engine`, `options`, `limits`, `error` |
//! | what is a key, and a range of keys | `key`, `bounds` |
//! | which entries of a table do only snapshots keep | `old_versions` |
//! | what do the engine's actors share | `shared`, `role` |
//! | does the engine work, has it failed, or is it closing | `lifecycle` |
//! | how does the engine go on after a failure | `resume` |
//! | what is counted, and told | `counters`, `stats`, `lifetime`, `event` |
//! | what is in a file, whole or damaged | [`inspect`] |
//! | what helps tests and simulations | `canary`, `cost`, `golden` |
//!
//! Which tables are merged is decided by `terrace_policy`. The engine does not know zones or
//! addresses. The formats on the medium are described in `docs/format/` (`keys`, `batch`, `table`,
//! `annotation`).

mod bounds;
pub mod canary;
mod cost;
mod counters;
mod engine;
mod error;
mod event;
#[cfg(test)]
mod golden;
pub mod inspect;
mod jobs;
mod key;
mod lifecycle;
mod lifetime;
pub mod limits;
mod memory;
mod memtable;
mod old_versions;
mod options;
mod ranges;
mod reading;
mod resume;
mod role;
mod shared;
mod stats;
mod table;
mod table_options;
mod tree;
mod writing;

pub use bounds::Bounds;
pub use engine::Engine;
pub use error::Error;
pub use event::{Event, Job, Listener};
pub use jobs::{CheckpointProgress, Checkpointed};
pub use key::{KEY_BYTES_MAX, KeySpaceId, Kind, VALUE_BYTES_MAX};
pub use lifetime::{LevelWork, Written, WrittenBytes};
pub use memory::MemoryStats;
pub use options::{Durability, EngineOptions, ReadOptions};
pub use reading::Cursor;
pub use reading::Scan;
pub use reading::Snapshot;
pub use reading::Verified;
pub use reading::{LeftOut, Salvage};
pub use reading::{ReaderKind, ReaderStats, SpaceHolders};
pub use stats::{LevelStats, Stats, WriteAmplification};
pub use table::{Compression, LevelCompression, ParseCompressionError};
pub use table_options::{TableOptions, TableShape};
pub use tree::{LostRange, is_unfinished_copy, mark_of_unfinished_copy, remembered_system};
pub use writing::{BATCH_BYTES_MAX, Batch};
pub use writing::{Ingest, Ingested};
