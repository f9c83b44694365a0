//! [`EarlyFlush`]: a flush of the medium that another thread carries out for a log, before the next
//! sync of the log.

use std::fmt;

/// A flush for a log ([`FileWriter::early_flush`](super::FileWriter::early_flush)). Dropped without
/// a call, it does nothing. If it fails, the log's next sync has the error.
pub struct EarlyFlush(Box<dyn FnOnce() + Send>);

impl EarlyFlush {
    /// The flush that `flush` carries out. It waits for the medium.
    #[must_use]
    pub fn new(flush: impl FnOnce() + Send + 'static) -> Self {
        Self(Box::new(flush))
    }

    /// Carries it out; the caller must hold no lock.
    pub fn carry_out(self) {
        (self.0)();
    }
}

impl fmt::Debug for EarlyFlush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("EarlyFlush")
    }
}
