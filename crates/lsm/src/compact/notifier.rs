//! [`Notifier`]: tells those who wait of a change of the tree, of the end of a snapshot, and of a
//! lack of space; and tells listeners that the store is nearly full.
//!
//! The owner of a change makes it first. Then it calls here, and the notifier takes the lock of
//! each owner at which others wait for the change. So no actor looks before the change and sleeps
//! through the call. Actors that do not wait are not told.
//!
//! Any thread, without a lock.

use std::sync::Arc;

use terrace_env::store::Store;

use super::board::Board;
use crate::Error;
use crate::event::{Event, Listener, Listeners};
use crate::memtable::{FlushQueue, ImmutableMemtable};
use crate::space::{Fullness, Space};
use crate::tree::{Committed, EndedSnapshot, Tree};

/// See the [module](self).
pub(crate) struct Notifier {
    store: Arc<dyn Store>,
    tree: Arc<Tree>,
    space: Arc<Space>,
    memtables: Arc<FlushQueue>,
    board: Arc<Board>,
    listeners: Arc<Listeners>,
}

impl Notifier {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        tree: &Arc<Tree>,
        space: &Arc<Space>,
        memtables: &Arc<FlushQueue>,
        board: &Arc<Board>,
        listeners: &Arc<Listeners>,
    ) -> Self {
        Self {
            store: Arc::clone(store),
            tree: Arc::clone(tree),
            space: Arc::clone(space),
            memtables: Arc::clone(memtables),
            board: Arc::clone(board),
            listeners: Arc::clone(listeners),
        }
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
        // In the turn, the view is the newest one: the look keeps no file that another change
        // deletes. The turn ends before listeners are told.
        let turn = committed.into_turn();
        let found = self.look();
        drop(turn);
        self.tell_if_new(found);
    }

    /// Looks how full the store is, as [`Space::look`] does.
    fn look(&self) -> Option<(Fullness, bool)> {
        self.space.look(&self.tree.view(), &self.store.space())
    }

    /// Tells listeners that the store has become nearly full, if it has.
    fn tell_if_new(&self, found: Option<(Fullness, bool)>) {
        if let Some((fullness, true)) = found {
            self.listeners.tell(|| nearly_full(fullness));
        }
    }

    /// From now on tells a listener what happens; at once, if the store is nearly full.
    pub(crate) fn listen(&self, listener: Arc<dyn Listener>) {
        self.tell_if_new(self.look());
        self.listeners.add(Arc::clone(&listener));
        if let Some((fullness, _)) = self.look() {
            listener.notice(&nearly_full(fullness));
        }
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

fn nearly_full(Fullness { live, room }: Fullness) -> Event {
    Event::NearlyFull { live, room }
}
