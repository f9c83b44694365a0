//! Metadata of all files, as a pure value: no device, no time, no lock.
//!
//! The [`Catalog`] changes by [`Record`]s, in the order in which they stand in the journal. A
//! replay starts from a snapshot of it, and applies the same records that a commit staged. So the
//! catalog after a crash is by construction the one from before it, but for transactions that were
//! not durable yet; to that, a mount for writing adds its epoch and the ends of unsealed logs. The
//! store on zones and the store in a plain directory share it.
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
//! - The id of a file that was committed is never used again, and neither is an epoch that a mount
//!   for writing has committed.
//! - Records that are decoded name only blocks that the store has. Whether a zone may hold data is
//!   checked at mount. Whether two files claim the same blocks, a check of the store finds out; a
//!   mount notices that on a plain device, and in a zone of which more blocks are claimed than it
//!   has.
//! - Its owner locks it: in the store on zones the journal, in a directory the volume.

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
