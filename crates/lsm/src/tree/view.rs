//! [`View`]: the state that readers see at one moment: memtables, a version of the tree, and the
//! key spaces.
//!
//! - A reader that keeps a view keeps its memtables and files, even after later writes and
//!   compactions.
//! - The view does not change, but writes still go to its active memtable. So a reader of the
//!   newest writes takes a sequence number after the view, and skips entries that are newer.
//! - [`Closed`] in the view says whether the engine has been closed; a reader must check it.
//!
//! Any number of threads share a view without a lock.

use std::sync::Arc;

use super::closed::Closed;
use super::spaces::Spaces;
use super::version::Version;
use crate::memtable::Memtable;

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) active: Arc<Memtable>,
    /// Full memtables, newest first.
    pub(crate) immutable: Vec<Arc<Memtable>>,
    pub(crate) version: Arc<Version>,
    pub(crate) spaces: Arc<Spaces>,
    pub(crate) closed: Closed,
}

impl View {
    /// All memtables, newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.immutable)
    }
}
