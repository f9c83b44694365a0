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
//!    the lead; otherwise it waits until its batch is answered or the lead is free.
//! 2. The leader takes the batches at the front of the queue, about a MiB of them, as one group.
//!    The group may be without the leader's own batch. It makes room: it may sleep because the tree
//!    is behind, it may wait for a flush, and it may begin a new memtable with a new log.
//! 3. The leader gives each entry its sequence number and appends the group to the log, but for the
//!    batches that go to no log.
//! 4. If a batch of the group asks for it, the leader syncs the log or hands it to the medium.
//! 5. The leader inserts the entries into the active memtable and then moves the newest visible
//!    sequence to the last of them. Readers see the group from here on.
//! 6. The leader answers the group and gives the lead back.
//!
//! # Invariants
//! - The order of sequence numbers is the order of the log. The batches of a group that go to the
//!   log are one append: after a power cut the log has all of them or none. When a group is refused
//!   for lack of space, its deletes are tried again as a group of their own.
//! - No later write is durable without all earlier writes that go to the log. Before a log takes
//!   its first append, the log before it is synced or, if it was given up, its memtable is flushed.
//!   An ingest syncs the log before it commits its tables.
//! - A batch that goes to no log takes its sequences and its place in the memtable like the others,
//!   and leaves a gap in the sequences of the log. The flush of its memtable makes it durable.
//! - Readers see no entry that goes to the log before it is appended. An append may be in the
//!   memory of the process only. A batch whose sync failed is visible, although its writer got an
//!   error.
//! - The active memtable has one log, and each full memtable has another one. A full memtable and
//!   its log go together, in the transaction of the flush. One exception: when an opening reads a
//!   large log in parts, each part gets a memtable, and the last one takes the log along.
//! - The leader answers every batch of its group, also when it panics.
//!
//! # Threads
//! Any thread writes. The lock of the lane's queue is held for a look or a change only, never while
//! the log or the memtable is written: the lead is a role, and a leader may wait for the device.
//! Lock order: the lane's queue before the state of the engine.
//!
//! # Not done here
//! This folder does not write memtables to tables and does not choose what is compacted (`jobs`),
//! and it does not know how entries are kept in order (`memtable`). The one part of it that puts
//! tables into the tree is `ingest`.

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
