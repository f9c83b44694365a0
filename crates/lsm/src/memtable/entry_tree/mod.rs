//! The ordered set of entries inside a memtable: a B+-tree in an arena, with one writer at a time
//! and readers that take no lock. All unsafe code of this crate is here.
//!
//! | question | answered in |
//! |---|---|
//! | where do entries and nodes lie, and when are they freed | `arena` |
//! | what is in a node, and how is it read while it is written | `node` |
//! | how is an entry found, put in, gone on from | `tree` |
//!
//! Why a tree and not a skip list: `docs/decisions/0010-memtable-tree.md`.

mod arena;
mod node;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use arena::RECORD_BYTES;
pub(crate) use node::LEAF_ENTRY_BYTES;
pub(crate) use tree::{EntryCursor, EntryTree, NewEntry, Window};
