//! The fake of [`Store`](super::Store): everything in memory, with faults that a real store can
//! have.
//!
//! # Fault model
//! - **Power cut** ([`MemoryStore::crash`]): committed transactions survive, with the bytes of the
//!   files that they sealed. A committed file that is not sealed keeps what was synced. Of what was
//!   appended since, it keeps nothing, everything, or a random prefix, as [`CrashMode`] says; a log
//!   is cut between two appends. A file that was not committed is gone.
//! - **End of the process** ([`CrashMode::EndProcess`]): a log keeps what was written
//!   ([`write_out`](super::FileWriter::write_out)), and a random number of appends that were only
//!   gathered. Everything else that was committed survives.
//! - **Failing operations** ([`MemoryStore::fail_at`]): an append, write-out, sync, finish, commit
//!   or read fails with [`StoreError::Io`](super::StoreError::Io) and has no effect. It fails once,
//!   or from then on; in the second case later reads succeed.
//! - **Full medium** ([`MemoryStore::with_capacity`]): ranks run out of space one after another.
//!   Bytes that readers of deleted files hold are not free: [`Busy`](super::StoreError::Busy).
//!   Trimmed blocks are free at once, although older readers still see them.
//! - **Delay** ([`MemoryStore::with_latency`]): appends, syncs, finishes, commits and reads take
//!   time, so that in a simulation others run meanwhile.
//!
//! Not modelled: corruption and lost zones, which belong to devices, and the places of files.
//!
//! # Threads
//! One lock for the store, and one for the bytes of each file, which is taken after it. No lock is
//! held over a delay.
//!
//! # Modules
//! `store` is the store and its faults, `handles` its readers and writers, `catalog` its files and
//! what transactions do to them, `space` its capacity.

mod catalog;
mod handles;
mod space;
mod store;

pub use store::{CrashMode, Failure, Latency, MemoryStore};
