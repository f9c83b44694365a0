//! Batches: writes that are applied together, as bytes.
//!
//! | question | answered in |
//! |---|---|
//! | which writes belong together, and how are they encoded | `batch`, `batch_bytes` |
//! | when do puts without an expiry expire | `default_expiry` |
//! | what does a log note about the log before it | `predecessor` |
//!
//! The bytes of a batch are those in the log. The writer checks whether its key spaces exist. No
//! locks; only [`Predecessor::bytes_in`] reads from a file.

#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod batch;
mod batch_bytes;
mod default_expiry;
#[cfg(test)]
mod fuzz;
mod predecessor;

pub use batch::{BATCH_BYTES_MAX, Batch};

pub(crate) use batch::{Entry, FrozenBatch, HEADER_BYTES};
pub(crate) use predecessor::Predecessor;
