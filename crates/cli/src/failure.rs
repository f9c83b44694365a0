//! [`Failure`]: the reason why a command failed, as a message for people and a [`Kind`], which
//! decides the exit code. The codes are part of the program's interface: `docs/cli.md` lists them.
//!
//! - Errors of the library, and most of the lab's, become failures here, by `From`.
//! - For a store that has stopped, the kind is that of the error that stopped it.
//! - If the reader of standard output has gone, as after `head`, the exit code is 0.

use std::fmt;
use std::io;
use std::path::Path;

use terrace::device::timing::DriveError;
use terrace::{DeviceError, EngineError, ErrorKind, StoreError};
use terrace_lab::bench::BenchError;
use terrace_lab::drives::MeasureError;
use terrace_lab::experiment::ExperimentError;
use terrace_lab::run::PlanError;
use terrace_lab::series::ResultError;
use terrace_lab::workload::ClientError;

/// The kinds of failure that a script may want to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The operation failed.
    Failed,
    /// The command line asks for something that cannot be. (Clap uses the same code.)
    Usage,
    /// Bytes differ from the written ones.
    Corruption,
    /// No space, or space that readers hold.
    NoSpace,
    /// No such key, file or image.
    NotFound,
    /// The store is open elsewhere.
    InUse,
    /// A signal ended the command, which then had something to say. The process ends by it.
    Signal(i32),
    /// Standard output cannot be written.
    Output,
    /// The reader of standard output has closed it: not an error of ours.
    OutputClosed,
}

impl Kind {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Failed | Self::InUse | Self::Output => 1,
            Self::Usage => 2,
            Self::Corruption => 3,
            Self::NoSpace => 4,
            Self::NotFound => 5,
            // As shells have it.
            Self::Signal(signal) => u8::try_from(signal).map_or(1, |signal| 128 + signal),
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Kind of the failure; it decides the exit code.
    pub(crate) kind: Kind,
    /// Message for people: the value expected, the value found, and advice.
    pub(crate) message: String,
    /// After a failed load: all lines of the input up to this one are stored, and durable.
    pub(crate) stored_up_to_line: Option<u64>,
}

impl Failure {
    /// A failure with a message.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), stored_up_to_line: None }
    }

    /// A failure of the operating system at a path.
    pub(crate) fn path(path: &Path, error: &std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => Kind::NotFound,
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Kind::NoSpace,
            _ => Kind::Failed,
        };
        Self::new(kind, format!("{}: {error}", path.display()))
    }

    /// The same failure, with the current action before the message.
    pub(crate) fn while_doing(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// This failure, and one that followed from going on after it.
    pub(crate) fn and(mut self, later: Option<Self>) -> Self {
        if let Some(later) = later {
            self.message = format!("{}; then: {}", self.message, later.message);
        }
        self
    }
}

/// A write to standard output that failed.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::BrokenPipe => Kind::OutputClosed,
            _ => Kind::Output,
        };
        Self::new(kind, format!("standard output: {error}"))
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        terrace::Error::from(error).into()
    }
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        let kind = match &error {
            DriveError::Unknown { .. } => Kind::NotFound,
            DriveError::Malformed { .. } | DriveError::Impossible { .. } => Kind::Usage,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        Self::new(Kind::Failed, error.to_string())
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        let kind = match &error {
            ExperimentError::Unreadable { kind: io::ErrorKind::InvalidData, .. }
            | ExperimentError::Malformed { .. }
            | ExperimentError::Impossible { .. } => Kind::Usage,
            ExperimentError::Unreadable { kind, .. } if *kind != io::ErrorKind::NotFound => {
                Kind::Failed
            }
            ExperimentError::Unknown { .. } | ExperimentError::Unreadable { .. } => Kind::NotFound,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Drive(error) => error.into(),
            error => Self::new(Kind::Usage, error.to_string()),
        }
    }
}

impl From<ResultError> for Failure {
    fn from(error: ResultError) -> Self {
        match error {
            ResultError::Host { path, source } => Self::path(&path, &source),
            error @ ResultError::Damaged { .. } => Self::new(Kind::Corruption, error.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        terrace::Error::from(error).into()
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        terrace::Error::from(error).into()
    }
}

impl From<terrace::Error> for Failure {
    fn from(error: terrace::Error) -> Self {
        let kind = match error.origin() {
            ErrorKind::NoSpace | ErrorKind::HostFull => Kind::NoSpace,
            ErrorKind::NotFound | ErrorKind::UnknownKeySpace => Kind::NotFound,
            ErrorKind::Corruption => Kind::Corruption,
            ErrorKind::Option => Kind::Usage,
            ErrorKind::InUse => Kind::InUse,
            _ => Kind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Store(error) => error.into(),
            BenchError::Device(error) => error.into(),
            BenchError::Geometry(error) => Self::new(Kind::Usage, error.to_string()),
            BenchError::Host { path, source } => Self::path(&path, &source),
            BenchError::Unclean(_) => Self::new(Kind::Corruption, error.to_string()),
            BenchError::Client { work, source } => Self::from(source).while_doing(work),
            BenchError::Source(error) => Self::new(Kind::Failed, error.to_string()),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let kind = match error {
            ClientError::Store(error) => return error.into(),
            ClientError::Mismatch { .. } => Kind::Corruption,
            ClientError::ValueSize { .. } | ClientError::Record { .. } => Kind::Usage,
        };
        Self::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn each_kind_of_error_has_its_exit_code() {
        let corruption = StoreError::Corruption {
            region: "journal".into(),
            offset: 7,
            expected: "1".into(),
            got: "2".into(),
        };
        let full = DeviceError::HostFull {
            path: "d.img".into(),
            source: Arc::new(io::ErrorKind::StorageFull.into()),
        };
        let host_full = StoreError::io("writing file 7", full);
        let missing = io::Error::from(io::ErrorKind::NotFound);
        for (failure, code) in [
            (Failure::from(corruption.clone()), 3),
            (Failure::from(StoreError::Stopped(Arc::new(corruption))), 3),
            (Failure::from(host_full.clone()), 4),
            (Failure::from(StoreError::Stopped(Arc::new(host_full))), 4),
            (Failure::from(StoreError::NameNotFound("a".into())), 5),
            (Failure::from(StoreError::ReadOnly("a put")), 1),
            (Failure::from(DeviceError::PowerLost), 1),
            (Failure::path(Path::new("drive.img"), &missing), 5),
            (Failure::path(Path::new("out/a"), &io::ErrorKind::QuotaExceeded.into()), 4),
            (Failure::from(DeviceError::host("open", missing)), 5),
            (Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)), 0),
        ] {
            assert_eq!(failure.kind.code(), code, "{}", failure.message);
        }
    }
}
