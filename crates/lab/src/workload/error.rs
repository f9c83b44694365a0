//! [`ClientError`]: why a client stopped. [`ClientError::Mismatch`] means that the store gave a
//! wrong answer. The other errors mean that an operation failed in the store, or that the client
//! refused it.

use std::fmt;
use std::ops::RangeInclusive;

use super::entries::Wrong;
use super::ledger::RECORDS_MAX;

/// Why a client stopped.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The store refused an operation.
    #[error(transparent)]
    Store(#[from] terrace::Error),
    /// The store answered, and wrongly.
    #[error("record {record}: {defect}")]
    Mismatch {
        /// The record that was asked for.
        record: u64,
        /// Value expected and value found.
        defect: Defect,
    },
    /// A value that could not be told from others.
    #[error("record {record}: expected a value of {} to {} bytes, found {found}",
        expected.start(), expected.end())]
    ValueSize {
        /// The record that was to be written.
        record: u64,
        /// The sizes that values can have.
        expected: RangeInclusive<usize>,
        /// The size it was to have.
        found: u32,
    },
    /// There can be no record of this number.
    #[error("record {record}: expected a number below {RECORDS_MAX}")]
    Record {
        /// The number of the record.
        record: u64,
    },
}

/// How an answer was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The record was to be there and was not.
    Missing,
    /// The record was not to be there.
    Unexpected,
    /// The value's bytes differ from the written ones.
    Value(Wrong),
    /// The value is of another time: expected between the first two, found the third.
    Generation(u32, u32, u32),
    /// A scan went from here to a key that is none, or that was to come earlier.
    Order(Vec<u8>),
    /// A scan of everything was to find the first number of records, and found the second.
    Count(u64, u64),
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "expected its value, found no such key"),
            Self::Unexpected => write!(f, "expected no such key, found a value"),
            Self::Value(Wrong::Size(size)) => {
                write!(f, "expected the value that was written, found one of {size} bytes")
            }
            Self::Value(Wrong::Head) => write!(f, "expected its value, found another head"),
            Self::Value(Wrong::Byte(at)) => {
                write!(f, "expected the value that was written, found byte {at} changed")
            }
            Self::Generation(low, high, found) => {
                write!(f, "expected its generation {low} to {high}, found {found}")
            }
            Self::Order(key) => {
                write!(f, "expected the next key in order, found `{}`", key.escape_ascii())
            }
            Self::Count(expected, found) => {
                write!(f, "expected {expected} entries in all, found {found}")
            }
        }
    }
}
