//! [`Notifier`]: tells those who wait of a change of the tree, of the end of a snapshot, and of a
//! lack of space.
//!
//! The owner of a change makes it first. Then it calls here, and the notifier takes the lock of
//! each owner at which others wait for the change. So no actor looks before the change and sleeps
//! through the call. Actors that do not wait are not told.
//!
//! Any thread, without a lock.

use std::sync::Arc;

use super::board::Board;
use crate::Error;
use crate::memtable::{FlushQueue, ImmutableMemtable};
use crate::space::Space;
use crate::tree::{Committed, EndedSnapshot};

/// See the [module](self).
pub(crate) struct Notifier {
    space: Arc<Space>,
    memtables: Arc<FlushQueue>,
    board: Arc<Board>,
}

impl Notifier {
    pub(crate) fn new(space: Arc<Space>, memtables: Arc<FlushQueue>, board: Arc<Board>) -> Self {
        Self { space, memtables, board }
    }

    /// Tells jobs and writers of a change of the tree. `flushed`: the memtable whose tables were
    /// put in.
    pub(crate) fn tree_has_changed(
        &self,
        committed: Committed<'_>,
        flushed: Option<&ImmutableMemtable>,
    ) {
        self.space.tree_has_changed(committed.change, committed.rule);
        match flushed {
            Some(flushed) => self.memtables.remove(flushed),
            None => self.memtables.wake(),
        }
        self.board.wake();
    }

    /// Entries that only this snapshot kept can be dropped now.
    pub(crate) fn snapshot_has_ended(&self, snapshot: EndedSnapshot) {
        let EndedSnapshot { sequence, was_oldest } = snapshot;
        if was_oldest || self.board.is_keeper(sequence) {
            self.space.snapshot_has_ended();
            self.board.snapshot_has_ended(sequence);
        }
    }

    /// Notes that there is no space, for writers to be told and jobs to do something about it. Lack
    /// of space for a log on a log device is not to be noted: the flush of the log's memtable is
    /// all that can be done about it, and the writer that finds it sees to that.
    pub(crate) fn no_space(&self, error: &Error) {
        self.space.note(error);
        self.memtables.wake();
        self.board.wake();
    }

    /// A task of a compaction has ended: writers may wait in vain now.
    pub(crate) fn compaction_has_ended(&self) {
        self.memtables.wake();
    }
}
