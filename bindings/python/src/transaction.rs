//! [`Transaction`]: reads and writes that take effect as if they were done at once.
//!
//! As a context manager it is committed at the end of the block, and rolled back after an
//! exception. A commit raises `ConflictError` if another writer has changed a key or a range that
//! the transaction had read.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use terrace::TransactionKeySpace;

use crate::closable::Closable;
use crate::counter::Amounts;
use crate::error::{ClosedError, Raise};
use crate::input::{Input, bytes};
use crate::key_space::{KeySpace, given};
use crate::opened::Counted;
use crate::options::bounds;
use crate::ttl::Ttl;

/// Reads and writes that take effect as if they were done at once.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct Transaction {
    handles: Closable<Handles>,
    amounts: Amounts,
}

struct Handles {
    transaction: terrace::Transaction,
    /// The key space of calls that name no other.
    space: terrace::KeySpace,
}

impl Transaction {
    pub(crate) fn new(
        of: &Counted<terrace::Db>,
        transaction: terrace::Transaction,
        space: terrace::KeySpace,
        amounts: Amounts,
    ) -> Self {
        let handles = of.with(Handles { transaction, space });
        let closed = "expected an open transaction, found one that has ended";
        Self { handles: Closable::new(handles, closed), amounts }
    }

    /// The result of a call of the transaction's part of a key space.
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        key_space: &Option<Bound<'_, KeySpace>>,
        call: impl Send + FnOnce(TransactionKeySpace<'_>) -> Result<T, terrace::Error>,
    ) -> PyResult<T> {
        let (handles, given) = (self.handles.get()?, given(key_space)?);
        py.detach(move || {
            let space = given.unwrap_or(&handles.space);
            call(handles.transaction.key_space(space)?)
        })
        .or_raise(py)
    }
}

#[pymethods]
impl Transaction {
    /// The value under a key, with the transaction's own writes. The key counts as read.
    #[pyo3(signature = (key, default=None, *, key_space=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Input,
        default: Option<Bound<'py, PyAny>>,
        key_space: Option<Bound<'py, KeySpace>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.call(py, &key_space, |space| space.get(&key))?;
        Ok(found.map_or(default, |value| Some(PyBytes::new(py, &value).into_any())))
    }

    /// Stores a value under a key at the commit. `ttl`: seconds from now, or a `timedelta`, after
    /// which the key has no value.
    #[pyo3(signature = (key, value, *, key_space=None, ttl=None))]
    fn put(
        &self,
        py: Python<'_>,
        key: Input,
        value: Input,
        key_space: Option<Bound<'_, KeySpace>>,
        ttl: Option<Ttl>,
    ) -> PyResult<()> {
        self.call(py, &key_space, |space| match ttl {
            Some(ttl) => space.put_with_ttl(&key, &value, ttl.0),
            None => space.put(&key, &value),
        })
    }

    /// Writes an operand at the commit, as `KeySpace.merge` does. The key does not count as read.
    #[pyo3(signature = (key, operand, *, key_space=None))]
    fn merge(
        &self,
        py: Python<'_>,
        key: Input,
        operand: Input,
        key_space: Option<Bound<'_, KeySpace>>,
    ) -> PyResult<()> {
        self.call(py, &key_space, |space| space.merge(&key, &operand))
    }

    /// Adds to the number under a key at the commit, as `KeySpace.add` does. The key does not count
    /// as read.
    #[pyo3(signature = (key, amount=1, *, key_space=None))]
    fn add(
        &self,
        py: Python<'_>,
        key: Input,
        amount: i64,
        key_space: Option<Bound<'_, KeySpace>>,
    ) -> PyResult<()> {
        let operand = self.amounts.operand(amount)?;
        self.call(py, &key_space, |space| space.merge(&key, &operand))
    }

    /// Removes a key at the commit.
    #[pyo3(signature = (key, *, key_space=None))]
    fn delete(
        &self,
        py: Python<'_>,
        key: Input,
        key_space: Option<Bound<'_, KeySpace>>,
    ) -> PyResult<()> {
        self.call(py, &key_space, |space| space.delete(&key))
    }

    /// Removes all keys of a range at the commit.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, key_space=None))]
    fn delete_range(
        &self,
        py: Python<'_>,
        start: Option<Input>,
        stop: Option<Input>,
        prefix: Option<Input>,
        key_space: Option<Bound<'_, KeySpace>>,
    ) -> PyResult<()> {
        let range = bounds(bytes(&start), bytes(&stop), (true, false), bytes(&prefix))?;
        self.call(py, &key_space, |space| space.delete_range(range))
    }

    /// The entries of a range as a list, with the transaction's own writes: at most `limit` of
    /// them. The part of the range up to the last entry, or all of it, counts as read.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, reverse=false, limit=None,
                        key_space=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a scan")]
    fn scan<'py>(
        &self,
        py: Python<'py>,
        start: Option<Input>,
        stop: Option<Input>,
        prefix: Option<Input>,
        reverse: bool,
        limit: Option<usize>,
        key_space: Option<Bound<'py, KeySpace>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let range = bounds(bytes(&start), bytes(&stop), (true, false), bytes(&prefix))?;
        let limit = limit.unwrap_or(usize::MAX);
        let found = self.call(py, &key_space, |space| {
            let scan = space.scan(range)?;
            match reverse {
                true => scan.rev().take(limit).collect::<Result<Vec<_>, terrace::Error>>(),
                false => scan.take(limit).collect(),
            }
        })?;
        let entries = found.into_iter().map(|(key, value)| {
            PyTuple::new(py, [PyBytes::new(py, &key), PyBytes::new(py, &value)])
        });
        PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)
    }

    /// Applies all writes at once; raises `ConflictError`, and applies none, if a key that was read
    /// has been written since.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let handles = Arc::try_unwrap(self.handles.take()?).map_err(|_| {
            ClosedError::new_err("expected no call of another thread, found one that is running")
        })?;
        py.detach(|| handles.consume(|handles| handles.transaction.commit())).or_raise(py)
    }

    /// Ends the transaction without a write. No effect in a child of `fork`.
    fn rollback(&self, py: Python<'_>) {
        self.handles.close(py);
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        exception: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        match exception.is_none() {
            // If the block has ended the transaction itself, there is no more to do.
            true if self.handles.is_closed() => {}
            true => self.commit(py)?,
            false => self.rollback(py),
        }
        Ok(())
    }
}
