//! [`Store`]: the seam between the engine and whatever keeps its files.
//!
//! A store keeps *files*: byte strings that are appended to, sealed, and then only read, trimmed
//! and deleted. All changes of metadata go through a [`Transaction`], which is applied as a whole
//! or not at all, and is durable when [`Store::commit`] succeeds. Appended bytes become durable by
//! [`FileWriter::sync`], or by the transaction that seals the file.
//!
//! | implementation | where |
//! |---|---|
//! | [`MemoryStore`], the fake, with its fault model | here |
//! | files on zones, and files in a plain directory | the `fs` crate |
//!
//! [`conformance`] has the checks that implementations must pass. A store that differs from another
//! one in some calls is a [`Layer`] on it.
//!
//! # Invariants
//! - A file has at most one writer at a time, and none once it is sealed.
//! - Others find a file once a transaction has created or sealed it. Without such a transaction the
//!   file is gone with its writer.
//! - A reader goes on reading a file that is deleted or trimmed after it was opened. (For trimmed
//!   logs this is left open.)
//! - Ids grow, with gaps, and are not reused, not even after a power cut.
//!
//! # Threads
//! All calls may come from any actor. Reads, writes, commits and reservations may wait, so the
//! caller must hold no lock. Commits of several actors take effect one after the other, in an order
//! that the store chooses.
//!
//! # Modules
//! `contract` has the traits, `transaction`, `annotation`, `error`, `group`, `pending_read` and
//! `read_buf` the values that go through them, `layer` a store on another, `by_cause` how counts
//! look in JSON.

mod annotation;
mod by_cause;
pub mod conformance;
mod contract;
mod error;
mod group;
mod layer;
pub mod memory;
mod pending_read;
mod read_buf;
mod transaction;

pub use annotation::{Annotation, PlacementHint};
pub use contract::{
    CacheCounts, CreateOptions, FileInfo, FileKind, FileReader, FileWriter, IoCounts, LogSpace,
    Rank, Reservation, ReservedSpace, SpaceInfo, Store,
};
pub use error::StoreError;
pub use group::{GroupOptions, GroupSpace, PlacementGroup};
pub use layer::Layer;
pub use memory::{CrashMode, Failure, Latency, MemoryStore};
pub use pending_read::{PendingRead, ReadUnderWay};
pub use read_buf::ReadBuf;
pub use transaction::{Change, Transaction};
