//! Layer 0: what the other layers may ask of the world, and the values that they share.
//!
//! Time, chance, threads and waiting come into the code of a store through this crate. So the same
//! code runs on real threads and, unchanged, as simulated actors on a virtual clock. The crate also
//! has units and ids, buffers, checksums, the byte codec, causes of I/O and of waits, limits of
//! options, memory gauges, claims of users, rules that can be broken on purpose, sequences that
//! share their chunks, and the [`Store`] trait with its in-memory fake.
//!
//! No lock of [`sync`] may be held over a wait for time, for an event or for an actor, except for
//! the own lock of a condition. Debug builds panic otherwise.
//!
//! This crate has numbers for devices, zones and blocks, but does no I/O on a device. It does not
//! know keys.

mod buffer;
mod canary;
mod cause;
pub mod checksum;
mod chunked;
pub mod codec;
mod fast_map;
mod gauge;
mod limit;
mod pages;
pub mod random;
pub mod runner;
mod seeds;
pub mod store;
pub mod sync;
mod time;
mod units;
mod users;
pub mod wait;

pub use buffer::IoBuf;
pub use cause::Cause;
pub use chunked::{Chunked, ChunkedSlice, Iter as ChunkedIter};
pub use fast_map::{FastMap, FastSet};
pub use gauge::{MemoryGauge, MemoryLease};
pub use limit::{Limit, OutOfRange};
pub use pages::{MAPPED_MIN, Pages};
pub use seeds::test_seeds;
pub use store::Store;
pub use time::Time;
pub use units::{ByteCount, DeviceId, FileId, Lba, ParseByteCountError, SeqNo, Uuid, ZoneId};
pub use users::{Claim, Users};
