//! [`View`]: the bytes of a value in the buffer protocol, for a `memoryview` without a copy.
//!
//! The bytes are those of the store's cache, counted by reference: they never change, and stay
//! until the last `memoryview` is gone. A child of `fork` can read them, too. There they stay for
//! ever ([`Held`]), since their memory goes back to the store by a lock.
//!
//! # Safety
//! `PyBuffer_FillInfo` gets a pointer to bytes that the [`View`] owns. It takes a reference to the
//! object, which keeps them in place until the buffer is released. The buffer is read-only.

use std::ffi::c_int;

use bytes::Bytes;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::held::Held;

/// See the [module](self).
#[pyclass(module = "terrace", frozen)]
struct View(Held<Bytes>);

impl Drop for View {
    fn drop(&mut self) {
        // Bytes never end the store, so that the lock of the interpreter need not be released.
        self.0.drop_here();
    }
}

#[pymethods]
impl View {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("expected a place for the buffer, found none"));
        }
        let bytes = slf.get().0.peek();
        let length = bytes.len() as ffi::Py_ssize_t;
        let start = bytes.as_ptr().cast_mut().cast();
        // See the head of the module.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// A `memoryview` of the bytes.
pub(crate) fn memoryview(py: Python<'_>, bytes: Bytes) -> PyResult<Bound<'_, PyAny>> {
    let view = Bound::new(py, View(Held::new(bytes)))?;
    Ok(pyo3::types::PyMemoryView::from(view.as_any())?.into_any())
}
