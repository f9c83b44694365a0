//! Why a measurement failed.

use std::fmt;
use std::path::PathBuf;

use terrace_fs::Problem;
use terrace_zone::{DeviceError, GeometryError};

use super::entries::Wrong;
use super::mix::Mix;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The store refused an operation.
    #[error(transparent)]
    Store(#[from] terrace::Error),
    /// The drive could not be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// There is no drive of this shape.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// The directory could not be used.
    #[error("{}: {source}", path.display())]
    Host {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The store that was left is not sound.
    #[error("expected a clean store, found {} problems: {}", .0.len(), list(.0))]
    Unclean(Vec<Problem>),
    /// The store answered, and wrongly.
    #[error("{mix}: entry {number}: {defect}")]
    Mismatch {
        /// During this mix.
        mix: Mix,
        /// The entry that was asked for.
        number: u64,
        /// What was expected and what was found.
        defect: Defect,
    },
}

/// How an answer was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// It was to be there and was not.
    Missing,
    /// It was not to be there.
    Unexpected,
    /// The value's bytes are not those that were written.
    Value(Wrong),
    /// The value is of another time: expected between the first two, found the third.
    Generation(u32, u32, u32),
    /// A scan went from here to a key that is none, or that was to come earlier.
    Order(Vec<u8>),
    /// A scan of everything found so many entries and not this many.
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

/// The first few.
fn list(problems: &[Problem]) -> String {
    let first = problems.iter().take(5).map(ToString::to_string);
    first.collect::<Vec<_>>().join("; ")
}
