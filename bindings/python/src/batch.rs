//! [`WriteBatch`]: writes that take effect together.
//!
//! As a context manager it is written at the end of the block. As in `plyvel`, it is written after
//! an exception as well, unless it was made with `transaction=True`.
//!
//! While a thread writes a batch, others that use it wait, with the lock of the interpreter
//! released.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use terrace::{Batch, Durability};

use crate::counter::Amounts;
use crate::error::Raise;
use crate::held::Held;
use crate::input::{Input, bytes};
use crate::key_space::KeySpace;
use crate::options::bounds;
use crate::ttl::Ttl;

/// Writes that take effect together.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct WriteBatch {
    db: Held<terrace::Db>,
    space: Held<terrace::KeySpace>,
    /// Whether an exception discards it.
    transaction: bool,
    durability: Durability,
    amounts: Amounts,
    batch: Mutex<Batch>,
}

impl WriteBatch {
    pub(crate) fn new(of: &KeySpace, transaction: bool, sync: bool) -> Self {
        let durability = if sync { Durability::Synced } else { of.db.durability() };
        let (db, space) = (Held::new(of.db.clone()), Held::new(of.space.clone()));
        let (amounts, batch) = (of.amounts, Mutex::default());
        Self { db, space, transaction, durability, amounts, batch }
    }

    /// The batch. A thread that panicked while it held the lock left a whole entry or none.
    fn batch<'a>(&'a self, py: Python<'_>) -> MutexGuard<'a, Batch> {
        self.batch.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn space<'a>(&'a self, other: &'a Option<Bound<'_, KeySpace>>) -> &'a terrace::KeySpace {
        match other {
            Some(space) => &space.get().space,
            None => &self.space,
        }
    }
}

#[pymethods]
impl WriteBatch {
    /// Adds an entry. `key_space`: instead of the batch's own one. `ttl`: seconds from now, or a
    /// `timedelta`, after which the key has no value.
    #[pyo3(signature = (key, value, *, key_space=None, ttl=None))]
    fn put(
        &self,
        py: Python<'_>,
        key: Input,
        value: Input,
        key_space: Option<Bound<'_, KeySpace>>,
        ttl: Option<Ttl>,
    ) {
        let mut batch = self.batch(py);
        let mut batch = batch.key_space(self.space(&key_space));
        match ttl {
            Some(ttl) => batch.put_with_ttl(&key, &value, ttl.0),
            None => batch.put(&key, &value),
        };
    }

    /// Adds an operand, as `KeySpace.merge` writes it.
    #[pyo3(signature = (key, operand, *, key_space=None))]
    fn merge(
        &self,
        py: Python<'_>,
        key: Input,
        operand: Input,
        key_space: Option<Bound<'_, KeySpace>>,
    ) {
        self.batch(py).key_space(self.space(&key_space)).merge(&key, &operand);
    }

    /// Adds an addition, as `KeySpace.add` writes it.
    #[pyo3(signature = (key, amount=1, *, key_space=None))]
    fn add(
        &self,
        py: Python<'_>,
        key: Input,
        amount: i64,
        key_space: Option<Bound<'_, KeySpace>>,
    ) -> PyResult<()> {
        let operand = self.amounts.operand(amount)?;
        self.batch(py).key_space(self.space(&key_space)).merge(&key, &operand);
        Ok(())
    }

    /// Adds the removal of a key.
    #[pyo3(signature = (key, *, key_space=None))]
    fn delete(&self, py: Python<'_>, key: Input, key_space: Option<Bound<'_, KeySpace>>) {
        self.batch(py).key_space(self.space(&key_space)).delete(&key);
    }

    /// Adds the removal of a range.
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
        self.batch(py).key_space(self.space(&key_space)).delete_range(range);
        Ok(())
    }

    /// Forgets all writes.
    fn clear(&self, py: Python<'_>) {
        self.batch(py).clear();
    }

    /// Writes all writes at once; then the batch is empty. After an exception it has them still,
    /// and can be written again.
    fn write(&self, py: Python<'_>) -> PyResult<()> {
        self.db.check()?;
        let mut guard = self.batch(py);
        if guard.is_empty() {
            return Ok(());
        }
        let batch = &mut *guard;
        let write = || self.db.write_with(batch.clone(), self.durability).map(|()| batch.clear());
        py.detach(write).or_raise(py)
    }

    /// Bytes of the batch.
    #[getter]
    fn byte_size(&self, py: Python<'_>) -> u64 {
        self.batch(py).byte_size().0
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.batch(py).len()
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
        match self.transaction && !exception.is_none() {
            true => self.clear(py),
            false => self.write(py)?,
        }
        Ok(())
    }
}
