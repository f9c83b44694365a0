//! Memtables: the newest writes, in memory and in key order.
//!
//! | question | answered in |
//! |---|---|
//! | how is a memtable read and written | `memtable` |
//! | which answers has a search for a key | `found` |
//! | how are its entries kept in order while they are read | `entry_tree` |
//! | which memtables wait for their flush | `flush_queue` |
//!
//! # The life of a memtable
//! 1. It is *active*: the leader of each group of writes inserts the entries of the group. (An
//!    opening inserts the entries of a log.)
//! 2. When it is full, or must be flushed for another reason, such as a call of a client, a new
//!    memtable takes its place. From then on it is immutable, and it waits for its flush.
//! 3. A flush writes entries to tables: those that a reader may still see, and deletes that may
//!    hide older entries. The commit of the flush takes the memtable out of the view. Its memory is
//!    freed when the last reader drops it.
//!
//! # Invariants
//! - A memtable only grows. No entry is removed or changed: a delete is a separate entry, and an
//!   overwritten value stays until the memtable is dropped.
//! - Internal keys (key space, user key, sequence number, kind) are unique. Among the entries of a
//!   user key, the newest comes first.
//! - For each key, the entries of a memtable are newer than those of older memtables and of the
//!   tree. (An ingest first flushes memtables that may hold its keys.)
//! - A memtable may hold entries that readers do not see yet: a reader skips entries that are newer
//!   than its sequence.
//! - A memtable counts its memory in the engine's budget, range tombstones included.
//!
//! # Threads
//! One thread at a time inserts. Any number of readers walk through the same memtable meanwhile,
//! without a lock.

mod entry_tree;
mod flush_queue;
mod found;
#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod memtable;

pub(crate) use flush_queue::{FlushQueue, FlushQueueGuard, ImmutableMemtable};
pub(crate) use found::Found;
pub(crate) use memtable::{ENTRY_BYTES, MemoryCursor, Memtable};
