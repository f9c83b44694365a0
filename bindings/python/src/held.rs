//! [`Held`]: a handle that keeps a store open, in a class of Python.
//!
//! The last handle ends the store when it is dropped: it waits for background jobs, and these may
//! wait for the interpreter, to ask a [filter](crate::filter). So the drop releases the lock of the
//! interpreter.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use pyo3::Python;

/// A handle of a store, dropped while the lock of the interpreter is released.
pub(crate) struct Held<T: Send>(ManuallyDrop<T>);

impl<T: Send> Held<T> {
    pub(crate) fn new(handle: T) -> Self {
        Self(ManuallyDrop::new(handle))
    }
}

impl<T: Send> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send> Drop for Held<T> {
    fn drop(&mut self) {
        // SAFETY: `self` is being dropped, and its value is not used again.
        let handle = unsafe { ManuallyDrop::take(&mut self.0) };
        let mut handle = Some(handle);
        // At the end of the interpreter no filter is asked any more, and no lock can be released.
        Python::try_attach(|py| py.detach(|| drop(handle.take())));
    }
}
