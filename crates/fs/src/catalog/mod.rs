//! The catalog: metadata of all files, as a value without device, time or lock. The store on
//! devices and the store in a directory each keep theirs in one.
//!
//! The [`Catalog`] changes by [`Record`]s. A commit stages the records of a transaction on it, and
//! a replay of the journal applies the same records in the same order to a snapshot.
//!
//! | part | content |
//! |---|---|
//! | [`Catalog`] | `state`: all files and names, and their snapshots |
//! | [`FileRecord`] | the record of one file |
//! | [`ExtentMap`] | where a file's blocks are |
//! | [`Record`], `staging` | a change; how changes are applied, all of a transaction or none |
//! | [`Effects`] | blocks and files that come free once a transaction is durable |
//! | `zone_levels` | the levels of the files in each zone, for reclaim |
//! | the others | codecs of the parts of records and snapshots |
//!
//! # Invariants
//! - The counter of file ids moves past the ids that records name, and the counter of epochs past
//!   those of mounts. So an id or epoch that is taken from a counter was not used before, unless it
//!   was given out and never recorded.
//! - Decoded records name blocks that the store has. Two files that claim the same blocks are not
//!   found here.

mod annotation;
mod count;
mod effects;
mod extent;
mod extent_codec;
mod file;
mod file_codec;
#[cfg(test)]
mod fuzz;
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
