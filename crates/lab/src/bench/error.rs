//! [`BenchError`]: why a benchmark failed. The store may then be filled in part.

use std::path::PathBuf;

use terrace_fs::Problem;
use terrace_zone::{DeviceError, GeometryError};

use super::work::Work;
use crate::workload::{ClientError, SourceError};

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
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The store that was left is not sound.
    #[error("expected a clean store, found {} problems: {}", .0.len(), list(.0))]
    Unclean(Vec<Problem>),
    /// An operation failed, or was answered wrongly.
    #[error("{work}: {source}")]
    Client {
        /// The work that failed.
        work: Work,
        /// The cause.
        source: ClientError,
    },
    /// There was no telling which operation came next.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// The first few problems, as text.
fn list(problems: &[Problem]) -> String {
    let first = problems.iter().take(5).map(ToString::to_string);
    first.collect::<Vec<_>>().join("; ")
}
