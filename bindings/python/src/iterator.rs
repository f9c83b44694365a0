//! [`Iterator`]: a walk over the entries of a range in both directions, as they were when it was
//! made, with the calls of `plyvel`.
//!
//! An iterator stands between two entries: `next` returns the entry after it and passes that entry,
//! `prev` returns the entry before it. `reverse=True` exchanges the two.
//!
//! Entries are fetched several at a time in the direction of the walk ([`Walk`]), with the lock of
//! the interpreter released; a step that finds an entry fetched does not release it.
//!
//! A thread that fetches has the lock of the walk. In a child of `fork` that lock may never be
//! released: a step raises `ClosedError`, even if its entry is fetched.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyTuple};
use terrace::Cursor;

use crate::error::{ClosedError, Raise};
use crate::held::{Held, Inherited};
use crate::input::Input;
use crate::opened::Counted;
use crate::walk::{Place, Walk};

/// A walk over the entries of a range.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct Iterator {
    walk: Held<Mutex<Walk>>,
    is_reverse: bool,
    has_keys: bool,
    has_values: bool,
}

impl Iterator {
    pub(crate) fn new(
        cursor: Counted<Cursor>,
        is_reverse: bool,
        has_keys: bool,
        has_values: bool,
    ) -> Self {
        let walk = Held::new(Mutex::new(Walk::new(cursor, !is_reverse)));
        Self { walk, is_reverse, has_keys, has_values }
    }

    /// The walk. No thread waits for it while it holds the lock of the interpreter. After a panic
    /// the walk may have dropped fetched entries, and fetches them again.
    fn walk<'a>(&'a self, py: Python<'_>) -> Result<MutexGuard<'a, Walk>, Inherited> {
        Ok(self.walk.get()?.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }

    fn step<'py>(&self, py: Python<'py>, is_forward: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut guard = self.walk(py)?;
        let walk = &mut *guard;
        if walk.is_closed() {
            return Err(ClosedError::new_err("expected an open iterator, found a closed one"));
        }
        if walk.is_fetch_due(is_forward) {
            py.detach(|| walk.fetch(is_forward)).or_raise(py)?;
        }
        let Some((key, value)) = walk.step() else { return Ok(None) };
        // The making of `bytes` runs no code of Python, which could ask for the walk again; the
        // making of a tuple may collect garbage.
        let key = self.has_keys.then(|| PyBytes::new(py, key));
        let value = self.has_values.then(|| PyBytes::new(py, value));
        drop(guard);
        Ok(Some(match (key, value) {
            (Some(key), Some(value)) => PyTuple::new(py, [key, value])?.into_any(),
            (Some(one), None) | (None, Some(one)) => one.into_any(),
            (None, None) => py.None().into_bound(py),
        }))
    }
}

#[pymethods]
impl Iterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.step(py, !self.is_reverse)
    }

    /// The entry before the iterator's place, which moves back over it.
    fn prev<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.step(py, self.is_reverse)?.ok_or_else(|| PyStopIteration::new_err(()))
    }

    /// Goes before the first key that is not before `target`; in a reverse iterator after the last
    /// key that is not after it.
    fn seek(&self, py: Python<'_>, target: Input) -> PyResult<()> {
        let target = Bytes::copy_from_slice(&target);
        let place = if self.is_reverse { Place::After(target) } else { Place::Before(target) };
        self.walk(py)?.put_at(place);
        Ok(())
    }

    /// Goes before the first entry of the range.
    fn seek_to_start(&self, py: Python<'_>) -> PyResult<()> {
        self.walk(py)?.put_at(if self.is_reverse { Place::Stop } else { Place::Start });
        Ok(())
    }

    /// Goes after the last entry of the range.
    fn seek_to_stop(&self, py: Python<'_>) -> PyResult<()> {
        self.walk(py)?.put_at(if self.is_reverse { Place::Start } else { Place::Stop });
        Ok(())
    }

    /// Ends the walk: the store can drop entries that only the iterator kept. No effect in a child
    /// of `fork`.
    fn close(&self, py: Python<'_>) {
        let Ok(mut walk) = self.walk(py) else { return };
        let cursor = walk.close();
        drop(walk);
        py.detach(|| drop(cursor));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _exception: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.close(py);
    }
}
