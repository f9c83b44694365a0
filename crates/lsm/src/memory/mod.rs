//! Memory: one budget for all that an engine holds, and what is dropped to keep to it.
//!
//! | question | answered in |
//! |---|---|
//! | how is the budget shared out, and who counts | `memory` |
//! | which data blocks stay in memory | `cache` |
//! | which parts of open tables stay in memory | `resident` |
//!
//! # Shares
//! The budget is divided when an engine is opened: memtables, log, jobs, scans, reads. Open tables
//! and block cache divide the share of reads as they need it: the cache has what open tables leave,
//! a quarter at least. Each kind of use has a gauge. An owner takes a lease on the gauge and
//! allocates, and drops both together; the block cache counts its blocks itself.
//!
//! The kind of use decides what happens at the end of a share. Writers wait for a flush if the
//! memtables' share is used up, and for the device if the log's is. Jobs and scans read ahead less.
//! Parts of tables and data blocks are dropped, and read again when they are needed.
//!
//! # Invariants
//! - A share is a target, not a wall: one block, one partition or one batch that is in use is held
//!   though it does not fit. So the peak may lie above the budget by what is in use at once.
//! - Dropped parts can be read again. Dropping costs time and never changes an answer, unless the
//!   device fails to read them again.
//! - The choice of evicted parts depends on the order of calls alone, not on addresses or chance.
//!   Simulations of the same seed read the same blocks.
//!
//! # Threads
//! Any number. Nothing here waits for the device or for memory: a caller asks, and waits by itself.
//! Gauges are atomic; the block cache locks one of its shards for a look, and all of them, one by
//! one, when its size changes; the clock over parts of tables has one lock, which a reader that
//! finds its part in memory does not take.
//!
//! # Not done here
//! The memory of the store below (its catalog and caches) is counted there. `docs/memory.md` lists
//! for users what counts and what does not.

mod cache;
#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod memory;
mod resident;

pub use memory::MemoryStats;

pub(crate) use memory::{MEMTABLE_SIZE_MIN, Memory, Shares, writer_bytes};
pub(crate) use resident::{Glance, Owner, Part, Slot};
