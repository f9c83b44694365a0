//! Memory: one budget for the memory of an engine, and the parts that are dropped to keep within
//! it.
//!
//! | question | answered in |
//! |---|---|
//! | how much memory does each part use | `memory` |
//! | which data blocks stay in memory | `cache` |
//! | which parts of open tables stay in memory | `resident` |
//! | which chunks of memtables are used again | `memtable_chunks` |
//! | which buffers of scans are used again | `scan_buffers` |
//! | which buffers of large batches and values are used again | `large_buffers` |
//! | is a table walked for a client or for a job | `walk` |
//!
//! # Shares
//! The budget is divided when an engine is opened: memtables, log, jobs, scans, reads. Open tables
//! and the block cache divide the share of reads: the cache gets the memory that open tables do not
//! use. Indexes get what the other parts of open tables do not use, and never drop these: a read
//! asks the filters of many tables, and then needs the index of one.
//!
//! Reads also have the share of jobs while none runs, and the memory that memtables do not use.
//!
//! If a share is used up, the effect depends on its use. Writers wait for a flush if the memtables'
//! share is used up, and for the device if the log's is. Jobs and scans read ahead less, and free
//! large blocks while they do not need them; jobs have fewer tables open. Parts of tables and data
//! blocks are dropped, and read again when they are needed.
//!
//! # Invariants
//! - A share is a target and not a hard limit: one block, partition or batch in use is held even if
//!   it does not fit. So the peak can exceed the budget.
//! - The order of calls decides which parts are dropped, not addresses or chance.
//!
//! # Threads
//! Any number. Nothing here waits for the device or for memory: a caller asks how much there is,
//! and waits itself. A reader that finds an index or a filter in memory takes no lock; a lookup in
//! the block cache takes the lock of a shard.
//!
//! `docs/memory.md` tells users which memory counts.

mod cache;
mod large_buffers;
#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod memory;
mod memtable_chunks;
mod resident;
mod scan_buffers;
mod walk;

pub use memory::MemoryStats;

pub(crate) use large_buffers::{LargeBuffer, LargeBuffers};
pub(crate) use memory::{JobShare, Memory, writer_bytes};
pub(crate) use memtable_chunks::MemtableChunks;
pub(crate) use resident::{Glance, Owner, Part, PartClass, Slot};
pub(crate) use scan_buffers::ScanBuffers;
pub(crate) use walk::Walk;
