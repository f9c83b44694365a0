//! [`Iterator`]: a walk over the entries of a range in both directions, as they were when it was
//! made, with the calls of `plyvel`.
//!
//! An iterator stands between two entries: `next` returns the entry after it and passes that entry,
//! `prev` returns the entry before it. `reverse=True` exchanges the two.
//!
//! Entries are fetched [`AHEAD`] at a time in the direction of the walk, with the lock of the
//! interpreter released. A change of the direction drops them, and the cursor is placed anew by the
//! key that was passed last.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use terrace::Cursor;

use crate::error::{ClosedError, raised};
use crate::input::Input;

/// Entries that are fetched at a time.
const AHEAD: usize = 64;

/// Bytes of values after which no further entry is fetched ahead.
const AHEAD_BYTES: usize = 64 << 10;

/// A walk over the entries of a range.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct Iterator {
    walk: Mutex<Walk>,
    is_reverse: bool,
    has_keys: bool,
    has_values: bool,
}

/// A place between two entries.
enum Place {
    Start,
    Stop,
    Before(Bytes),
    After(Bytes),
}

struct Walk {
    /// `None` once the iterator is closed.
    cursor: Option<Cursor>,
    place: Place,
    /// Entries after the place in the direction of the walk, the next one first.
    fetched: VecDeque<(Bytes, Bytes)>,
    is_forward: bool,
}

impl Walk {
    /// The next entry in a direction.
    fn step(&mut self, is_forward: bool) -> Result<Option<(Bytes, Bytes)>, terrace::Error> {
        if is_forward != self.is_forward {
            self.fetched.clear();
            self.is_forward = is_forward;
        }
        if self.fetched.is_empty() {
            self.fetch()?;
        }
        let Some((key, value)) = self.fetched.pop_front() else { return Ok(None) };
        self.place = match is_forward {
            true => Place::After(key.clone()),
            false => Place::Before(key.clone()),
        };
        Ok(Some((key, value)))
    }

    fn fetch(&mut self) -> Result<(), terrace::Error> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        let is_forward = self.is_forward;
        let mut is_there = match (&self.place, is_forward) {
            (Place::Start, true) => cursor.seek_to_first()?,
            (Place::Stop, false) => cursor.seek_to_last()?,
            (Place::Start, false) | (Place::Stop, true) => false,
            (Place::Before(key), true) => cursor.seek(key)?,
            (Place::After(key), false) => cursor.seek_back(key)?,
            (Place::After(key), true) => {
                let is_there = cursor.seek(key)?;
                if is_there && cursor.key() == &key[..] { cursor.next()? } else { is_there }
            }
            (Place::Before(key), false) => {
                let is_there = cursor.seek_back(key)?;
                if is_there && cursor.key() == &key[..] { cursor.prev()? } else { is_there }
            }
        };
        let mut bytes = 0;
        while is_there {
            let (key, value) = (Bytes::copy_from_slice(cursor.key()), cursor.value());
            bytes += key.len() + value.len();
            self.fetched.push_back((key, value));
            if self.fetched.len() >= AHEAD || bytes >= AHEAD_BYTES {
                return Ok(());
            }
            is_there = if is_forward { cursor.next()? } else { cursor.prev()? };
        }
        Ok(())
    }

    fn put_at(&mut self, place: Place) {
        self.fetched.clear();
        self.place = place;
    }
}

impl Iterator {
    pub(crate) fn new(
        cursor: Cursor,
        is_reverse: bool,
        has_keys: bool,
        has_values: bool,
    ) -> Self {
        let place = if is_reverse { Place::Stop } else { Place::Start };
        let (cursor, fetched) = (Some(cursor), VecDeque::new());
        let walk = Mutex::new(Walk { cursor, place, fetched, is_forward: !is_reverse });
        Self { walk, is_reverse, has_keys, has_values }
    }

    /// The walk. After a panic it may have dropped fetched entries, and fetches them again.
    fn walk(&self) -> MutexGuard<'_, Walk> {
        self.walk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step<'py>(&self, py: Python<'py>, is_forward: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        let step = py.detach(|| {
            let mut walk = self.walk();
            let is_closed = walk.cursor.is_none();
            (walk.step(is_forward), is_closed)
        });
        let (Ok(entry), is_closed) = step else {
            return Err(raised(py, &step.0.expect_err("checked")));
        };
        if is_closed {
            return Err(ClosedError::new_err("expected an open iterator, found a closed one"));
        }
        let Some((key, value)) = entry else { return Ok(None) };
        let (key, value) = (|| PyBytes::new(py, &key), || PyBytes::new(py, &value));
        Ok(Some(match (self.has_keys, self.has_values) {
            (true, true) => PyTuple::new(py, [key(), value()])?.into_any(),
            (true, false) => key().into_any(),
            (false, true) => value().into_any(),
            (false, false) => py.None().into_bound(py),
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

    /// The entry before the place of the iterator, which goes back over it.
    fn prev<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.step(py, self.is_reverse)?.ok_or_else(|| PyStopIteration::new_err(()))
    }

    /// Goes before the first key that is not before `target`; in a reverse iterator after the last
    /// key that is not after it.
    fn seek(&self, target: Input) {
        let target = Bytes::copy_from_slice(&target);
        let place = if self.is_reverse { Place::After(target) } else { Place::Before(target) };
        self.walk().put_at(place);
    }

    /// Goes before the first entry of the range.
    fn seek_to_start(&self) {
        self.walk().put_at(if self.is_reverse { Place::Stop } else { Place::Start });
    }

    /// Goes after the last entry of the range.
    fn seek_to_stop(&self) {
        self.walk().put_at(if self.is_reverse { Place::Start } else { Place::Stop });
    }

    /// Ends the walk: entries that only the iterator kept can be dropped by the store.
    fn close(&self, py: Python<'_>) {
        let cursor = {
            let mut walk = self.walk();
            walk.fetched.clear();
            walk.cursor.take()
        };
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
