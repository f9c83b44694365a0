//! Merging: how memtables and runs become one order of entries.
//!
//! | question | answered in |
//! |---|---|
//! | how do several sources become one order | `merge` |
//! | how is a run walked, table by table | `run_cursor` |
//! | how are adjacent tables read by one request | `run_cursor::joint` |
//! | are the right reads submitted ahead (tests) | `reads_under_way` |
//!
//! A merge shows every entry of its sources, in the order of internal keys. The caller decides
//! which of them a reader sees, and which of them a job keeps.
//!
//! One thread at a time uses a merge. It may wait for the device, so the caller holds no lock.

#[cfg(test)]
mod first_key_reads;
#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod merge;
#[cfg(test)]
mod reads_under_way;
mod run_cursor;

pub(crate) use merge::{Merge, Source};
pub(crate) use run_cursor::RunCursor;
