//! Tables: immutable files of sorted entries. The layout is `docs/format/table.md`.
//!
//! | question | answered in |
//! |---|---|
//! | how is a table written | `builder`, `block_builder`, `index_builder` |
//! | how are its parts stored | `frame`, `footer`, `partition`, `first_key`, `range_block` |
//! | how is a table opened and searched | `open`, `reader`, `index`, `filter`, `point_reads` |
//! | how is a table walked | `cursor`, `index_cursor`, `block_cursor`, `block` |
//! | how is a table read that is mapped into memory | `view` |
//! | how are blocks read ahead | `read_ahead`, `section` |
//! | how are the tables of an ingest read | `global_sequence` |
//! | how large is a range of a table | `sizes` |
//! | how is a damaged table read | `survey`, `inspect` |
//! | are whole tables written and read right (tests) | `specimens`, `range_specimens`, `shapes` |
//! | which damage of tables can be read (tests) | `fuzz` |
//!
//! # Invariants
//! - A table never changes. Bytes before the first of its segments may have been freed in the
//!   store.
//! - Entries are in the order of their internal keys, each once. The writer of the table must
//!   ensure this. Readers rely on it and do not check it.
//! - The checksum of a block is verified before the block is used.
//! - Range tombstones are stored separately from the entries. Searches and cursors do not look them
//!   up: the caller does, with [`Table::ranges`].
//!
//! # Errors
//! Damage is [`Error::Corruption`](crate::Error::Corruption). An unknown version, feature, number
//! of index levels or compression is [`Error::Unsupported`](crate::Error::Unsupported); an unknown
//! kind of entry counts as damage. A read that failed in the store is
//! [`Error::Store`](crate::Error::Store).
//!
//! # Threads
//! Any number of readers share a table. A builder and a cursor have one owner each. All of them may
//! wait for the device, so the caller holds no lock.

mod block;
mod block_builder;
mod block_cursor;
mod builder;
mod cursor;
#[cfg(test)]
mod expiry_specimens;
mod filter;
mod first_key;
mod footer;
mod frame;
#[cfg(test)]
mod fuzz;
pub(crate) mod global_sequence;
mod index;
mod index_builder;
mod index_cursor;
mod index_entries;
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
mod space_layouts;
#[cfg(test)]
mod specimens;
mod survey;
mod view;

pub use footer::Properties;
pub use inspect::{
    BlockEntries, DataBlock, Entry, FilterParameters, IndexEntry, IndexWalk, Part, RangeRecord,
    TableFile,
};

pub(crate) use builder::{BuiltTable, TableBuilder, TableLayout};
pub(crate) use cursor::TableCursor;
pub(crate) use filter::hash;
pub(crate) use global_sequence::GlobalSequenceCursor;
pub(crate) use open::tail_on_disk;
pub(crate) use point_reads::PointReads;
pub(crate) use reader::{Lookup, Table};
pub(crate) use space_layouts::SpaceLayouts;
pub(crate) use survey::Damage;
