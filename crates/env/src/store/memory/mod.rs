//! The fake of [`Store`](super::Store): everything is in memory, and tests can ask for faults that
//! a real store may have.
//!
//! # Fault model
//! - **Power cut** ([`MemoryStore::crash`]): committed transactions survive, with the bytes of the
//!   files that they sealed. A committed file that is not sealed keeps the synced bytes. Of later
//!   appends it keeps nothing, everything, or a random prefix, as [`CrashMode`] says; a log is cut
//!   between two appends. A file that was not committed is gone.
//! - **End of the process** ([`CrashMode::EndProcess`]): a log keeps all written bytes
//!   ([`write_out`](super::FileWriter::write_out)), and a random number of the appends that were
//!   only gathered. Other committed files keep all bytes. A file that was not committed is gone.
//! - **Failing operations** ([`MemoryStore::fail_at`]): an append, write-out, sync, finish, commit
//!   or read fails with [`StoreError::Io`](super::StoreError::Io) and has no effect. It fails once,
//!   or later operations that write fail, too.
//! - **Full medium** ([`MemoryStore::with_capacity`]): each rank must leave more space free than
//!   the rank before it. Bytes of deleted files that handles still hold are not free; if their
//!   bytes would suffice, the error is [`Busy`](super::StoreError::Busy). Trimmed blocks are free
//!   at once, although older readers still see them.
//! - **Delay** ([`MemoryStore::with_latency`]): appends, syncs, finishes, commits and reads take
//!   time, so that in a simulation others run meanwhile.
//!
//! Not modelled: corruption and lost zones, which belong to devices, and where files lie.
//!
//! # Threads
//! One lock for the store, and one for the bytes of each file; where both are taken, that of the
//! store comes first. No lock is held over a delay.
//!
//! # Modules
//! `store` is the store and its faults, `handles` its readers and writers, `catalog` its files and
//! their changes by transactions, `space` its capacity.

mod catalog;
mod handles;
mod space;
mod store;

pub use store::{CrashMode, Failure, Latency, MemoryStore};
