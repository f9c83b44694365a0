//! [`Input`]: a key or a value, from any object with a buffer of bytes.
//!
//! The bytes of `bytes` are used in place, because such an object never changes. Those of other
//! objects (`bytearray`, `memoryview`, arrays) are copied, so that another thread may change them.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// See the [module](self).
pub(crate) enum Input {
    Bytes(PyBackedBytes),
    Copied(Vec<u8>),
}

impl std::ops::Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Copied(bytes) => bytes,
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Input {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.to_owned().into()));
        }
        match PyBuffer::<u8>::get(&object) {
            Ok(buffer) => Ok(Self::Copied(buffer.to_vec(object.py())?)),
            Err(_) => Err(PyTypeError::new_err(format!(
                "expected bytes, or an object with a buffer of bytes, found {}",
                object.get_type().name()?
            ))),
        }
    }
}

/// A bound of a range, which may be missing.
pub(crate) fn bytes(input: &Option<Input>) -> Option<&[u8]> {
    input.as_deref()
}
