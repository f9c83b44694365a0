//! [`Store`]: the interface between a key-value engine and the keeper of its files.
//!
//! A store keeps *files*: byte strings that grow by appends until they are *sealed*. The bytes of a
//! sealed file do not change; parts of it can be given back (*trimmed*). The set of files, their
//! names and their annotations change by a [`Transaction`], which is applied as a whole or not at
//! all, and is durable when [`Store::commit`] succeeds. Appended bytes become durable by
//! [`FileWriter::sync`], or by the transaction that seals the file.
//!
//! | implementation | where |
//! |---|---|
//! | [`MemoryStore`], the fake, with its fault model | here |
//! | files on zones, and files in a plain directory | the `fs` crate |
//!
//! [`conformance`] has checks for implementations. A store that differs from another one in some
//! calls can be a [`Layer`] on it.
//!
//! # Invariants
//! - A file has at most one writer at a time. A sealed file takes no more bytes.
//! - Others find a file once a transaction has created or sealed it. Without such a transaction the
//!   file is gone with its writer.
//! - A reader goes on reading a file that is deleted or trimmed after it was opened. (For trimmed
//!   logs this is left open.)
//! - The id of a committed file is not used again, not even after a power cut. Later files have
//!   larger ids.
//!
//! # Threads
//! All calls may come from any actor. A call may wait, so the caller must hold no lock. Commits of
//! several actors take effect one after the other, in an order that the store chooses.
//!
//! # Modules
//! `contract` has the traits; `transaction`, `annotation`, `error`, `group`, `joint_read`,
//! `pending_read`, `early_flush` and `read_buf` have values that go through them; `layer` is a
//! store on another one; `by_cause` says how counts are serialised.

mod annotation;
mod by_cause;
pub mod conformance;
mod contract;
mod early_flush;
mod error;
mod group;
mod joint_read;
mod layer;
pub mod memory;
mod pending_read;
mod read_buf;
mod transaction;

pub use annotation::{Annotation, PlacementHint};
pub use contract::{
    CacheCounts, CreateOptions, FileInfo, FileKind, FileReader, FileWriter, IoCounts, LogSpace,
    MappedFile, Rank, Reservation, ReservedSpace, SpaceInfo, Store,
};
pub use early_flush::EarlyFlush;
pub use error::StoreError;
pub use group::{GroupOptions, GroupSpace, PlacementGroup};
pub use joint_read::JointRead;
pub use layer::Layer;
pub use memory::{CrashMode, Failure, Latency, MemoryStore};
pub use pending_read::{PendingRead, ReadUnderWay};
pub use read_buf::ReadBuf;
pub use transaction::{Change, Transaction};
