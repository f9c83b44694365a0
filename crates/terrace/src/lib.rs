//! Terrace: a key-value store for zoned storage.
//!
//! ```
//! use terrace::{Bounds, Db, Options};
//!
//! # fn main() -> Result<(), terrace::Error> {
//! # let place = tempfile::tempdir().expect("a directory");
//! # let path = place.path().join("store");
//! let db = Db::open_directory(&path, Options::default())?;
//! db.put(b"apple", b"red")?;
//! db.put(b"banana", b"yellow")?;
//! assert_eq!(db.get(b"apple")?.as_deref(), Some(&b"red"[..]));
//! for entry in db.scan(Bounds::prefix(b"b"))? {
//!     let (key, value) = entry?;
//!     println!("{key:?} is {value:?}");
//! }
//! db.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Open
//! A [`Db`] is a store. It lies in a directory ([`Db::open_directory`]), on a device
//! ([`Db::create_device`], [`Db::open_device`]), in a file system that the user has mounted
//! ([`Db::open_fs`]), or in a [`Store`] of the user, such as a [`MemoryStore`] for tests
//! ([`Db::open`]). [`Options`] are for one opening. Each has a default; numbers have a range, and
//! [`limits`] gives the reason for its ends. The [`System`] chooses where tables go and how they
//! are merged, and can be another one at each opening. A store remembers the options that shape its
//! tables ([`TableOptions`]), and [`Db::set_table_options`] changes them.
//!
//! # Write
//! [`Db::put`], [`Db::delete`] and [`Db::delete_range`] make one write each. A [`Batch`] holds
//! several writes that are applied together or not at all. An [`Ingest`] takes sorted input of any
//! length into tables directly; its keys must come in order, each once.
//!
//! ```
//! # use std::sync::Arc;
//! # use terrace::{Batch, Db, MemoryStore, Options};
//! # fn main() -> Result<(), terrace::Error> {
//! # let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
//! let mut batch = Batch::new();
//! batch.put(b"ada", b"90").put(b"grace", b"110");
//! db.write(batch)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Write on a condition
//! [`Db::put_if`], [`Db::delete_if`] and [`Db::compare_and_swap`] write a key if it has an expected
//! value. A [`Transaction`] reads and writes any number of keys, in any key spaces. Its commit
//! applies all of its writes. If a key that it has read has been written since it began, the commit
//! fails with [`ErrorKind::Conflict`]. [`Db::transact`] repeats it until it succeeds.
//!
//! ```
//! # use std::sync::Arc;
//! # use terrace::{Db, MemoryStore, Options};
//! # fn main() -> Result<(), terrace::Error> {
//! # let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
//! assert!(db.put_if(b"leader", None, b"ada")?);
//! assert!(!db.put_if(b"leader", None, b"grace")?);
//! db.transact(|transaction| {
//!     let leader = transaction.get(b"leader")?.unwrap_or_default();
//!     transaction.put(b"former leader", &leader)?;
//!     transaction.put(b"leader", b"grace")
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # Read
//! [`Db::get`] returns a value, [`Db::contains`] says whether there is one, and [`Db::multi_get`]
//! returns the values of several keys at one moment. [`ReadOptions`] belong to a handle:
//! [`Db::with_read_options`] returns one with other options, for example one whose reads put no
//! blocks into the cache.
//!
//! [`Db::is_empty`] says whether a range, such as a prefix, is empty, and [`Db::size_of`] returns
//! the approximate bytes of its tables. Both mostly read no data.
//!
//! # Scan
//! [`Db::scan`] returns an iterator over a range of keys, from both ends. A [`Cursor`] seeks and
//! turns. [`Bounds`] are made from ranges of keys (`b"a".as_slice()..b"b"`), from `..` for all
//! keys, or from a prefix.
//!
//! # Snapshots
//! A [`Snapshot`] shows the store at one moment. It has the same reads, except for the salvage of
//! damaged tables. A key space that is dropped meanwhile is gone for it, too.
//!
//! # Key spaces
//! A [`KeySpace`] is an ordered map of its own. [`Db::create_key_space`] makes it, and
//! [`Db::key_space`] finds it. [`Db::create_key_space_with`] gives it options of its own, which the
//! store remembers: how its part of tables is made, and how long its entries stay. It has reads and
//! writes like those of the `Db`, which are for the key space `default`. A batch, a snapshot and an
//! ingest have a method `key_space` for writing to a key space or reading it. One batch may write
//! to several.
//!
//! ```
//! # use std::sync::Arc;
//! # use terrace::{Batch, Db, MemoryStore, Options};
//! # fn main() -> Result<(), terrace::Error> {
//! # let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
//! let accounts = db.create_key_space("accounts")?;
//! accounts.put(b"ada", b"90")?;
//! let before = db.snapshot();
//! let mut batch = Batch::new();
//! batch.key_space(&accounts).put(b"ada", b"120");
//! batch.put(b"last change", b"ada");
//! db.write(batch)?;
//! assert_eq!(before.key_space(&accounts)?.get(b"ada")?.as_deref(), Some(&b"90"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! # Durability
//! [`Durability`] is the event that a write is sure to survive once it has returned: a clean end,
//! the end of the process, or a power cut. [`Options::durability`] sets it for a store,
//! [`Db::with_durability`] for a handle, [`Db::write_with`] for a batch. [`Db::sync`] and
//! [`Db::close`] make all earlier writes durable.
//!
//! # Checkpoints and backups
//! [`Db::checkpoint_directory`], [`Db::checkpoint_device`] and [`Db::checkpoint`] copy a store
//! while it is written. The target must be empty; a device is formatted first and loses its data.
//! The copy is an independent store. [`Db::backup_directory`], [`Db::backup_device`] and
//! [`Db::backup`] make the same copy the first time. Later they bring it up to date, and copy only
//! new tables.
//!
//! # Errors
//! Calls that can fail return an [`Error`]. Its [`kind`](Error::kind) is for programs, its text for
//! people. A put that finds no space in the store is refused with an error that
//! [`is_space`](Error::is_space); deletes can still use space that is kept for them. A failure of
//! the medium that the store cannot avoid ends all writing. Reads go on, and [`Db::resume`] begins
//! again once the cause is gone. [`Db::stats`] and a [`Listener`] report the state and the events
//! of the store.
//!
//! # Futures
//! With the cargo feature `async`, `AsyncDb` and `AsyncKeySpace` have reads and writes as futures,
//! for any runtime.
//!
//! # Tracing
//! With the cargo feature `tracing`, flushes, compactions, stalls, failures and errors are events
//! of the crate `tracing`, with the target `terrace`. Those of jobs are in the span in which the
//! store was opened. [`Db::listen`] tells of the same without it.
//!
//! # Look from another process
//! Other processes can inspect a store that is opened with [`Options::live`](field@Options::live),
//! with the program or with [`live::Live`]. A [`Reader`] reads a store next to its writer without
//! asking it.
//!
//! # Expiry
//! An entry can have a date from which on it is unseen: [`Db::put_with_ttl`],
//! [`Db::put_with_expiry`], and the same of key spaces, batches, transactions and conditional puts.
//!
//! # Merge operators
//! [`Db::merge`] writes an operand, which the store combines with the value of the key by the
//! [operator](Options::merge_operator()) of its options, without a read. [`Counter`] adds numbers,
//! [`Append`] joins byte strings, and a [`MergeOperator`] is the user's own.
//!
//! # Devices
//! [`device`] has the contract of a [`Device`] and the [`Emulator`], a drive in memory or in a
//! sparse file. [`fs`] is the file system between the device and the store.
//!
//! # Threads
//! Any thread may call a `Db`; jobs run in threads of the store.

