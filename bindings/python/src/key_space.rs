//! [`KeySpace`]: reads and writes of one key space. [`Db`](crate::db::Db) inherits those of the
//! default one.

use bytes::Bytes;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use terrace::{Bounds, Cursor, Durability};

use crate::arrow_put;
use crate::arrow_scan::ArrowScan;
use crate::batch::WriteBatch;
use crate::counter::Amounts;
use crate::error::{Raise, invalid};
use crate::held::{Held, Inherited};
use crate::input::{Input, bytes};
use crate::iterator::Iterator;
use crate::opened::Counted;
use crate::options::bounds;
use crate::ttl::Ttl;
use crate::view::memoryview;

/// A key space of a store: ordered keys and values.
#[pyclass(module = "terrace", subclass, frozen)]
pub(crate) struct KeySpace {
    pub(crate) handles: Held<Counted<Handles>>,
    pub(crate) amounts: Amounts,
}

/// A key space and its store.
#[derive(Clone)]
pub(crate) struct Handles {
    pub(crate) db: terrace::Db,
    pub(crate) space: terrace::KeySpace,
}

/// The key space that a call names, if it does.
pub(crate) fn given<'a>(
    key_space: &'a Option<Bound<'_, KeySpace>>,
) -> Result<Option<&'a terrace::KeySpace>, Inherited> {
    key_space.as_ref().map(|given| given.get().space()).transpose()
}

impl KeySpace {
    pub(crate) fn new(
        db: &Counted<terrace::Db>,
        space: terrace::KeySpace,
        amounts: Amounts,
    ) -> Self {
        let handles = Handles { db: terrace::Db::clone(db), space };
        Self { handles: Held::new(db.with(handles)), amounts }
    }

    pub(crate) fn space(&self) -> Result<&terrace::KeySpace, Inherited> {
        Ok(&self.handles.get()?.space)
    }

    fn read(&self, py: Python<'_>, key: &[u8]) -> PyResult<Option<Bytes>> {
        let space = self.space()?;
        py.detach(|| space.get(key)).or_raise(py)
    }

    fn cursor(&self, py: Python<'_>, range: Bounds) -> PyResult<Counted<Cursor>> {
        let handles = self.handles.get()?;
        let cursor = py.detach(|| handles.space.cursor(range)).or_raise(py)?;
        Ok(handles.with(cursor))
    }
}

/// The handle for writes that are durable when they return, or the same handle.
fn with(space: &terrace::KeySpace, sync: bool) -> terrace::KeySpace {
    match sync {
        true => space.with_durability(Durability::Synced),
        false => space.clone(),
    }
}

#[pymethods]
impl KeySpace {
    /// The name of the key space.
    #[getter]
    fn name(&self) -> &str {
        self.handles.peek().space.name()
    }

