//! Memory: one budget for all that an engine holds, and what is dropped to keep to it.
//!
//! | question | answered in |
//! |---|---|
//! | how is the budget shared out, and who counts | `memory` |
//! | which data blocks stay in memory | `cache` |
//! | which parts of open tables stay in memory | `resident` |
//!
//! # Shares
//! The budget is divided when an engine is opened: memtables, log, jobs, scans, open tables, block
//! cache. Each share has a gauge; a lease on the gauge lives as long as the bytes that it counts.
//! Nothing is allocated here: an owner takes a lease, allocates, and drops both together.
//!
//! The kind of use decides what happens at the end of a share. Writers wait for a flush if the
//! memtables' share is used up. Jobs and scans read ahead less. Parts of tables and data blocks are
//! dropped, and read again when they are needed.
//!
//! # Invariants
//! - A share is a target, not a wall: one block, one partition or one batch that is in use is held
//!   though it does not fit. So the peak may lie above the budget by what is in use at once.
//! - Dropped parts can be read again; dropping changes time, never an answer.
//! - The choice of evicted parts depends on the order of calls alone, not on addresses or chance.
//!   Simulations of the same seed read the same blocks.
//!
//! # Threads
//! Any number. Gauges are atomic; the block cache locks one of its shards for a look; the clock
//! over parts of tables has one lock, which a reader that finds its part in memory does not take.
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
