//! [`Tree`]: the owner of the readers' view and of the store's annotation.
//!
//! | part | read | changed |
//! |---|---|---|
//! | the view: memtables, version, key spaces | without a lock | under the lock |
//! | the newest visible sequence | without a lock | in the lead of the writes |
//! | the record: the store's own annotation | under the lock | in a turn to commit |
//! | the list of key spaces | under the lock | in a turn to commit |
//! | the sequences of snapshots | under the lock | under the lock |
//!
//! # Turns
//! A thread that commits a change of the tree or of the record takes the [`CommitTurn`] first. It
//! is no lock: its holder writes to the store. One thread at a time has it, so each change starts
//! from the result of the one before. A thread that has the turn must not take another. An opening,
//! which is alone, can commit without one. Memtables are added to the view without a turn.
//!
//! # Invariants
//! - A reader takes the view first and the newest visible sequence second. So it misses no write
//!   that had returned before it began. It may miss writes that become visible between the two.
//! - A reader of several keys takes both again if the tree has got another version or another
//!   active memtable in between ([`Tree::view_at`]). So its view has all writes up to its sequence.
//!   There are two reasons. First, an ingest does not change memtables. A later put goes to the
//!   memtable that the reader has, and the reader would see the put and not the ingest. Second, a
//!   reader that finds no entry in a range must know that there is none at its sequence.
//! - The sequence of an ingest and its version become visible under the same lock. So a job that
//!   finds its entries drops no older one that a snapshot, or a read by a later view, still has to
//!   see.
//! - The record holds the decider's state of the latest committed choice.
//! - A snapshot reads its sequence under the lock under which jobs read the list of snapshots. So a
//!   job either knows of a snapshot, or the snapshot sees every entry that the job found.
//!
//! # Threads
//! Any, once the opening has filled the tree. One lock, held for short accesses to memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::{ArcSwap, Guard};
use terrace_env::sync::{Mutex, MutexGuard, Turn, TurnGuard, switch_point};
use terrace_env::wait::{WaitCause, WaitCounts};
use terrace_env::{FileId, SeqNo};
use terrace_policy::RunId;

use super::space_list::{SpaceEdit, SpaceList};
use super::spaces::Spaces;
use super::store_record::StoreRecord;
use super::version::Version;
use super::view::View;
use crate::Error;
use crate::batch::Batch;
use crate::canary::{self, Rule};
use crate::memtable::Memtable;

/// See the [module](self).
pub(crate) struct Tree {
    view: ArcSwap<View>,
    /// The view's key spaces, and whether it has immutable memtables. A read of these pins no
    /// table, so it may end under a lock. A read of the view could delete a file, if it is the last
    /// to pin it.
    spaces: ArcSwap<Spaces>,
    has_immutable: AtomicBool,
    /// The newest sequence that readers see.
    visible: AtomicU64,
    state: Mutex<State>,
    turn: Turn,
}

struct State {
    record: StoreRecord,
    spaces: SpaceList,
    /// Sequences that snapshots hold, with the number of these.
    snapshots: BTreeMap<SeqNo, usize>,
    /// Number of times that a version has been replaced.
    changes: u64,
    /// The latest of the decider's choices whose state is in the record.
    choice: u64,
}

/// A sequence that no snapshot holds any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedSnapshot {
    pub(crate) sequence: SeqNo,
    /// Whether no snapshot of a smaller sequence was alive.
    pub(crate) was_oldest: bool,
}

impl Tree {
    pub(crate) fn new(view: View, visible: SeqNo, record: StoreRecord, spaces: SpaceList) -> Self {
        let snapshots = BTreeMap::new();
        Self {
            spaces: ArcSwap::new(Arc::clone(&view.spaces)),
            has_immutable: AtomicBool::new(!view.immutable.is_empty()),
            view: ArcSwap::from_pointee(view),
            visible: AtomicU64::new(visible.0),
            state: Mutex::new(State { record, spaces, snapshots, changes: 0, choice: 0 }),
            turn: Turn::default(),
        }
    }

    /// The current view of readers, for long use.
    pub(crate) fn view(&self) -> Arc<View> {
        switch_point();
        self.view.load_full()
    }

    /// The current view of readers, for one access, without a counter that all readers share. For
    /// long use, [`view`](Self::view) is cheaper.
    pub(crate) fn glance(&self) -> Guard<Arc<View>> {
        switch_point();
        self.view.load()
    }

