//! [`FlushQueue`]: the immutable memtables, oldest first, that have not been flushed yet. A
//! memtable stays in the queue while it is being flushed.
//!
//! An entry of the queue also has the memtable's log, and the space that is reserved for the flush,
//! if there is any. The space is freed when the copies of the entry, and a flush that uses it, have
//! been dropped.
//!
//! Threads: any. One lock and one condition: the queue has changed, or another event that the
//! waiters must see, such as a failure ([`wake`](FlushQueue::wake)).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::Reservation;
use terrace_env::sync::{Condvar, Mutex, MutexGuard};
use terrace_env::{FileId, SeqNo};

use super::memtable::Memtable;
use crate::Error;
use crate::lifecycle::{Lifecycle, Waiter};

/// An immutable memtable, and the log of its entries, except those that go to no log.
#[derive(Clone, Debug)]
pub(crate) struct ImmutableMemtable {
    pub(crate) memtable: Arc<Memtable>,
    pub(crate) log: FileId,
    /// The space for the flush, if it could be reserved.
    pub(crate) hold: Option<Arc<Reservation>>,
    /// First sequence in the log after this memtable, if there is one: then the flush keeps the
    /// log.
    pub(crate) rest: Option<SeqNo>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct FlushQueue {
    memtables: Mutex<VecDeque<ImmutableMemtable>>,
    changed: Condvar,
}

/// The queue, locked, to read it and to wait for a change.
pub(crate) struct FlushQueueGuard<'a> {
    queue: &'a FlushQueue,
    memtables: MutexGuard<'a, VecDeque<ImmutableMemtable>>,
}

impl FlushQueue {
    pub(crate) fn lock(&self) -> FlushQueueGuard<'_> {
        FlushQueueGuard { queue: self, memtables: self.memtables.lock() }
    }

    /// Adds a memtable that is newer than all others.
    pub(crate) fn push(&self, memtable: ImmutableMemtable) {
        let mut memtables = self.memtables.lock();
        debug_assert!(
            memtables.back().is_none_or(|last| last.memtable.end() < memtable.memtable.end()),
            "{}: an older memtable",
            memtable.log
        );
        memtables.push_back(memtable);
        drop(memtables);
        self.changed.notify_all();
    }

    /// Removes the memtable whose flush was committed.
    pub(crate) fn remove(&self, flushed: &ImmutableMemtable) {
        let mut memtables = self.memtables.lock();
        let all = std::mem::take(&mut *memtables).into_iter();
        let (gone, rest) = all.partition::<VecDeque<_>, _>(|one| one.log == flushed.log);
        debug_assert!(gone.len() <= 1, "{}: a log has one memtable", flushed.log);
        *memtables = rest;
        drop(memtables);
        self.changed.notify_all();
        // The store frees the reserved space without this lock.
        drop(gone);
    }

    /// Wakes all waiters, after an event that they must see.
    pub(crate) fn wake(&self) {
        drop(self.memtables.lock());
        self.changed.notify_all();
    }

    /// Waits for a memtable to flush, the oldest; `None` when the engine closes.
    pub(crate) fn await_next(&self, lifecycle: &Lifecycle) -> Option<ImmutableMemtable> {
        let mut memtables = self.memtables.lock();
        loop {
            if lifecycle.is_closing() {
                return None;
            }
            if let Some(next) = memtables.front().filter(|_| !lifecycle.must_stop()) {
                return Some(next.clone());
            }
            self.changed.wait(&mut memtables);
        }
    }
}

impl Waiter for FlushQueue {
    fn lifecycle_has_changed(&self, _: Option<&Error>) {
        self.wake();
    }
}

impl FlushQueueGuard<'_> {
    pub(crate) fn len(&self) -> usize {
        self.memtables.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.memtables.is_empty()
    }

    /// The newest memtable.
    pub(crate) fn newest(&self) -> Option<Arc<Memtable>> {
        self.memtables.back().map(|newest| Arc::clone(&newest.memtable))
    }

    /// Whether the flush of this memtable is not committed yet.
    pub(crate) fn has(&self, memtable: &Arc<Memtable>) -> bool {
        self.memtables.iter().any(|one| Arc::ptr_eq(&one.memtable, memtable))
    }

    /// Bytes of the oldest.
    pub(crate) fn next_bytes(&self) -> Option<u64> {
        self.memtables.front().map(|next| next.memtable.bytes() as u64)
    }

    /// Whether space is reserved for the flush of the oldest.
    pub(crate) fn next_has_space(&self) -> bool {
        self.memtables.front().is_some_and(|next| next.hold.is_some())
    }

    /// Whether space is reserved for all of them.
    pub(crate) fn all_have_space(&self) -> bool {
        self.memtables.iter().all(|one| one.hold.is_some())
    }

    /// Waits for a change.
    pub(crate) fn wait(&mut self) {
        self.queue.changed.wait(&mut self.memtables);
    }

    /// The same, for at most `limit`.
    pub(crate) fn wait_for(&mut self, limit: Duration) {
        let _ = self.queue.changed.wait_for(&mut self.memtables, limit);
    }
}
