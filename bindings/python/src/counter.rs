//! [`number`]: the number that the value of a counter is; [`Amounts`]: whether a store can add.

use pyo3::prelude::*;
use terrace::Counter;

use crate::error::invalid;
use crate::input::Input;

/// Whether amounts can be added in a store.
#[derive(Clone, Copy)]
pub(crate) enum Amounts {
    /// By its operator, if that is the one of counters. The store knows.
    Added,
    /// The store was opened with `append`, which would append the bytes of an amount.
    Refused,
}

impl Amounts {
    /// The operand that adds an amount.
    pub(crate) fn operand(self, amount: i64) -> PyResult<[u8; 8]> {
        match self {
            Self::Added => Ok(Counter::bytes(amount)),
            Self::Refused => Err(invalid(
                "add: expected a store that was opened with counters, found one with append",
            )),
        }
    }
}

/// The number that the value of a counter is; 0 for None, which a key has that nothing was added
/// to.
#[pyfunction]
pub(crate) fn number(value: Option<Input>) -> PyResult<i64> {
    let Some(value) = value else { return Ok(0) };
    Counter::number(&value).ok_or_else(|| {
        invalid(format!("expected a number of 8 bytes, found a value of {}", value.len()))
    })
}
