//! [`Snapshot`]: the entries of a store at one moment.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::closable::Closable;
use crate::error::Raise;
use crate::input::{Input, bytes};
use crate::iterator::Iterator;
use crate::key_space::{KeySpace, given};
use crate::opened::Counted;
use crate::options::bounds;

/// The entries of a store when the snapshot was made. While it is open, the store keeps them;
/// `close`, or the end of a `with` block, ends it.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct Snapshot(Closable<Handles>);

struct Handles {
    snapshot: terrace::Snapshot,
    /// The key space of reads that name no other.
    space: terrace::KeySpace,
}

impl Snapshot {
    pub(crate) fn new(
        of: &Counted<terrace::Db>,
        snapshot: terrace::Snapshot,
        space: terrace::KeySpace,
    ) -> Self {
        let handles = of.with(Handles { snapshot, space });
        Self(Closable::new(handles, "expected an open snapshot, found a closed one"))
    }

    fn read(
        &self,
        py: Python<'_>,
        key: &[u8],
        key_space: &Option<Bound<'_, KeySpace>>,
    ) -> PyResult<Option<Bytes>> {
        let (handles, given) = (self.0.get()?, given(key_space)?);
        py.detach(move || {
            let space = given.unwrap_or(&handles.space);
            handles.snapshot.key_space(space)?.get(key)
        })
        .or_raise(py)
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
        let (handles, given) = (self.0.get()?, given(&key_space)?);
        let made = py.detach(move || {
            let space = given.unwrap_or(&handles.space);
            let cursor = handles.snapshot.key_space(space)?.cursor(range)?;
            Ok::<_, terrace::Error>(handles.with(cursor))
        });
        let cursor = made.or_raise(py)?;
        Ok(Iterator::new(cursor, reverse, include_key, include_value))
    }

    /// Ends the snapshot. No effect in a child of `fork`.
    fn close(&self, py: Python<'_>) {
        self.0.close(py);
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
