//! [`Subject`]: a store under test that can be closed, lose its process or its power, and be opened
//! again.

use std::sync::Arc;

use crate::Store;

/// A store that can be closed and found again.
pub trait Subject {
    /// The store, open. Checks drop every clone of it, and all handles, before they call the
    /// methods below.
    fn store(&self) -> Arc<dyn Store>;

    /// Closes the store properly and opens it again.
    fn reopen(&mut self);

    /// Ends the process that has the store open, which loses all that is only in its memory, and
    /// opens the store again.
    fn end_process(&mut self, seed: u64);

    /// Cuts the power, losing unsynced bytes by seed, and opens the store again.
    fn power_cut(&mut self, seed: u64);
}
