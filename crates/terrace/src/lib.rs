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
mod cursor;
mod db;
pub mod device;
mod error;
mod error_kind;
pub mod fs;
mod identity;
mod ingest;
mod key_space;
pub mod limits;
mod options;
mod salvage;
mod scan;
mod snapshot;

pub use batch::{Batch, BatchKeySpace};
pub use bytes::Bytes;
pub use cursor::Cursor;
pub use db::Db;
pub use error::Error;
pub use error_kind::ErrorKind;
pub use ingest::{Ingest, IngestKeySpace};
pub use key_space::KeySpace;
pub use options::Options;
pub use salvage::Salvage;
pub use scan::Scan;
pub use snapshot::{Snapshot, SnapshotKeySpace};
pub use terrace_env::store::{MemoryStore, StoreError};
pub use terrace_env::wait::{WaitCause, WaitStats, Waits};
pub use terrace_env::{ByteCount, FileId, OutOfRange, ParseByteCountError, Store};
pub use terrace_fs::{CachePolicy, Devices, FormatOptions, Fs};
pub use terrace_lsm::{
    BATCH_BYTES_MAX, Bounds, Checkpointed, Compression, Durability, Error as EngineError, Event,
    Ingested, Job, KEY_BYTES_MAX, KeySpaceId, LeftOut, LevelCompression, LevelStats, Listener,
    MemoryStats, ReadOptions, ReaderKind, ReaderStats, SpaceHolders, Stats, VALUE_BYTES_MAX,
    Verified, WriteAmplification, Written, WrittenBytes,
};
pub use terrace_policy::{MEMTABLES_KEPT, ParseSystemError, Row, System, ZONES_KEPT};
pub use terrace_zone::{Device, DeviceError, Emulator, Geometry, GeometryError};
