//! [`FileRecord`]: the catalog's entry of one file, as the records of the journal have left it.
//! Bytes that were appended after the last such record are not in it.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::store::{Annotation, FileInfo, FileKind};

use super::ExtentMap;

/// A part of a log that was written in one go: from its creation, or from a recovery, to the
/// next recovery. Frames of a run carry its epoch and are chained from its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRun {
    /// The block of the file (frames and padding counted) where the run's first frame starts.
    pub block: u32,
    /// The epoch of its frames.
    pub epoch: u32,
    /// The sequence of its first frame.
    pub sequence: u64,
    /// The payload bytes of the log before this run.
    pub offset: u64,
}

/// A place in a log before which everything is known to be durable: a whole append ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogMark {
    /// The block of the file (frames and padding counted) where the next frame starts.
    pub block: u32,
    /// The sequence of the next frame.
    pub sequence: u64,
    /// The payload bytes of the log before it.
    pub size: u64,
}

/// The catalog's record of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// How it is written.
    pub kind: FileKind,
    /// Whether it is immutable.
    pub sealed: bool,
    /// Length of the file in bytes. Of an unsealed log only the bytes that recoveries have found:
    /// later ones are known from its frames.
    pub size: u64,
    /// Places of the file's blocks. The last extent of an unsealed log is a lease: it reaches as
    /// far as the log may be written, not as far as it has been.
    pub extents: Arc<ExtentMap>,
    /// The runs of a log, in order; at least one. Empty for other kinds.
    pub runs: Arc<[LogRun]>,
    /// How far an unsealed log is known to be durable in its last run, if further than the run's
    /// start.
    pub durable: Option<LogMark>,
    /// Its annotation.
    pub annotation: Arc<Annotation>,
    /// Its names, in order.
    pub names: Vec<Arc<str>>,
}

impl FileRecord {
    /// Answer of [`Store::info`](terrace_env::Store::info) for the file.
    #[must_use]
    pub fn info(&self, id: FileId) -> FileInfo {
        FileInfo {
            id,
            kind: self.kind,
            size: self.size,
            sealed: self.sealed,
            annotation: Arc::clone(&self.annotation),
            names: self.names.iter().map(|name| name.to_string()).collect(),
        }
    }

    /// The block of a log before which its last run must be whole: missing frames before it are
    /// lost ones, not a torn tail.
    #[must_use]
    pub fn known_end(&self) -> u32 {
        match (self.durable, self.runs.last()) {
            (_, Some(_)) if self.sealed => self.extents.end(),
            (Some(mark), _) => mark.block,
            (None, run) => run.map_or(0, |run| run.block),
        }
    }

    /// Whether its last extent is a lease without a known end.
    #[must_use]
    pub fn is_leased(&self) -> bool {
        self.kind == FileKind::Log && !self.sealed
    }

    /// Whether it has runs only if it is a log, and a mark of durable frames only while it is
    /// written.
    pub(super) fn is_sound(&self) -> bool {
        let runs_of_a_log = self.kind == FileKind::Log || self.runs.is_empty();
        runs_of_a_log && (self.durable.is_none() || self.is_leased())
    }
}
