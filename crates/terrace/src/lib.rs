//! Terrace: a key-value store for zoned storage.
//!
//! ```
//! # use std::sync::Arc;
//! use terrace::{Bounds, Db, MemoryStore, Options};
//!
//! # fn main() -> Result<(), terrace::Error> {
//! let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
//! db.put(b"apple", b"red")?;
//! db.put(b"banana", b"yellow")?;
//! db.sync()?;
//! assert_eq!(db.get(b"apple")?.as_deref(), Some(&b"red"[..]));
//! for entry in db.scan(Bounds::prefix(b"b"))? {
//!     let (key, value) = entry?;
//!     assert_eq!((&key[..], &value[..]), (&b"banana"[..], &b"yellow"[..]));
//! }
//! db.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! Layer 3: joins device, file system, policies and engine.

mod batch;
mod below;
mod db;
mod error;
mod identity;
mod ingest;
mod key_space;
pub mod limits;
mod options;
mod snapshot;

pub use batch::Batch;
pub use bytes::Bytes;
pub use db::Db;
pub use error::Error;
pub use ingest::Ingest;
pub use key_space::KeySpace;
pub use options::Options;
pub use snapshot::Snapshot;
pub use terrace_env::store::MemoryStore;
pub use terrace_env::wait::{WaitCause, WaitStats, Waits};
pub use terrace_env::{ByteCount, OutOfRange, Store};
pub use terrace_fs::{CachePolicy, FormatOptions, Fs};
pub use terrace_lsm::{
    BATCH_BYTES_MAX, Bounds, Checkpointed, Compression, Cursor, Durability, Event, Ingested, Job,
    KEY_BYTES_MAX, LeftOut, LevelCompression, LevelStats, Listener, MemoryStats, ReaderKind,
    ReaderStats, Salvage, Scan, SpaceHolders, Stats, VALUE_BYTES_MAX, Verified, WriteAmplification,
    Written, WrittenBytes,
};
pub use terrace_policy::{MEMTABLES_KEPT, ParseSystemError, Row, System, ZONES_KEPT};
