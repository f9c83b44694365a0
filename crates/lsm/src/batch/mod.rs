//! Batches: writes that are applied together, as bytes.
//!
//! | question | answered in |
//! |---|---|
//! | which writes belong together, and what are their bytes | `batch`, `batch_bytes` |
//! | what does a log note about the log before it | `predecessor` |
//!
//! The bytes of a batch are those that the log holds. Whether its key spaces exist is checked by
//! the writer. No locks; [`Predecessor::bytes_in`] alone reads from a file.

#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod batch;
mod batch_bytes;
mod predecessor;

pub use batch::{BATCH_BYTES_MAX, Batch};

pub(crate) use batch::{Entry, FrozenBatch, HEADER_BYTES};
pub(crate) use predecessor::Predecessor;
