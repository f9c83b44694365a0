//! Whether an engine has been closed, for all that reads from it.
//!
//! Once an engine is closed, others may own the store below: what its snapshots, scans, cursors and
//! ingests still read may have been replaced. So each of them looks here before it reads, and again
//! when a read has failed, because the engine may have been closed during the read: then the error
//! says nothing about what is on the medium.
//!
//! # Threads
//! Any number; it changes once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// Whether an engine has been closed. Clones are of the same engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closed(Arc<AtomicBool>);

impl Closed {
    /// Notes that it is closed.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// An error if it is closed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.0.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// The error that a failed read is to return.
    pub(crate) fn explain(&self, error: impl Into<Error>) -> Error {
        self.check().err().unwrap_or_else(|| error.into())
    }
}
