//! [`Closed`]: whether an engine has been closed. Snapshots, scans, cursors and ingests ask it.
//!
//! Once an engine is closed, another one may open the store and replace the files. So a reader asks
//! before it reads, and returns [`Error::Closed`]. If a read fails, it asks again: if the engine
//! was closed meanwhile, the error of the read says nothing about the medium.
//!
//! The flag stops nobody: a read that is under way goes on, and may succeed. Any number of threads
//! ask without a lock. The value changes once, when the engine is closed.

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
