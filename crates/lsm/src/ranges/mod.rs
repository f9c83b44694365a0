//! Range deletes, which hide a whole range of keys by one tombstone, and ranges that are empty.
//!
//! | question | answered in |
//! |---|---|
//! | how is a range tombstone represented | `tombstone` |
//! | how are the newest ones stored in memory | `memory`, `skyline` |
//! | which form do they have in tables | `fragments` |
//! | how do flushes and compactions apply and drop them | `job` |
//! | which ranges are known to have no visible entry | `empty_ranges` |
//!
//! A range tombstone hides an entry from a reader if it covers the entry's key, is newer than the
//! entry, and is not newer than the reader's sequence. It counts as an entry of every key that it
//! covers. So a point read ends at the first place with a visible entry or tombstone of its key.
//!
//! # Invariants
//! - A range is of full keys, within one key space. Its start belongs to it, its end does not.
//! - No two range tombstones of a memtable have the same sequence number.
//!
//! # Threads
//! [`MemoryRanges`] has one writer at a time and any number of readers that take no lock.
//! A [`Skyline`] that readers have and [`Fragments`] do not change. A [`JobRanges`] belongs
//! to one job. [`EmptyRanges`] has one lock.

mod empty_ranges;
mod fragments;
mod job;
mod memory;
mod skyline;
mod tombstone;

pub(crate) use empty_ranges::{EmptyRanges, Found};
pub(crate) use fragments::{Fragment, Fragments, unite};
pub(crate) use job::JobRanges;
pub(crate) use memory::MemoryRanges;
pub(crate) use skyline::Skyline;
pub(crate) use tombstone::{CoverRange, RangeSummary, RangeTombstone};
