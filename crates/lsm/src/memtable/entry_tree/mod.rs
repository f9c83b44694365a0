//! The ordered set of entries inside a memtable: a B+-tree in two arenas, for nodes and for
//! entries. One writer at a time; readers take no lock. All unsafe code of this crate is here.
//!
//! | question | answered in |
//! |---|---|
//! | how is the memory of entries and nodes allocated and freed | `arena` |
//! | how is a node laid out, and how is it read while it is written | `node` |
//! | how are entries found, inserted and walked | `tree` |
//!
//! # Invariants
//! - No two entries have the same internal key; the caller ensures that.
//! - An inserted entry is not moved or removed: it is found until the tree is dropped, and its
//!   memory is freed then. A cursor keeps the tree alive.
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
