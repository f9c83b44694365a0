//! Range deletes: one tombstone hides a whole range of keys.
//!
//! | question | answered in |
//! |---|---|
//! | what is a range tombstone | `tombstone` |
//! | where are the newest ones, while they are in memory | `memory`, `skyline` |
//! | what form do they have in tables | `fragments` |
//! | what do they hide from a reader who walks | `coverage` |
//! | what do flushes and compactions do with them | `job` |
//!
//! A range tombstone hides an entry from a reader if it covers the entry's key, is newer than the
//! entry, and is not newer than the reader's sequence. It counts as an entry of every key that it
//! covers. So a point read ends at the first place that has an entry or a tombstone of its key
//! which the reader sees.
//!
//! # Invariants
//! - A range is of full keys, within one key space. Its start belongs to it, its end does not.
//! - No two range tombstones of a memtable have the same sequence number.
//!
//! # Threads
//! [`MemoryRanges`] has one writer at a time and any number of readers that take no lock.
//! A [`Skyline`] that readers have and [`Fragments`] do not change. A [`Coverage`] belongs to one
//! reader, a [`JobRanges`] to one job.

mod coverage;
mod fragments;
mod job;
mod memory;
mod skyline;
mod tombstone;

pub(crate) use coverage::Coverage;
pub(crate) use fragments::{Fragment, Fragments, unite};
pub(crate) use job::JobRanges;
pub(crate) use memory::{MemoryRanges, TOMBSTONE_BYTES};
pub(crate) use skyline::Skyline;
pub(crate) use tombstone::{CoverRange, RangeSummary, RangeTombstone};