    /// An error if the engine is closed.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        self.glance().closed.check()
    }

    /// Carries out an operation that reads from the store. Returns an error if the engine is
    /// closed, or was closed meanwhile, for any result of the operation.
    pub(crate) fn while_open<T>(
        &self,
        read: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.check_open()?;
        read().map_err(|error| self.glance().closed.explain(error))
    }

    /// Checks that a batch writes to key spaces that exist. The caller may hold a lock.
    pub(crate) fn check_spaces(&self, batch: &Batch) -> Result<(), Error> {
        switch_point();
        let spaces = self.spaces.load();
        batch.spaces().try_for_each(|space| spaces.check_write(space))
    }

    /// Whether memtables wait for their flush. The caller may hold a lock.
    pub(crate) fn has_immutable(&self) -> bool {
        self.has_immutable.load(Ordering::Acquire)
    }

    /// Whether memtables have entries that are in no log.
    pub(crate) fn has_unlogged(&self) -> bool {
        self.view().memtables().any(|memtable| memtable.has_unlogged())
    }

    /// The newest sequence that readers see. Must be read after the view: then the reader misses no
    /// write that had returned before.
    pub(crate) fn visible(&self) -> SeqNo {
        switch_point();
        SeqNo(self.visible.load(Ordering::Acquire))
    }

    /// The view of readers, for long use, and the sequence up to which a read sees: its
    /// snapshot's, or else the newest one at the moment of the view.
    pub(crate) fn view_at(&self, snapshot: Option<SeqNo>) -> (Arc<View>, SeqNo) {
        loop {
            let view = self.view();
            if let Some(sequence) = snapshot.or_else(|| self.visible_in(&view)) {
                return (view, sequence);
            }
        }
    }

    /// The newest sequence that readers see, if the view has all writes up to it; `None` if the
    /// tree has got another version or another active memtable meanwhile.
    fn visible_in(&self, view: &View) -> Option<SeqNo> {
        let sequence = self.visible();
        let now = self.view.load();
        let same =
            Arc::ptr_eq(&view.version, &now.version) && Arc::ptr_eq(&view.active, &now.active);
        (same || canary::is_broken(Rule::SequenceOfTheView)).then_some(sequence)
    }

    /// Lets readers see everything up to a sequence.
    pub(crate) fn make_visible(&self, newest: SeqNo) {
        debug_assert!(
            self.visible.load(Ordering::Relaxed) <= newest.0,
            "readers would no longer see writes after {newest}"
        );
        self.visible.store(newest.0, Ordering::Release);
    }

    /// Number of times that the version has been replaced.
    pub(crate) fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// Changes the view of readers. The guard proves that one thread does so at a time.
    fn change_view(&self, _: &MutexGuard<'_, State>, change: impl FnOnce(&mut View)) {
        let mut next = View::clone(&self.view.load());
        change(&mut next);
        // Empty memtables have no order. A writer may be adding the first entries of the active
        // one, which has no end yet.
        let is_new = |memtable: &Memtable| memtable.is_empty() || memtable.end() == SeqNo(0);
        debug_assert!(
            next.memtables().is_sorted_by(|newer, older| is_new(newer)
                || is_new(older)
                || newer.end() > older.end()),
            "memtables from the newest to the oldest"
        );
        self.spaces.store(Arc::clone(&next.spaces));
        self.has_immutable.store(!next.immutable.is_empty(), Ordering::Release);
        self.view.store(Arc::new(next));
    }

    /// Adds a new active memtable to the view; the old one becomes immutable.
    pub(crate) fn replace_active(&self, active: Arc<Memtable>) {
        let state = self.state.lock();
        self.change_view(&state, |view| {
            let old = std::mem::replace(&mut view.active, active);
            view.immutable.insert(0, old);
        });
    }

    /// Puts a memtable of the same entries in place of the active one.
    pub(crate) fn exchange_active(&self, active: Arc<Memtable>) {
        let state = self.state.lock();
        self.change_view(&state, |view| view.active = active);
    }

    /// Adds replayed memtables to the view; `immutable`: newest first.
    pub(crate) fn set_memtables(&self, active: Arc<Memtable>, immutable: Vec<Arc<Memtable>>) {
        let state = self.state.lock();
        self.change_view(&state, |view| (view.active, view.immutable) = (active, immutable));
    }

    /// The store's annotation, as last committed.
    pub(crate) fn record(&self) -> StoreRecord {
        self.state.lock().record.clone()
    }

    /// Reads the store's annotation, under the lock.
    pub(crate) fn with_record<T>(&self, look: impl FnOnce(&StoreRecord) -> T) -> T {
        look(&self.state.lock().record)
    }

    /// Reads the list of key spaces, under the lock.
    pub(crate) fn with_spaces<T>(&self, look: impl FnOnce(&SpaceList) -> T) -> T {
        look(&self.state.lock().spaces)
    }

    /// The store's annotation, as last committed, with all key spaces: for a store that has no
    /// pages of them.
    pub(crate) fn whole_record(&self) -> StoreRecord {
        let state = self.state.lock();
        state.spaces.check(&state.record);
        let spaces = state.spaces.iter().cloned().collect();
        StoreRecord { spaces, pages: 0, ..state.record.clone() }
    }

    /// Begins a snapshot of the visible entries.
    pub(crate) fn begin_snapshot(&self) -> SeqNo {
        let early = canary::is_broken(Rule::SnapshotKnownToJobs).then(|| self.visible());
        let mut state = self.state.lock();
        let sequence = early.unwrap_or_else(|| self.visible());
        debug_assert!(
            state.snapshots.keys().next_back().is_none_or(|newest| *newest <= sequence),
            "a snapshot is not older than earlier ones"
        );
        *state.snapshots.entry(sequence).or_default() += 1;
        sequence
    }

    /// Begins another snapshot of a sequence that one holds.
    pub(crate) fn share_snapshot(&self, sequence: SeqNo) {
        let mut state = self.state.lock();
        let count = state.snapshots.entry(sequence).or_default();
        debug_assert!(*count > 0, "snapshot {sequence} has ended");
        *count += 1;
    }

    /// Ends a snapshot; `None` if another one holds its sequence.
    pub(crate) fn end_snapshot(&self, sequence: SeqNo) -> Option<EndedSnapshot> {
        let mut state = self.state.lock();
        debug_assert!(state.snapshots.contains_key(&sequence), "snapshot {sequence} ends twice");
        let count = state.snapshots.get_mut(&sequence)?;
        *count -= 1;
        if *count > 0 {
            return None;
        }
        state.snapshots.remove(&sequence);
        let was_oldest = state.snapshots.keys().next().is_none_or(|next| *next > sequence);
        Some(EndedSnapshot { sequence, was_oldest })
    }

    /// The newest table of the version, by its number.
    pub(crate) fn newest_table(&self) -> FileId {
        let view = self.view();
        let tables = view.version.segments().map(|(_, segment)| segment.table.id());
        tables.max().unwrap_or(FileId(0))
    }

    /// The newest run of level 0, if there is any.
    pub(crate) fn newest_run(&self) -> Option<RunId> {
        self.view().version.view().runs(0).first().map(|run| run.id)
    }

    /// Sequences that snapshots hold, ascending.
    pub(crate) fn snapshots(&self) -> Vec<SeqNo> {
        self.state.lock().snapshots.keys().copied().collect()
    }

    /// Waits until no other thread commits a change, and takes the turn.
    pub(crate) fn take_turn(&self, waits: &WaitCounts) -> CommitTurn<'_> {
        CommitTurn { tree: self, _turn: self.turn.take_counted(waits, WaitCause::Commits) }
    }
}

