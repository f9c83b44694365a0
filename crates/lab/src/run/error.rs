//! Errors of runs: [`PlanError`] if an experiment cannot be planned, [`RunError`] if a run fails.
//!
//! A run can also fail with a [`PlanError`], as [`RunError::Plan`], for example because the file of
//! its drive has changed since the run was planned.

use std::io;

use terrace::ParseSystemError;
use terrace_zone::GeometryError;
use terrace_zone::timing::DriveError;
use terrace_zone::timing::Scale;

use super::TooMuchMoved;
use crate::workload::{ClientError, CrowdError};

/// An experiment of which no run can be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlanError {
    /// There is no such drive.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// There is no such system, or no system with such parameters.
    #[error(transparent)]
    System(#[from] ParseSystemError),
    /// The drive has no such shape.
    #[error("{drive} at {scale}: {problem}")]
    Geometry {
        /// The drive.
        drive: String,
        /// The scale.
        scale: String,
        /// Fault of the geometry.
        problem: GeometryError,
    },
    /// The experiment has no such variant.
    #[error("expected one of the variants {}, found {found:?}", known.join(", "))]
    Variant {
        /// Names that exist.
        known: Vec<String>,
        /// Name asked for.
        found: String,
    },
    /// Something in the description cannot be.
    #[error("{what}: expected {expected}, found {found}")]
    Impossible {
        /// Where: a field, of the phase that is named.
        what: String,
        /// Values allowed.
        expected: String,
        /// Value found.
        found: String,
    },
    /// The text of a field cannot be read.
    #[error("{field}: {problem}")]
    Field {
        /// The field.
        field: String,
        /// Value expected and value found.
        problem: String,
    },
    /// The run would be too small to say anything.
    #[error("{what} at {scale}: expected at least {least}, found {found}; choose a larger scale")]
    NothingLeft {
        /// Name of the size that became too small.
        what: String,
        /// The scale.
        scale: String,
        /// The smallest that makes sense.
        least: u64,
        /// Size that is left.
        found: u64,
    },
}

impl PlanError {
    /// A device that a drive of this name cannot be at a scale.
    pub(super) fn geometry(drive: &str, scale: Scale, problem: GeometryError) -> Self {
        Self::Geometry { drive: drive.to_owned(), scale: scale.to_string(), problem }
    }

    pub(super) fn no_phases() -> Self {
        Self::Impossible {
            what: "phases".into(),
            expected: "at least one".into(),
            found: "none".into(),
        }
    }
}

/// A run that came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no plan, or none any more: the drive's file has changed.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The store could not be made, or failed.
    #[error("{place}: {error}")]
    Store {
        /// The part of the run.
        place: String,
        /// Error of the store.
        error: terrace::Error,
    },
    /// A client was refused, or answered wrongly.
    #[error("phase {phase}: {error}")]
    Client {
        /// The phase.
        phase: String,
        /// Error of a client.
        error: CrowdError,
    },
    /// The store moved many times the bytes that its tree explains.
    #[error("too much was moved: {0}")]
    TooMuchMoved(TooMuchMoved),
    /// The trace could not be written.
    #[error("the trace cannot be written: {0}")]
    Trace(#[source] io::Error),
    /// The contents of the store at the end differ from the written ones.
    #[error("the store's contents are not those that were written to it: {0}")]
    Contents(ClientError),
}