#[cfg(feature = "async")]
mod asynchronous;
mod batch;
mod below;
mod beside;
mod checkpoints;
mod conditional;
mod cursor;
mod cut_reader;
mod db;
pub mod device;
mod error;
mod error_kind;
mod expiring;
mod file_room;
pub mod fs;
mod identity;
mod ingest;
mod key_space;
mod key_spaces;
pub mod limits;
pub mod live;
mod merging;
mod name_turns;
mod named_annotation;
mod named_files;
#[cfg(test)]
mod named_files_tests;
mod named_writer;
mod opening;
mod options;
mod range_facts;
mod replacement;
mod salvage;
mod scan;
mod snapshot;
mod space_in_use;
#[cfg(feature = "tracing")]
mod tracer;
mod transaction;

#[cfg(feature = "async")]
pub use asynchronous::{AsyncDb, AsyncKeySpace, AsyncScan, Operation};
pub use batch::{Batch, BatchKeySpace};
pub use beside::{Reader, ReaderScan};
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
pub use space_in_use::SpaceInUse;
pub use terrace_env::store::{MemoryStore, StoreError};
pub use terrace_env::wait::{WaitCause, WaitStats, Waits};
pub use terrace_env::{ByteCount, Date, FileId, OutOfRange, ParseByteCountError, Store};
pub use terrace_fs::{CachePolicy, Devices, FormatOptions, Fs};
pub use terrace_lsm::{
    Append, BATCH_BYTES_MAX, Bounds, Checkpointed, CompactionFilters, Compression, Conflict,
    Counter, Durability, Error as EngineError, Event, Ingested, Job, JobStats, KEY_BYTES_MAX,
    KeySpaceId, KeySpaceOptions, LeftOut, LevelCompression, LevelStats, LevelWork, Listener,
    LostRange, MemoryStats, MergeKey, MergeOperator, MergeRefused, Operator, ParseCompressionError,
    ReadOptions, ReaderKind, ReaderStats, SpaceHolders, Stats, Swap, TableComparison, TableOptions,
    TableShape, VALUE_BYTES_MAX, Verified, WriteAmplification, Written, WrittenBytes,
};
pub use terrace_policy::{
    GearRepairs, GearVariant, LoadRule, MEMTABLES_KEPT, ParameterText, ParseSystemError, Row,
    System, Throttle, ZONES_KEPT,
};
pub use terrace_zone::{Device, DeviceError, Emulator, Geometry, GeometryError};
pub use transaction::{Transaction, TransactionKeySpace, TransactionScan};
