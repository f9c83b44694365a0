//! [`Closable`]: the handles of an object with a `close`, which is the same for all such objects.
//!
//! - A call that is running shares the handles: they are dropped after it.
//! - In a child of `fork` [`get`](Closable::get) and [`take`](Closable::take) raise `ClosedError`,
//!   and [`close`](Closable::close) has no effect.
//!
//! Its lock is never kept while a thread waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::error::ClosedError;
use crate::held::Held;
use crate::opened::Counted;

/// See the [module](self).
pub(crate) struct Closable<T: Send + Sync> {
    handles: Held<Mutex<Option<Arc<Counted<T>>>>>,
    /// Message of the error once it is closed.
    closed: &'static str,
}

impl<T: Send + Sync> Closable<T> {
    pub(crate) fn new(handles: Counted<T>, closed: &'static str) -> Self {
        Self { handles: Held::new(Mutex::new(Some(Arc::new(handles)))), closed }
    }

    /// The handles, for a call. The call should drop them while it works without the lock of the
    /// interpreter, since they may be the last ones.
    pub(crate) fn get(&self) -> PyResult<Arc<Counted<T>>> {
        lock(self.handles.get()?).clone().ok_or_else(|| ClosedError::new_err(self.closed))
    }

    /// The handles, which no later call gets.
    pub(crate) fn take(&self) -> PyResult<Arc<Counted<T>>> {
        lock(self.handles.get()?).take().ok_or_else(|| ClosedError::new_err(self.closed))
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(self.handles.peek()).is_none()
    }

    /// Drops the handles, if they are there.
    pub(crate) fn close(&self, py: Python<'_>) {
        let Ok(handles) = self.handles.get() else { return };
        let handles = lock(handles).take();
        py.detach(|| drop(handles));
    }
}

fn lock<T>(handles: &Mutex<T>) -> MutexGuard<'_, T> {
    handles.lock().unwrap_or_else(PoisonError::into_inner)
}
