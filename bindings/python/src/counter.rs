//! [`number`]: the number that the value of a counter is.

use pyo3::prelude::*;
use terrace::Counter;

use crate::error::invalid;
use crate::input::Input;

/// The number that the value of a counter is; 0 for None, which a key has that nothing was added
/// to.
#[pyfunction]
pub(crate) fn number(value: Option<Input>) -> PyResult<i64> {
    let Some(value) = value else { return Ok(0) };
    Counter::number(&value).ok_or_else(|| {
        invalid(format!("expected a number of 8 bytes, found a value of {}", value.len()))
    })
}
