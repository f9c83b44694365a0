//! [`Notifier`]: notifies waiting actors and clients of a change of the tree, of the end of a
//! snapshot, and of a lack of space; and tells listeners that the store is nearly full.
//!
//! The owner of a change makes it first. Then it calls the notifier, which takes the lock of each
//! owner where others wait for the change. So no actor looks before the change and sleeps through
//! the call. Actors that do not wait are not notified.
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

    /// Notifies jobs and writers of a change of the tree. `flushed`: the memtable whose tables were
    /// added.
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
        // deletes. The turn ends before listeners are called.
        let turn = committed.into_turn();
        let found = self.look();
        drop(turn);
        self.tell_if_new(found);
    }

    /// Reads how full the store is ([`Space::look`]).
    fn look(&self) -> Option<(Fullness, bool)> {
        self.space.look(&self.tree.view(), &self.store.space())
    }

    /// Tells listeners that the store is nearly full, if it was not before.
    fn tell_if_new(&self, found: Option<(Fullness, bool)>) {
        if let Some((fullness, true)) = found {
            self.listeners.tell(|| nearly_full(fullness));
        }
    }

    /// Adds a listener, and tells it at once if the store is nearly full.
    pub(crate) fn listen(&self, listener: Arc<dyn Listener>) {
        self.tell_if_new(self.look());
        self.listeners.add(Arc::clone(&listener));
        if let Some((fullness, _)) = self.look() {
            listener.notice(&nearly_full(fullness));
        }
    }

    /// A snapshot has ended: entries that only it kept can be dropped now.
    pub(crate) fn snapshot_has_ended(&self, snapshot: EndedSnapshot) {
        let EndedSnapshot { sequence, was_oldest } = snapshot;
        if was_oldest || self.board.is_keeper(sequence) {
            self.space.snapshot_has_ended();
            self.board.snapshot_has_ended(sequence);
        }
    }

    /// Notes that there is no space, so that writers learn of it and jobs free some. Not for a log
    /// on a full log device: only the flush of a log's memtable frees space there, and the writer
    /// that finds no space begins that flush.
    pub(crate) fn no_space(&self, error: &Error) {
        self.space.note(error);
        self.memtables.wake();
        self.board.wake();
    }

    /// A task of a compaction has ended: writers may now wait for nothing.
    pub(crate) fn compaction_has_ended(&self) {
        self.memtables.wake();
    }
}

fn nearly_full(Fullness { live, room }: Fullness) -> Event {
    Event::NearlyFull { live, room }
}
