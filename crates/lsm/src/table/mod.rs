//! Tables: immutable files of sorted entries. The layout is `docs/format/table.md`.

mod block;
mod block_builder;
mod block_cursor;
mod builder;
mod compression;
mod cursor;
mod filter;
mod footer;
mod frame;
mod range_block;
#[cfg(test)]
mod range_specimens;
mod reader;
#[cfg(test)]
mod specimens;

pub use compression::{Compression, LevelCompression};

pub(crate) use builder::{BuiltTable, TableBuilder, TableLayout};
pub(crate) use cursor::{TableCursor, Walk};
pub(crate) use filter::hash;
pub(crate) use footer::Properties;
pub(crate) use reader::Table;
