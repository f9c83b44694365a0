//! [`Transaction`]: reads and writes that take effect as if they were done at once.
//!
//! As a context manager it is committed at the end of the block, and rolled back after an
//! exception. A commit raises `ConflictError` if another writer has changed a key or a range that
//! the transaction had read.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::counter::Amounts;
use crate::error::{ClosedError, Raise};
use crate::held::Held;
use crate::input::{Input, bytes};
use crate::key_space::KeySpace;
use crate::options::bounds;
use crate::ttl::Ttl;

/// Reads and writes that take effect as if they were done at once.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct Transaction {
    /// `None` once it has ended. Running calls share it.
    transaction: Mutex<Option<Arc<terrace::Transaction>>>,
    space: Held<terrace::KeySpace>,
    amounts: Amounts,
}

impl Transaction {
    pub(crate) fn new(
        transaction: terrace::Transaction,
        space: terrace::KeySpace,
        amounts: Amounts,
    ) -> Self {
        let transaction = Mutex::new(Some(Arc::new(transaction)));
        Self { transaction, space: Held::new(space), amounts }
    }

    fn take(&self) -> Option<Arc<terrace::Transaction>> {
        self.transaction.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn handle<'a>(
        &'a self,
        other: &'a Option<Bound<'_, KeySpace>>,
    ) -> PyResult<(Arc<terrace::Transaction>, &'a terrace::KeySpace)> {
        let open = self.transaction.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let space: &terrace::KeySpace = match other {
            Some(space) => &space.get().space,
            None => &self.space,
        };
        open.map(|transaction| (transaction, space)).ok_or_else(ended)
    }
}

fn ended() -> PyErr {
    ClosedError::new_err("expected an open transaction, found one that has ended")
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
        let (transaction, space) = self.handle(&key_space)?;
        let found = py.detach(|| transaction.key_space(space)?.get(&key)).or_raise(py)?;
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
        let (transaction, space) = self.handle(&key_space)?;
        py.detach(|| match ttl {
            Some(ttl) => transaction.key_space(space)?.put_with_ttl(&key, &value, ttl.0),
            None => transaction.key_space(space)?.put(&key, &value),
        })
        .or_raise(py)
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
        let (transaction, space) = self.handle(&key_space)?;
        py.detach(|| transaction.key_space(space)?.merge(&key, &operand)).or_raise(py)
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
        let (transaction, space) = self.handle(&key_space)?;
        let operand = self.amounts.operand(amount)?;
        py.detach(|| transaction.key_space(space)?.merge(&key, &operand)).or_raise(py)
    }

    /// Removes a key at the commit.
    #[pyo3(signature = (key, *, key_space=None))]
    fn delete(
        &self,
        py: Python<'_>,
        key: Input,
        key_space: Option<Bound<'_, KeySpace>>,
    ) -> PyResult<()> {
        let (transaction, space) = self.handle(&key_space)?;
        py.detach(|| transaction.key_space(space)?.delete(&key)).or_raise(py)
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
        let (transaction, space) = self.handle(&key_space)?;
        py.detach(|| transaction.key_space(space)?.delete_range(range)).or_raise(py)
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
        let (transaction, space) = self.handle(&key_space)?;
        let limit = limit.unwrap_or(usize::MAX);
        let found = py.detach(|| {
            let scan = transaction.key_space(space)?.scan(range)?;
            match reverse {
                true => scan.rev().take(limit).collect::<Result<Vec<_>, terrace::Error>>(),
                false => scan.take(limit).collect(),
            }
        });
        let entries = found.or_raise(py)?.into_iter().map(|(key, value)| {
            PyTuple::new(py, [PyBytes::new(py, &key), PyBytes::new(py, &value)])
        });
        PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)
    }

    /// Applies all writes at once; raises `ConflictError`, and applies none, if a key that was read
    /// has been written since.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.space.check()?;
        let transaction = self.take().ok_or_else(ended)?;
        let transaction = Arc::try_unwrap(transaction).map_err(|_| {
            ClosedError::new_err("expected no call of another thread, found one that is running")
        })?;
        py.detach(|| transaction.commit()).or_raise(py)
    }

    /// Ends the transaction without a write.
    fn rollback(&self, py: Python<'_>) {
        let transaction = self.take();
        py.detach(|| drop(transaction));
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
        let is_open = self.transaction.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        match exception.is_none() {
            // If the block has ended the transaction itself, there is no more to do.
            true if is_open => self.commit(py)?,
            true => {}
            false => self.rollback(py),
        }
        Ok(())
    }
}
