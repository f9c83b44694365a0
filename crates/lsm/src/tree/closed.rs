//! [`Closed`]: a flag that says whether an engine has been closed.
//!
//! Once it is closed, another engine may open the store and replace the files. So a reader must
//! check the flag before it reads ([`Closed::check`]), and pass the error of a failed read through
//! [`Closed::explain`]: if the engine was closed meanwhile, that error says nothing about the
//! medium.
//!
//! The flag stops no reader: a read in flight goes on, and may succeed. The flag is never cleared.
//! Any number of threads, without a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// Whether an engine has been closed. Clones are of the same engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closed(Arc<AtomicBool>);

impl Closed {
    /// Sets the flag.
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
