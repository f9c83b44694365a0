//! Memory: one budget for what an engine holds, and what is dropped to keep to it.
//!
//! | question | answered in |
//! |---|---|
//! | how much is used, and for what | `memory` |
//! | which data blocks stay in memory | `cache` |
//! | which parts of open tables stay in memory | `resident` |
//! | on whose behalf is a table walked | `walk` |
//!
//! # Shares
//! The budget is divided when an engine is opened: memtables, log, jobs, scans, reads. Open tables
//! and the block cache divide the share of reads between them: the cache gets what open tables
//! leave.
//!
//! What happens when a share is used up depends on its use. Writers wait for a flush if the
//! memtables' share is used up, and for the device if the log's is. Jobs and scans read ahead less,
//! and give large blocks back while they do not need them; jobs have fewer tables open. Parts of
//! tables and data blocks are dropped, and read again when they are needed.
//!
//! # Invariants
//! - A share is a target and no wall: one block, partition or batch that is in use is held even if
//!   it does not fit. So the peak can lie above the budget.
//! - Which parts are dropped depends on the order of calls, and not on addresses or chance.
//!
//! # Threads
//! Any number. Nothing here waits for the device or for memory: a caller asks how much there is,
//! and waits by itself. A reader that finds an index or a filter in memory takes no lock; a look
//! into the block cache takes the lock of a shard.
//!
//! `docs/memory.md` lists for users what counts and what does not.

mod cache;
#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod memory;
mod resident;
mod walk;

pub use memory::MemoryStats;

pub(crate) use memory::{Memory, writer_bytes};
pub(crate) use resident::{Glance, Owner, Part, Slot};
pub(crate) use walk::Walk;
