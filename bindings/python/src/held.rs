//! [`Held`]: the part of a Python object that comes from the store: handles, values and locks.
//!
//! The last handle ends the store when it is dropped: it waits for background jobs, and these may
//! wait for the interpreter, to ask a [filter](crate::filter). So the drop releases the lock of the
//! interpreter.
//!
//! A child of `fork` has the objects of its parent, but not the threads of the parent. A lock that
//! such a thread had at the fork is never released in the child, and the files are still those of
//! the parent. So in a child:
//! - [`Held::get`] refuses: calls raise `ClosedError`;
//! - a drop has no effect.
//!
//! Each class has one `Held` with all of them. [`Held::peek`] reads values that need no lock, or
//! one that no thread has at a fork, as it is only taken with the lock of the interpreter.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::ClosedError;
use crate::opened;

/// Forks from the process that has loaded the module to this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Notes that this process is a child: registered with `os.register_at_fork`.
#[pyfunction]
fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    opened::note_fork();
}

/// Lets the interpreter tell of forks.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let keywords = PyDict::new(module.py());
    keywords.set_item("after_in_child", wrap_pyfunction!(forked, module)?)?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&keywords))?;
    Ok(())
}

/// The error of a call in a child of the process that has made the object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inherited;

impl Inherited {
    pub(crate) const MESSAGE: &str =
        "expected the process that has opened the store, found a child of it";
}

impl From<Inherited> for PyErr {
    #[cold]
    fn from(_: Inherited) -> Self {
        ClosedError::new_err(Inherited::MESSAGE)
    }
}

/// Why a [`Held`] has its value.
const VALUE: &str = "a value until the drop";

/// See the [module](self).
pub(crate) struct Held<T: Send> {
    /// `None` once it is dropped.
    value: Option<T>,
    /// Forks before it was made.
    forks: u64,
}

impl<T: Send> Held<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// Whether this process is a child of the one that has made the value.
    fn is_inherited(&self) -> bool {
        self.forks != FORKS.load(Ordering::Relaxed)
    }

    /// The value. Refused in a child of the process that has made it.
    pub(crate) fn get(&self) -> Result<&T, Inherited> {
        if self.is_inherited() { Err(Inherited) } else { Ok(self.peek()) }
    }

    /// As [`get`](Self::get).
    pub(crate) fn get_mut(&mut self) -> Result<&mut T, Inherited> {
        if self.is_inherited() {
            return Err(Inherited);
        }
        Ok(self.value.as_mut().expect(VALUE))
    }

    /// The value, in a child as well: only for reads that take no lock.
    pub(crate) fn peek(&self) -> &T {
        self.value.as_ref().expect(VALUE)
    }

    /// Drops the value in this thread, which may have the lock of the interpreter or not: for the
    /// drop of an owner that cannot know it. Without effect in a child.
    pub(crate) fn drop_here(&mut self) {
        let value = self.value.take();
        if self.is_inherited() {
            std::mem::forget(value);
        }
    }
}

/// The caller has the lock of the interpreter, or may wait for it.
impl<T: Send> Drop for Held<T> {
    fn drop(&mut self) {
        if self.is_inherited() || self.value.is_none() {
            return self.drop_here();
        }
        // At the end of the interpreter no filter is asked any more, and no lock can be released.
        Python::try_attach(|py| py.detach(|| self.drop_here()));
    }
}