/// The turn to commit a change of the tree or of the record, until it is dropped.
pub(crate) struct CommitTurn<'a> {
    tree: &'a Tree,
    _turn: TurnGuard<'a>,
}

impl CommitTurn<'_> {
    /// Whether no state of a later choice has been committed.
    pub(crate) fn is_newest(&self, choice: u64) -> bool {
        choice > self.tree.state.lock().choice
    }

    /// Shows readers a committed version, without the memtable whose tables are in it, and stores
    /// the record that was committed with it. `choice`: the choice whose state is in the record, if
    /// it has another one than before. `ingested`: the sequence of an ingest whose tables are in
    /// the version. Returns the number of the change.
    pub(crate) fn show_version(
        &self,
        version: Arc<Version>,
        record: Option<StoreRecord>,
        choice: Option<u64>,
        flushed: Option<&Arc<Memtable>>,
        ingested: Option<SeqNo>,
    ) -> u64 {
        let mut state = self.tree.state.lock();
        if let Some(record) = record {
            state.record = record;
        }
        debug_assert!(choice.is_none_or(|choice| choice > state.choice), "choices in order");
        state.changes += 1;
        state.choice = choice.unwrap_or(state.choice);
        self.tree.change_view(&state, |view| {
            view.version = version;
            if let Some(flushed) = flushed {
                view.immutable.retain(|table| !Arc::ptr_eq(table, flushed));
            }
        });
        if let Some(ingested) = ingested {
            self.tree.make_visible(ingested);
        }
        state.changes
    }

    /// Stores a committed record, with the same key spaces as before.
    pub(crate) fn show_record(&self, record: StoreRecord) {
        self.tree.state.lock().record = record;
    }

    /// Stores a committed record, and shows readers the change of the key spaces.
    pub(crate) fn show_spaces(&self, record: StoreRecord, edit: &SpaceEdit) {
        let mut state = self.tree.state.lock();
        let end = record.next_space;
        state.record = record;
        state.spaces.apply(edit);
        state.spaces.check(&state.record);
        self.tree.change_view(&state, |view| view.spaces = view.spaces.after(edit, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::empty_tree;

    #[test]
    fn a_snapshot_is_the_oldest_until_its_last_holder_ends() {
        let tree = empty_tree();
        let first = tree.begin_snapshot();
        tree.share_snapshot(first);
        tree.make_visible(SeqNo(9));
        let second = tree.begin_snapshot();
        assert_eq!(tree.snapshots(), [SeqNo(7), SeqNo(9)]);
        assert_eq!(tree.end_snapshot(first), None, "the first is still held");
        let ended = |sequence, was_oldest| Some(EndedSnapshot { sequence, was_oldest });
        assert_eq!(tree.end_snapshot(second), ended(second, false));
        assert_eq!(tree.snapshots(), [first]);
        assert_eq!(tree.end_snapshot(first), ended(first, true));
    }
}
