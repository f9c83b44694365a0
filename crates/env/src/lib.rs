//! Layer 0, the lowest crate: time, dates, randomness, threads and locks for the crates above it,
//! and values that they share.
//!
//! A store that takes these things from here alone can run on real threads, and unchanged as
//! simulated actors on a virtual clock ([`runner`]). [`Store`] is the interface between a key-value
//! engine and the keeper of its files; an in-memory fake is included. The other modules have units
//! and ids, I/O buffers and pages, copies of a value per thread, sequences that share chunks, hash
//! tables, checksums, the byte codec, memory gauges, limits of options, claims of users, reading of
//! text up to a limit, text with its invisible characters escaped, a test for regular files, locked
//! files, and the causes of I/O and waits; for tests there are seeds, a switch that writes goldens
//! anew, marks of branches that must be reached, and rules that can be broken on purpose.
//!
//! No lock of [`sync`] may be held over a wait, such as a sleep, a wait for a condition or for an
//! actor's end, except for the lock that belongs to the condition. Debug builds panic at these.
//!
//! This crate has numbers for devices, zones and blocks, but does no I/O on a device. It does not
//! know the keys of a store.

mod buffer;
mod canary;
mod cause;
pub mod checksum;
mod chunked;
pub mod codec;
mod date;
mod fast_map;
mod gauge;
mod goldens;
mod limit;
mod lock_holders;
mod locked_file;
pub mod marks;
mod pages;
mod per_thread;
pub mod random;
pub mod regular_file;
pub mod runner;
mod seeds;
mod spare_pages;
pub mod store;
pub mod sync;
pub mod text;
mod time;
mod units;
mod users;
pub mod visible;
pub mod wait;

pub use buffer::IoBuf;
pub use cause::Cause;
pub use chunked::{Chunked, ChunkedSlice, Iter as ChunkedIter};
pub use date::Date;
pub use fast_map::{FastMap, FastSet};
pub use gauge::{MemoryGauge, MemoryLease};
pub use goldens::regenerates_goldens;
pub use limit::{Limit, OutOfRange};
pub use lock_holders::{LockHolder, command_of, lock_holders, lock_holders_in_words};
pub use locked_file::LockedFile;
pub use pages::{MAPPED_MIN, Pages};
pub use per_thread::PerThread;
pub use seeds::test_seeds;
pub use spare_pages::keep_spare_pages;
pub use store::Store;
pub use time::Time;
pub use units::{ByteCount, DeviceId, FileId, Lba, ParseByteCountError, SeqNo, Uuid, ZoneId};
pub use users::{Claim, Users};
pub use visible::{Escaped, Visible};
