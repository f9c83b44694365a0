//! Writing: how a batch becomes durable and visible.
//!
//! | question | answered in |
//! |---|---|
//! | what is a batch, as clients build it and as the log holds it | `batch`, `batch_bytes` |
//! | how do writers queue, and how does one of them lead | `write_lane` |
//! | how is a group of batches written | `write` |
//! | where does a group find room in memory and in the log | `room` |
//! | how are writers slowed down when the jobs are behind | `throttle` |
//! | how is the log written and read again | `log` |
//! | how is the next log made before it is needed | `preallocated_log`, `predecessor` |
//! | when is data written out that nobody has synced | `gathering` |
//! | how does sorted input become tables without a log | `ingest` |
//!
//! # The way of a batch
//! 1. The writer puts its batch into the queue of the write lane. If nobody leads, the writer takes
//!    the lead. Otherwise it waits until its batch is answered or the lead is free.
//! 2. The leader takes batches from the front of the queue as one group. Its own batch may be in a
//!    later group.
//! 3. The leader makes room for the group. It may sleep because the jobs are behind, wait for a
//!    flush, set space aside, or begin a new memtable with a new log.
//! 4. The leader gives each entry its sequence number and appends the group to the log, but for the
//!    batches that go to no log.
//! 5. If a batch of the group asks for it, the leader syncs the log or hands it to the medium.
//! 6. The leader inserts the entries into the active memtable, and then makes the whole group
//!    visible to readers.
//! 7. The leader answers the group and gives the lead back.
//!
//! # Invariants
//! - The order of sequence numbers is the order of the log.
//! - The batches of a group that go to the log are one append: after a power cut the log has all of
//!   them or none. If the group is refused for lack of space, its deletes are tried again as a
//!   group of their own.
//! - No write is durable without the earlier writes that go to the log. A batch that goes to no log
//!   becomes durable with the flush of its memtable.
//! - Readers see no entry that goes to the log before it is appended. They may see it before it is
//!   durable. A batch whose sync failed is visible, although its writer got an error.
//! - The commit of a memtable's flush deletes the memtable's log. If an opening reads a large log
//!   in parts, the log goes with the last part.
//! - The leader answers every batch of its group, also when it panics.
//!
//! # Threads
//! Any thread writes. The lock of the lane's queue is held for a look or a change, but not while
//! the log or the memtable is written: the lead is a role, and a leader may wait for the device.

mod batch;
mod batch_bytes;
pub(crate) mod gathering;
mod ingest;
pub(crate) mod log;
pub(crate) mod preallocated_log;
mod predecessor;
mod room;
mod throttle;
mod write;
mod write_lane;

pub use batch::{BATCH_BYTES_MAX, Batch};
pub use ingest::{Ingest, Ingested};

pub(crate) use batch::{Entry, FrozenBatch, HEADER_BYTES};
pub(crate) use gathering::Gathering;
pub(crate) use log::{ActiveLog, ReplayFrom, ReplayedLog};
pub(crate) use preallocated_log::PreallocatedLogs;
pub(crate) use predecessor::Predecessor;
pub(crate) use throttle::Throttle;
pub(crate) use write_lane::WriteLane;