    /// The value under a key; `default` if there is none.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Input,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self.read(py, &key)? {
            Some(value) => Some(PyBytes::new(py, &value).into_any()),
            None => default,
        })
    }

    /// The value under a key as a `memoryview` of the store's own bytes; None if there is none.
    fn get_view<'py>(&self, py: Python<'py>, key: Input) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.read(py, &key)?.map(|value| memoryview(py, value)).transpose()
    }

    /// The values under several keys, in their order; None for a key without a value.
    fn multi_get<'py>(
        &self,
        py: Python<'py>,
        keys: Vec<Input>,
    ) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
        let space = self.space()?;
        let found = py.detach(|| space.multi_get(&keys)).or_raise(py)?;
        Ok(found.into_iter().map(|value| value.map(|value| PyBytes::new(py, &value))).collect())
    }

    /// Stores a value under a key. `sync`: the call returns when the entry is on the medium. `ttl`:
    /// seconds, or a `timedelta`, after which the key has no value.
    #[pyo3(signature = (key, value, *, sync=false, ttl=None))]
    fn put(
        &self,
        py: Python<'_>,
        key: Input,
        value: Input,
        sync: bool,
        ttl: Option<Ttl>,
    ) -> PyResult<()> {
        let space = self.space()?;
        py.detach(|| match (sync, ttl) {
            (true, None) => with(space, true).put(&key, &value),
            (false, None) => space.put(&key, &value),
            (sync, Some(ttl)) => with(space, sync).put_with_ttl(&key, &value, ttl.0),
        })
        .or_raise(py)
    }

    /// Combines the value under a key with an operand, without reading it, by the operator that the
    /// store was opened with (`counters` or `append` of `open`).
    #[pyo3(signature = (key, operand, *, sync=false))]
    fn merge(&self, py: Python<'_>, key: Input, operand: Input, sync: bool) -> PyResult<()> {
        let space = self.space()?;
        py.detach(|| with(space, sync).merge(&key, &operand)).or_raise(py)
    }

    /// Adds to the number under a key, without reading it, in a store that was opened with
    /// `counters`. A key without a value counts from 0.
    #[pyo3(signature = (key, amount=1, *, sync=false))]
    fn add(&self, py: Python<'_>, key: Input, amount: i64, sync: bool) -> PyResult<()> {
        let space = self.space()?;
        let operand = self.amounts.operand(amount)?;
        py.detach(|| with(space, sync).merge(&key, &operand)).or_raise(py)
    }

    /// Removes a key, if it is there.
    #[pyo3(signature = (key, *, sync=false))]
    fn delete(&self, py: Python<'_>, key: Input, sync: bool) -> PyResult<()> {
        let space = self.space()?;
        py.detach(|| with(space, sync).delete(&key)).or_raise(py)
    }

    /// Removes all keys of a range, by one write.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, sync=false))]
    fn delete_range(
        &self,
        py: Python<'_>,
        start: Option<Input>,
        stop: Option<Input>,
        prefix: Option<Input>,
        sync: bool,
    ) -> PyResult<()> {
        let space = self.space()?;
        let range = bounds(bytes(&start), bytes(&stop), (true, false), bytes(&prefix))?;
        py.detach(|| with(space, sync).delete_range(range)).or_raise(py)
    }

    /// Stores `value` under `key` if the current value is `expected`, or if there is none and
    /// `expected` is None; returns whether it was stored.
    #[pyo3(signature = (key, expected, value, *, ttl=None))]
    fn put_if(
        &self,
        py: Python<'_>,
        key: Input,
        expected: Option<Input>,
        value: Input,
        ttl: Option<Ttl>,
    ) -> PyResult<bool> {
        let space = self.space()?;
        py.detach(|| match ttl {
            Some(ttl) => space.put_if_with_ttl(&key, bytes(&expected), &value, ttl.0),
            None => space.put_if(&key, bytes(&expected), &value),
        })
        .or_raise(py)
    }

    /// Removes `key` if its value is `expected`; returns whether it was removed.
    fn delete_if(&self, py: Python<'_>, key: Input, expected: Input) -> PyResult<bool> {
        let space = self.space()?;
        py.detach(|| space.delete_if(&key, &expected)).or_raise(py)
    }

    /// Whether no key of a range has a value. Mostly known without reading data.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn is_empty(
        &self,
        py: Python<'_>,
        start: Option<Input>,
        stop: Option<Input>,
        prefix: Option<Input>,
    ) -> PyResult<bool> {
        let space = self.space()?;
        let range = bounds(bytes(&start), bytes(&stop), (true, false), bytes(&prefix))?;
        py.detach(|| space.is_empty(range)).or_raise(py)
    }

    /// The approximate bytes of tables in a range, as stored. Entries that are only in memory and
    /// log do not count.
    fn approximate_size(&self, py: Python<'_>, start: Input, stop: Input) -> PyResult<u64> {
        let space = self.space()?;
        let range = bounds(Some(&start), Some(&stop), (true, false), None)?;
        Ok(py.detach(|| space.size_of(range)).or_raise(py)?.0)
    }

    /// The approximate sizes of several ranges, each a pair of start and stop.
    #[pyo3(signature = (*ranges))]
    fn approximate_sizes(&self, py: Python<'_>, ranges: Vec<(Input, Input)>) -> PyResult<Vec<u64>> {
        let sizes = ranges.into_iter();
        sizes.map(|(start, stop)| self.approximate_size(py, start, stop)).collect()
    }

    /// An iterator over a range, with the keywords of `plyvel`.
    #[pyo3(signature = (*, start=None, stop=None, include_start=true, include_stop=false,
                        prefix=None, reverse=false, include_key=true, include_value=true))]
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
    ) -> PyResult<Iterator> {
        let included = (include_start, include_stop);
        let range = bounds(bytes(&start), bytes(&stop), included, bytes(&prefix))?;
        Ok(Iterator::new(self.cursor(py, range)?, reverse, include_key, include_value))
    }

    /// The entries of a range, as they are now, for libraries that read Arrow: an object with
    /// `__arrow_c_stream__`, whose batches have two binary columns, `key` and `value`. `batch`: the
    /// most entries of one. The object can be consumed once.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, reverse=false, batch=65_536))]
    fn scan_arrow(
        &self,
        py: Python<'_>,
        start: Option<Input>,
        stop: Option<Input>,
        prefix: Option<Input>,
        reverse: bool,
        batch: usize,
    ) -> PyResult<ArrowScan> {
        if batch == 0 {
            return Err(invalid("batch: expected 1 entry or more, found 0"));
        }
        let range = bounds(bytes(&start), bytes(&stop), (true, false), bytes(&prefix))?;
        Ok(ArrowScan::new(self.cursor(py, range)?, reverse, batch))
    }

    /// Puts all rows of an object with `__arrow_c_stream__`, as a table of `pyarrow` or a data
    /// frame of `polars`: two columns of it, of binary or text without nulls. Returns the number of
    /// rows. Rows are written in batches of some MiB; if an exception ends the call, its attribute
    /// `stored` has the number of the rows before it, which stay.
    #[pyo3(signature = (source, *, key="key", value="value", sync=false))]
    fn put_arrow(
        &self,
        source: Bound<'_, PyAny>,
        key: &str,
        value: &str,
        sync: bool,
    ) -> PyResult<u64> {
        let handles = self.handles.get()?;
        let stream = arrow_put::stream_of(&source)?;
        let durability = if sync { Durability::Synced } else { handles.db.durability() };
        let target = arrow_put::Target { handles: &self.handles, durability };
        arrow_put::put_all(source.py(), &target, stream, (key, value))
    }

    /// A batch of writes, which take effect together: a context manager as in `plyvel`.
    #[pyo3(signature = (*, transaction=false, sync=false))]
    fn write_batch(slf: Bound<'_, Self>, transaction: bool, sync: bool) -> PyResult<WriteBatch> {
        Ok(WriteBatch::new(slf.get(), transaction, sync)?)
    }

    /// Merges the tables of a range until no key is in several runs.
    #[pyo3(signature = (*, start=None, stop=None))]
    fn compact_range(
        &self,
        py: Python<'_>,
        start: Option<Input>,
        stop: Option<Input>,
    ) -> PyResult<()> {
        let space = self.space()?;
        let range = bounds(bytes(&start), bytes(&stop), (true, false), None)?;
        py.detach(|| space.compact(range)).or_raise(py)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: Input) -> PyResult<Bound<'py, PyBytes>> {
        match self.read(py, &key)? {
            Some(value) => Ok(PyBytes::new(py, &value)),
            None => Err(PyKeyError::new_err(PyBytes::new(py, &key).unbind())),
        }
    }

    fn __setitem__(&self, py: Python<'_>, key: Input, value: Input) -> PyResult<()> {
        self.put(py, key, value, false, None)
    }

    /// Removes a key. Unlike in a dictionary, an absent key is no error: a check would cost a read.
    fn __delitem__(&self, py: Python<'_>, key: Input) -> PyResult<()> {
        self.delete(py, key, false)
    }

    fn __contains__(&self, py: Python<'_>, key: Input) -> PyResult<bool> {
        let space = self.space()?;
        py.detach(|| space.contains(&key)).or_raise(py)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Iterator> {
        self.iterator(py, None, None, true, false, None, false, true, true)
    }

    fn __repr__(&self) -> String {
        format!("<terrace.KeySpace {:?}>", self.name())
    }
}
