//! Writing: how a batch becomes durable and visible.
//!
//! | question | answered in |
//! |---|---|
//! | how do writers queue, and how does one of them lead | `write_lane` |
//! | which calls does a writer make | `writer` |
//! | how is a group of batches written | `group` |
//! | when is a conditional write refused | `guard`, `changes`, `read_set`, `key_ranges` |
//! | how does a group get room in memory and in the log | `room` |
//! | how is the log written and read again | `log` |
//! | how is the next log made before it is needed | `preallocated_log` |
//! | when is data written out without a sync | `gathering` |
//! | how does a memtable become tables, and which of them go below level 0 | `flush`, `intake` |
//! | how does sorted input become tables without a log | `ingest` |
//! | how do writes go on after a failure | `resume` |
//!
//! # The way of a batch
//! 1. The writer puts its batch into the queue of the write lane. If no writer leads, the writer
//!    takes the lead. Otherwise it waits until its batch is answered or the lead is free.
//! 2. The leader takes batches from the front of the queue as one group. Its own batch may be in a
//!    later group.
//! 3. If batches of the group have guards, the leader checks these and refuses batches whose guard
//!    does not hold. It may write the others in several parts. The next steps are for each part, or
//!    for the group.
//! 4. The leader makes room. It may sleep because the jobs are late, wait for a flush, reserve
//!    space, or begin a new memtable with a new log.
//! 5. The leader gives each entry its sequence number and appends the group to the log, except for
//!    the batches that go to no log.
//! 6. If a batch of the group asks for it, the leader syncs the log or writes it out to the medium.
//! 7. The leader inserts the entries into the active memtable, and then makes the whole group
//!    visible to readers.
//! 8. The leader answers the group and gives the lead back.
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
//! Any thread writes. The lock of the lane's queue is held for short accesses, and not while the
//! log or the memtable is written: the lead is a role, and a leader may wait for the device.

mod changes;
mod flush;
mod gathering;
mod group;
mod guard;
mod ingest;
mod intake;
mod key_ranges;
pub(crate) mod log;
mod preallocated_log;
mod read_set;
pub(crate) mod resume;
mod room;
#[cfg(test)]
mod tests;
mod write_lane;
mod writer;

pub use ingest::{Ingest, Ingested};

pub(crate) use flush::Flusher;
pub(crate) use gathering::Gathering;
pub(crate) use group::GroupWriter;
pub(crate) use guard::Guard;
pub(crate) use intake::Intake;
pub(crate) use key_ranges::KeyRanges;
pub(crate) use log::{ActiveLog, ReplayFrom, ReplayedLog};
pub(crate) use preallocated_log::PreallocatedLogs;
pub(crate) use read_set::ReadSet;
pub(crate) use room::Room;
pub(crate) use write_lane::WriteLane;
pub(crate) use writer::Writer;
