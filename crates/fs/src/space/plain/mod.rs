//! The pool of a device without zones, plain or of shingled tracks. A *region*, which one writer
//! appends to, is a run of blocks.
//!
//! | part | task |
//! |---|---|
//! | [`PlainPool`] | joins the others under one lock |
//! | `free_map` | which runs of blocks are free: by number and by length |
//! | `guard` | on shingled tracks: the blocks after a run that must be free while it is written |
//! | `governor` | how many blocks each rank leaves to others, and reservations |
//! | `gathering` | on shingled tracks: which files are moved so that free runs become one |
//! | `state` | the state under the lock; which run a writer gets |
//! | `pool` | the interface for writers |
//! | `journal_space` | stretches for the journal |
//!
//! # Invariants
//! - A block is free, pinned, leased, lost to a failed medium, or has one owner: a file, the
//!   journal or the superblock. A block of a guard is free, or belongs to a lease, the journal or
//!   the superblock. [`PlainPool::audit`] compares the counts with the owners.
//! - Files leave as many stretches whole for the journal as `governor` says. If fewer are whole
//!   already, they break none.
//!
//! # Threads
//! One lock in [`PlainPool`]; free map, guard, governor and state have none, and are used under it.
//! No call uses the device.

mod free_map;
mod gathering;
mod governor;
mod guard;
mod journal_space;
mod plain_pool;
mod pool;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use gathering::Span;
pub(crate) use plain_pool::{Holds, Part, PlainPool, Used, check_size};
