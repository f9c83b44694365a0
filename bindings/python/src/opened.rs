//! [`Opened`]: an open store, as far as a fork has to know of it. [`Counted`]: a handle that lets
//! the store count as open.
//!
//! A child of a process that had a store open opens none: the locks of this library know threads of
//! the parent that wait, which are not in the child. A lock that woke one of them would write to
//! memory that has another use by then.
//!
//! A store counts as open until `Db.close`, or until all its handles are dropped: those of its
//! iterators, batches, snapshots and transactions, too. An open reader counts in the same way.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;

use crate::error::ClosedError;

/// Stores that are open in this process.
static OPEN: AtomicU64 = AtomicU64::new(0);

/// Whether a process had a store open when it forked to this one, or to a parent of it.
static IS_HEIR: AtomicBool = AtomicBool::new(false);

/// Notes that this process is a child.
pub(crate) fn note_fork() {
    if OPEN.load(Ordering::Relaxed) > 0 {
        IS_HEIR.store(true, Ordering::Relaxed);
    }
}

/// Whether this process is a child of one that had a store open.
pub(crate) fn is_heir() -> bool {
    IS_HEIR.load(Ordering::Relaxed)
}

/// An open store, or an open reader of one.
pub(crate) struct Opened(AtomicBool);

impl Opened {
    /// Counts a store that is about to be opened. Refused after a fork from a process that had one.
    pub(crate) fn new() -> PyResult<Arc<Self>> {
        if is_heir() {
            return Err(ClosedError::new_err(
                "expected a process without an open store when it forked, found a child of one \
                 that had one; close the store first, or start the child by \"spawn\"",
            ));
        }
        OPEN.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Self(AtomicBool::new(true))))
    }

    /// The store is closed.
    pub(crate) fn close(&self) {
        if self.0.swap(false, Ordering::Relaxed) {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.close();
    }
}

/// A handle of an open store, which counts as open until the handle is dropped.
#[derive(Clone)]
pub(crate) struct Counted<T> {
    // Dropped first: the drop of a handle may end the store, which takes time.
    handle: T,
    opened: Arc<Opened>,
}

impl<T> Counted<T> {
    pub(crate) fn new(handle: T, opened: Arc<Opened>) -> Self {
        Self { handle, opened }
    }

    /// Another handle of the same store.
    pub(crate) fn with<U>(&self, handle: U) -> Counted<U> {
        Counted { handle, opened: Arc::clone(&self.opened) }
    }

    pub(crate) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The result of a call that consumes the handle. The store counts until its end.
    pub(crate) fn consume<R>(self, call: impl FnOnce(T) -> R) -> R {
        let Self { handle, opened } = self;
        let result = call(handle);
        drop(opened);
        result
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.handle
    }
}

impl<T> DerefMut for Counted<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.handle
    }
}
