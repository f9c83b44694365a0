//! [`Held`]: a handle that keeps a store open, in a class of Python. [`Opened`]: an open store, as
//! far as a fork has to know of it.
//!
//! The last handle ends the store when it is dropped: it waits for background jobs, and these may
//! wait for the interpreter, to ask a [filter](crate::filter). So the drop releases the lock of the
//! interpreter.
//!
//! A child of `fork` has the handles of its parent, but not the threads of the store, which is the
//! parent's. There a drop has no effect: it would wait for jobs that do not run, write to files
//! that the parent writes, and take the lock of the store away. A write [is refused](Held::check).
//!
//! A child of a process that had a store open [opens none](Opened::new): the locks of this library
//! know threads of the parent that wait, which are not in the child. A lock that woke one of them
//! would write to memory that has another use by then.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::ClosedError;

/// Forks from the process that has loaded the module to this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Stores that are open in this process.
static OPEN: AtomicU64 = AtomicU64::new(0);

/// Whether a process had a store open when it forked to this one, or to a parent of it.
static IS_HEIR: AtomicBool = AtomicBool::new(false);

/// Notes that this process is a child: registered with `os.register_at_fork`.
#[pyfunction]
fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    if OPEN.load(Ordering::Relaxed) > 0 {
        IS_HEIR.store(true, Ordering::Relaxed);
    }
}

/// Refuses to open a store, or a reader of one, in a child of a process that had a store open.
pub(crate) fn check_forks() -> PyResult<()> {
    if !IS_HEIR.load(Ordering::Relaxed) {
        return Ok(());
    }
    let expected = "expected a process without an open store when it forked, found a child of one \
                    that had one; close the store first, or start the child by \"spawn\"";
    Err(ClosedError::new_err(expected))
}

/// An open store, until it is closed or all its handles are dropped.
pub(crate) struct Opened(AtomicBool);

impl Opened {
    /// Counts a store that is about to be opened. Refused after a fork from a process that had one.
    pub(crate) fn new() -> PyResult<Self> {
        check_forks()?;
        OPEN.fetch_add(1, Ordering::Relaxed);
        Ok(Self(AtomicBool::new(true)))
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

/// Lets the interpreter tell of forks.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let keywords = PyDict::new(module.py());
    keywords.set_item("after_in_child", wrap_pyfunction!(forked, module)?)?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&keywords))?;
    Ok(())
}

/// A handle of a store, dropped while the lock of the interpreter is released.
pub(crate) struct Held<T: Send> {
    handle: ManuallyDrop<T>,
    /// Forks before it was made.
    forks: u64,
}

impl<T: Send> Held<T> {
    pub(crate) fn new(handle: T) -> Self {
        Self { handle: ManuallyDrop::new(handle), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// Whether this process is a child of the one that has made the handle.
    pub(crate) fn is_inherited(&self) -> bool {
        self.forks != FORKS.load(Ordering::Relaxed)
    }

    /// Refuses a write, or a wait for jobs, in a child of the process that has made the handle.
    pub(crate) fn check(&self) -> PyResult<()> {
        if !self.is_inherited() {
            return Ok(());
        }
        let expected = "expected the process that has opened the store, found a child of it";
        Err(ClosedError::new_err(expected))
    }
}

impl<T: Send> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.handle
    }
}

impl<T: Send> Drop for Held<T> {
    fn drop(&mut self) {
        if self.is_inherited() {
            return;
        }
        // SAFETY: `self` is being dropped, and its value is not used again.
        let handle = unsafe { ManuallyDrop::take(&mut self.handle) };
        let mut handle = Some(handle);
        // At the end of the interpreter no filter is asked any more, and no lock can be released.
        Python::try_attach(|py| py.detach(|| drop(handle.take())));
    }
}
