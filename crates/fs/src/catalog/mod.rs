//! Metadata of all files, as a pure value: no device, no time, no lock.
//!
//! The [`Catalog`] changes only by [`Record`]s, in the order in which they stand in the journal. A
//! replay applies the same records that a commit stages, so the catalog after a crash is by
//! construction the one from before it. The store on zones and the store in a plain directory share
//! it.

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

pub use effects::{Effects, Freed};
pub use extent::{Extent, ExtentMap, Mapped};
pub use file::{FileRecord, LogMark, LogRun};
pub use record::Record;
pub(crate) use staging::FIRST_SEQUENCE;
pub use state::Catalog;
