//! [`Held`]: a handle that keeps a store open, in a class of Python.
//!
//! The last handle ends the store when it is dropped: it waits for background jobs, and these may
//! wait for the interpreter, to ask a [filter](crate::filter). So the drop releases the lock of the
//! interpreter.
//!
//! A child of `fork` has the handles of its parent, but not the threads of the store, which is the
//! parent's. There a drop has no effect: it would wait for jobs that do not run, write to files
//! that the parent writes, and take the lock of the store away.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use pyo3::Python;

/// A handle of a store, dropped while the lock of the interpreter is released.
pub(crate) struct Held<T: Send> {
    handle: ManuallyDrop<T>,
    /// The process that has made the handle.
    process: u32,
}

impl<T: Send> Held<T> {
    pub(crate) fn new(handle: T) -> Self {
        Self { handle: ManuallyDrop::new(handle), process: std::process::id() }
    }

    /// Whether this process is a child of the one that has made the handle.
    pub(crate) fn is_inherited(&self) -> bool {
        self.process != std::process::id()
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
