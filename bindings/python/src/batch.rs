//! [`WriteBatch`]: writes that take effect together.
//!
//! As a context manager it is written at the end of the block. As in `plyvel`, it is written after
//! an exception as well, unless it was made with `transaction=True`.
//!
//! While a thread writes a batch, others that use it wait, with the lock of the interpreter
//! released. In a child of `fork` the lock of a batch may never be released: calls raise
//! `ClosedError`, and `clear` has no effect.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use terrace::{Batch, BatchKeySpace, Durability};

use crate::counter::Amounts;
use crate::error::Raise;
use crate::held::{Held, Inherited};
use crate::input::{Input, bytes};
use crate::key_space::{Handles, KeySpace, given};
use crate::opened::Counted;
use crate::options::bounds;
use crate::ttl::Ttl;

/// Writes that take effect together.
#[pyclass(module = "terrace", frozen)]
pub(crate) struct WriteBatch {
    parts: Held<Parts>,
    /// Whether an exception discards it.
    transaction: bool,
    durability: Durability,
    amounts: Amounts,
}

struct Parts {
    handles: Counted<Handles>,
    batch: Mutex<Batch>,
}

impl Parts {
    /// The batch. A thread that panicked while it held the lock left a whole entry or none.
    fn batch<'a>(&'a self, py: Python<'_>) -> MutexGuard<'a, Batch> {
        self.batch.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

impl WriteBatch {
    pub(crate) fn new(of: &KeySpace, transaction: bool, sync: bool) -> Result<Self, Inherited> {
        let handles = of.handles.get()?;
        let durability = if sync { Durability::Synced } else { handles.db.durability() };
        let parts = Parts { handles: handles.clone(), batch: Mutex::default() };
        Ok(Self { parts: Held::new(parts), transaction, durability, amounts: of.amounts })
    }

    /// Adds a write to a key space.
    fn add_write(
        &self,
        py: Python<'_>,
        key_space: &Option<Bound<'_, KeySpace>>,
        write: impl FnOnce(&mut BatchKeySpace<'_>),
    ) -> PyResult<()> {
        let parts = self.parts.get()?;
        let space = given(key_space)?.unwrap_or(&parts.handles.space);
        write(&mut parts.batch(py).key_space(space));
        Ok(())
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
    ) -> PyResult<()> {
        self.add_write(py, &key_space, |batch| {
            match ttl {
                Some(ttl) => batch.put_with_ttl(&key, &value, ttl.0),
                None => batch.put(&key, &value),
            };
        })
    }

    /// Adds an operand, as `KeySpace.merge` writes it.
    #[pyo3(signature = (key, operand, *, key_space=None))]
    fn merge(
        &self,
        py: Python<'_>,
        key: Input,
        operand: Input,
        key_space: Option<Bound<'_, KeySpace>>,
    ) -> PyResult<()> {
        self.add_write(py, &key_space, |batch| _ = batch.merge(&key, &operand))
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
        self.add_write(py, &key_space, |batch| _ = batch.merge(&key, &operand))
    }

    /// Adds the removal of a key.
    #[pyo3(signature = (key, *, key_space=None))]
    fn delete(
        &self,
        py: Python<'_>,
        key: Input,
        key_space: Option<Bound<'_, KeySpace>>,
    ) -> PyResult<()> {
        self.add_write(py, &key_space, |batch| _ = batch.delete(&key))
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
        self.add_write(py, &key_space, |batch| _ = batch.delete_range(range))
    }

    /// Forgets all writes. No effect in a child of `fork`.
    fn clear(&self, py: Python<'_>) {
        if let Ok(parts) = self.parts.get() {
            parts.batch(py).clear();
        }
    }

    /// Writes all writes at once; then the batch is empty. After an exception it has them still,
    /// and can be written again.
    fn write(&self, py: Python<'_>) -> PyResult<()> {
        let parts = self.parts.get()?;
        let mut guard = parts.batch(py);
        if guard.is_empty() {
            return Ok(());
        }
        let batch = &mut *guard;
        let write =
            || parts.handles.db.write_with(batch.clone(), self.durability).map(|()| batch.clear());
        py.detach(write).or_raise(py)
    }

    /// Bytes of the batch.
    #[getter]
    fn byte_size(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.parts.get()?.batch(py).byte_size().0)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.parts.get()?.batch(py).len())
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
