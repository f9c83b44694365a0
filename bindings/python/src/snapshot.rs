//! [`Snapshot`]: the entries of a store at one moment.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{ClosedError, Raise};
use crate::held::Held;
use crate::input::{Input, bytes};
use crate::iterator::Iterator;
use crate::key_space::KeySpace;
use crate::options::bounds;

/// The entries of a store when the snapshot was made. While it is open, the store keeps them;
/// `close`, or the end of a `with` block, ends it.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct Snapshot {
    snapshot: Mutex<Option<terrace::Snapshot>>,
    space: Held<terrace::KeySpace>,
}

impl Snapshot {
    pub(crate) fn new(snapshot: terrace::Snapshot, space: terrace::KeySpace) -> Self {
        Self { snapshot: Mutex::new(Some(snapshot)), space: Held::new(space) }
    }

    /// A handle of the snapshot, and the key space to read.
    fn handle<'a>(
        &'a self,
        other: &'a Option<Bound<'_, KeySpace>>,
    ) -> PyResult<(terrace::Snapshot, &'a terrace::KeySpace)> {
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let space: &terrace::KeySpace = match other {
            Some(space) => &space.get().space,
            None => &self.space,
        };
        snapshot
            .map(|snapshot| (snapshot, space))
            .ok_or_else(|| ClosedError::new_err("expected an open snapshot, found a closed one"))
    }

    fn read(
        &self,
        py: Python<'_>,
        key: &[u8],
        key_space: &Option<Bound<'_, KeySpace>>,
    ) -> PyResult<Option<Bytes>> {
        let (snapshot, space) = self.handle(key_space)?;
        py.detach(|| snapshot.key_space(space)?.get(key)).or_raise(py)
    }
}

#[pymethods]
impl Snapshot {
    /// The value under a key; `default` if there is none.
    #[pyo3(signature = (key, default=None, *, key_space=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Input,
        default: Option<Bound<'py, PyAny>>,
        key_space: Option<Bound<'py, KeySpace>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self.read(py, &key, &key_space)? {
            Some(value) => Some(PyBytes::new(py, &value).into_any()),
            None => default,
        })
    }

    /// An iterator over a range, with the keywords of `plyvel`.
    #[pyo3(signature = (*, start=None, stop=None, include_start=true, include_stop=false,
                        prefix=None, reverse=false, include_key=true, include_value=true,
                        key_space=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of plyvel")]
    fn iterator(
        &self,
        py: Python<'_>,
        start: Option<Input>,
        stop: Option<Input>,
        include_start: bool,
        include_stop: bool,
        prefix: Option<Input>,
        reverse: bool,
        include_key: bool,
        include_value: bool,
        key_space: Option<Bound<'_, KeySpace>>,
    ) -> PyResult<Iterator> {
        let included = (include_start, include_stop);
        let range = bounds(bytes(&start), bytes(&stop), included, bytes(&prefix))?;
        let (snapshot, space) = self.handle(&key_space)?;
        let cursor = py.detach(|| snapshot.key_space(space)?.cursor(range)).or_raise(py)?;
        Ok(Iterator::new(cursor, reverse, include_key, include_value))
    }

    /// Ends the snapshot.
    fn close(&self, py: Python<'_>) {
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(snapshot));
    }

    fn __contains__(&self, py: Python<'_>, key: Input) -> PyResult<bool> {
        Ok(self.read(py, &key, &None)?.is_some())
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Iterator> {
        self.iterator(py, None, None, true, false, None, false, true, true, None)
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
