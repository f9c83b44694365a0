//! [`number`]: the number that the value of a counter is; [`Amounts`]: whether a store can add.

use pyo3::prelude::*;
use terrace::Counter;

use crate::error::invalid;
use crate::input::Input;

/// Whether amounts can be added in a store.
#[derive(Clone, Copy)]
pub(crate) enum Amounts {
    /// By its operator, which is that of counters.
    Added,
    /// Its operator is that of `append`, which would append the bytes of an amount.
    Appended,
    /// It has no operator.
    Refused,
}

impl Amounts {
    /// Of a store, by the operator of its opening.
    pub(crate) fn of(db: &terrace::Db) -> Self {
        match db.merge_operator() {
            Some(Counter::NAME) => Self::Added,
            Some(_) => Self::Appended,
            None => Self::Refused,
        }
    }

    /// The operand that adds an amount.
    pub(crate) fn operand(self, amount: i64) -> PyResult<[u8; 8]> {
        let found = match self {
            Self::Added => return Ok(Counter::bytes(amount)),
            Self::Appended => "one with append",
            Self::Refused => "one without",
        };
        Err(invalid(format!(
            "add: expected a store with counters (open(..., counters=True)), found {found}"
        )))
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
