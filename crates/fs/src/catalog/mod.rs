//! Metadata of all files, as a value: no device, no time, no lock. The store on devices and the
//! store in a directory share it.
//!
//! The [`Catalog`] changes by [`Record`]s, in the order in which they stand in the journal. A
//! commit stages records on it, and a replay applies the same records to a snapshot. So the catalog
//! after a crash is the one from before it, without the transactions that were not durable yet. A
//! mount for writing then adds its epoch and the ends of unsealed logs.
//!
//! | part | what it is |
//! |---|---|
//! | [`Catalog`] | `state`: all files and names, and their snapshots |
//! | [`FileRecord`] | what is known of one file |
//! | [`ExtentMap`] | where a file's blocks are |
//! | [`Record`], `staging` | a change; how changes are applied, all of a transaction or none |
//! | [`Effects`] | what comes free once a transaction is durable |
//! | `zone_levels` | the levels of the files in each zone, for reclaim |
//! | the others | codecs of what records and snapshots are made of |
//!
//! # Invariants
//! - A file id that was committed is not used again. Neither is an epoch that a mount for writing
//!   has committed.
//! - Decoded records name blocks that the store has. Whether a zone may hold data is checked at
//!   mount. Two files that claim the same blocks are found by a check of the store; a mount finds
//!   them on a device without zones, or if the files of a zone have more blocks than are written.
//!
//! # Threads
//! None of its own: the owner locks it. On devices that is the journal, in a directory the volume.

mod annotation;
mod count;
mod effects;
mod extent;
mod extent_codec;
mod file;
mod file_codec;
mod kind;
mod log_codec;
mod name;
mod record;
mod staging;
mod state;
mod zone_levels;

pub use effects::{Deleted, Effects, Freed};
pub use extent::{Extent, ExtentMap, Mapped};
pub use file::{FileRecord, LogMark, LogRun};
pub use record::Record;
pub(crate) use staging::FIRST_SEQUENCE;
pub use state::Catalog;
pub use zone_levels::Levels;
pub(crate) use zone_levels::zones;
