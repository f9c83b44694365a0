//! The fake of [`Store`](super::Store): everything in memory, with the faults a real one can have.
//!
//! # Fault model
//! - **Power cut** ([`MemoryStore::crash`]): committed transactions survive whole and in order,
//!   with all bytes of the files they sealed. Of an unsealed file that was committed, everything
//!   synced survives, and of what was appended since, depending on [`CrashMode`], nothing,
//!   everything, or a random prefix: of a log cut between two appends, of any other file at any
//!   byte. A file that was not committed is gone. A transaction is durable at one instant within
//!   [`commit`](super::Store::commit): a cut during the call may fall before or after it.
//! - **The end of the process** ([`CrashMode::EndProcess`]): of a log, everything that was written
//!   ([`write_out`](super::FileWriter::write_out)) survives, and of what was only gathered a random
//!   number of appends; everything else that was committed survives as it is.
//! - **Failing operations** ([`MemoryStore::fail_at`]): an append, write-out, sync, finish, commit
//!   or read fails with [`StoreError::Io`](super::StoreError::Io) and has no effect, once or from
//!   then on; of the later ones, reads succeed. Other calls do not fail by plan.
//! - **A full medium** ([`MemoryStore::with_capacity`]): ranks run out of space one after another.
//!   Bytes that readers of deleted files hold are not free: [`Busy`](super::StoreError::Busy).
//!   (Whole blocks of 4096 bytes that were trimmed are free at once, although readers that are
//!   older than the trim still see them. Once the file is deleted, such a reader holds all of it.)
//! - **Delay** ([`MemoryStore::with_latency`]): appends, syncs, finishes, commits and reads take
//!   time, so that in a simulation others run while they are under way.
//!
//! Corruption and lost zones are not modelled: they belong to devices. Nor are places: a placement
//! group changes nothing.
//!
//! # Threads
//! One lock for the store, and one for the bytes of each file, which is taken after it. They are
//! held for a memory copy or a walk over the files, and never over a delay.
//!
//! # Modules
//! `store` is the store and its faults, `handles` its readers and writers, `catalog` its files and
//! what transactions do to them, `space` its capacity.

mod catalog;
mod handles;
mod space;
mod store;

pub use store::{CrashMode, Failure, Latency, MemoryStore};
