//! Layer 2: the LSM-tree engine over a [`Store`](terrace_env::Store).
//!
//! | question | answered in |
//! |---|---|
//! | how is a write made durable and visible | `write`, `room`, `throttle`, `log`, `memtable` |
//! | who writes out what gathers in the log | `gathering` |
//! | how are the newest entries kept in order | `memtable`, `entry_tree` |
//! | how is a key found | `snapshot`, `version`, `table` |
//! | how are keys gone through in order | `scan`, `cursor`, `merge` |
//! | what is left of damaged tables | `salvage` |
//! | how do memtables become tables | `flush`, `rewrite` |
//! | how do tables become other tables | `compaction`, `inputs`, `rewrite` |
//! | how are key spaces made and dropped | `spaces` |
//! | how do ranges of keys go at once | `ranges`, `covered` |
//! | how do large merges go by pieces | `merging`, `slice`, `worker` |
//! | how does the tree change | `edit`, `shared` |
//! | how is it found again | `recovery`, `annotation` |
//! | how does it go on after a failure | `resume` |
//! | what is left of it once it is closed | `closed` |
//! | how does sorted input become tables directly | `ingest`, `stamp` |
//! | how is a store copied while it is written | `checkpoint` |
//! | who is told of what happens | `event` |
//! | what was written in a store's life | `lifetime` |
//! | who keeps space from coming free | `readers` |
//! | what is in a file, whole or damaged | [`inspect`] |
//!
//! What is on the medium is described in `docs/format/` (`keys`, `batch`, `table`, `annotation`).
//! Which tables are merged is decided by `terrace_policy`.
//!
//! lsm does not know zones or devices.

mod annotation;
mod batch;
mod batch_bytes;
mod below;
mod bounds;
mod cache;
pub mod canary;
mod checkpoint;
mod closed;
mod compaction;
mod cost;
mod counters;
mod covered;
mod cursor;
mod edit;
mod engine;
mod entry_tree;
mod error;
mod event;
mod flush;
mod gathering;
#[cfg(test)]
mod golden;
mod handle;
mod ingest;
mod inputs;
pub mod inspect;
mod job;
mod key;
mod lifetime;
pub mod limits;
mod log;
mod log_ahead;
mod memory;
mod memtable;
mod merge;
mod merging;
mod options;
mod outputs;
mod predecessor;
mod ranges;
mod readers;
mod recovery;
mod relink;
mod resident;
mod resume;
mod retention;
mod rewrite;
mod role;
mod room;
mod run;
mod run_cursor;
mod salvage;
mod scan;
mod shared;
mod slice;
mod snapshot;
mod spaces;
mod split_tables;
mod stamp;
mod stats;
mod table;
mod throttle;
mod verify;
mod version;
mod worker;
mod write;
mod write_lane;

pub use batch::{BATCH_BYTES_MAX, Batch};
pub use bounds::Bounds;
pub use checkpoint::{CheckpointProgress, Checkpointed};
pub use cursor::Cursor;
pub use engine::Engine;
pub use error::Error;
pub use event::{Event, Job, Listener};
pub use ingest::{Ingest, Ingested};
pub use key::{KEY_BYTES_MAX, KeySpaceId, Kind, VALUE_BYTES_MAX};
pub use lifetime::{Written, WrittenBytes};
pub use memory::MemoryStats;
pub use options::{Durability, EngineOptions};
pub use readers::{ReaderKind, ReaderStats, SpaceHolders};
pub use recovery::remembered_system;
pub use salvage::{LeftOut, Salvage};
pub use scan::Scan;
pub use snapshot::Snapshot;
pub use stats::{LevelStats, Stats, WriteAmplification};
pub use table::{Compression, LevelCompression};
pub use verify::Verified;
