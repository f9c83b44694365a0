//! Tables: immutable files of sorted entries. The layout is `docs/format/table.md`.
//!
//! | question | answered in |
//! |---|---|
//! | how is a table written | `builder`, `block_builder`, `index_builder`, `filter` |
//! | how is a table opened and searched | `open`, `reader`, `index`, `partition`, `point_reads` |
//! | how is a table walked | `cursor`, `read_ahead`, `section`, `walk`, `global_sequence` |
//! | how is a damaged table read | `survey`, `inspect` |
//!
//! # Invariants
//! - A table never changes. Which ranges of it still count is the business of `tree`.
//! - A block is verified when it is read from the file; damage is
//!   [`Error::Corruption`](crate::Error::Corruption).
//!
//! # Threads
//! Any number of readers share a table. A builder and a cursor have one owner each.

mod block;
mod block_builder;
mod block_cursor;
mod builder;
mod compression;
mod cursor;
mod filter;
mod footer;
mod frame;
pub(crate) mod global_sequence;
mod index;
mod index_builder;
mod index_cursor;
mod inspect;
mod open;
mod partition;
mod point_reads;
mod range_block;
#[cfg(test)]
mod range_specimens;
mod read_ahead;
mod reader;
mod section;
#[cfg(test)]
mod shapes;
mod sizes;
#[cfg(test)]
mod specimens;
mod survey;
mod walk;

pub use compression::{Compression, LevelCompression};
pub use footer::Properties;
pub use inspect::{
    BlockEntries, DataBlock, FilterParameters, IndexEntry, IndexWalk, Part, RangeRecord, TableFile,
};

pub(crate) use builder::{BuiltTable, TableBuilder, TableLayout};
pub(crate) use cursor::TableCursor;
pub(crate) use filter::hash;
pub(crate) use global_sequence::GlobalSequenceCursor;
pub(crate) use point_reads::PointReads;
pub(crate) use reader::{Lookup, Table};
pub(crate) use survey::Damage;
pub(crate) use walk::Walk;
