//! What can go wrong with a store.

use std::error::Error;
use std::sync::Arc;

use super::Rank;
use crate::{ByteCount, FileId};

/// An error of a [`Store`](super::Store). Cheap to clone, because a store that has failed goes on
/// returning the error that broke it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The store is full for requests of this rank. Reads and deletes still work, and writes work
    /// again as soon as space is freed.
    #[error("no space: {rank} needs {needed}, {available} are available to it; delete something")]
    NoSpace {
        /// Who asked.
        rank: Rank,
        /// What was asked for.
        needed: ByteCount,
        /// What this rank may still take.
        available: ByteCount,
    },
    /// Space would suffice, but readers of deleted files pin it.
    #[error("busy: {needed} needed, and {pinned} are pinned by readers of deleted files")]
    Busy {
        /// What was asked for.
        needed: ByteCount,
        /// What the readers hold.
        pinned: ByteCount,
    },
    /// There is no such file.
    #[error("file {0}: expected to exist, but there is no such file")]
    NotFound(FileId),
    /// There is no file of this name.
    #[error("{0:?}: expected to exist, but no file has this name")]
    NameNotFound(String),
    /// The name is taken.
    #[error("{0:?}: expected to be free, but a file has this name")]
    NameTaken(String),
    /// The file's state does not allow what was asked.
    #[error("file {id}: expected {expected}, found {got}")]
    WrongState {
        /// The file.
        id: FileId,
        /// The state that the call needs.
        expected: &'static str,
        /// The state that the file is in.
        got: &'static str,
    },
    /// A read or trim reaches beyond a file's end or into a trimmed part.
    #[error("file {id}: bytes {start}..{end} are outside the file's {valid}")]
    OutOfRange {
        /// The file.
        id: FileId,
        /// The first byte asked for.
        start: u64,
        /// The byte after the last.
        end: u64,
        /// What can be read, in words.
        valid: String,
    },
    /// Bytes on the medium are not what was written.
    #[error("corruption in {region} at offset {offset}: expected {expected}, found {got}")]
    Corruption {
        /// Which structure, and where it lies.
        region: String,
        /// The byte offset within it.
        offset: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        got: String,
    },
    /// The medium failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// The device's or the operating system's error.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The store is mounted read-only.
    #[error("the store is mounted read-only: expected no writes, found {0}")]
    ReadOnly(&'static str),
    /// An earlier failure left the store unable to take writes; reads still work.
    #[error("the store stopped taking writes after: {0}")]
    Stopped(Arc<StoreError>),
    /// Somebody else has it open.
    #[error(
        "{0} is in use: expected no other user, or readers only; close or drop the other handle"
    )]
    InUse(&'static str),
    /// The store has been closed.
    #[error("the store has been closed")]
    Closed,
    /// What was asked for is malformed or not supported here.
    #[error("{0}")]
    Invalid(String),
}

impl StoreError {
    /// Wraps an error of the medium.
    pub fn io(what: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Self {
        Self::Io { what: what.into(), source: Arc::new(source) }
    }

    /// Whether this is [`StoreError::NoSpace`] or [`StoreError::Busy`]: conditions that heal.
    #[must_use]
    pub fn is_space(&self) -> bool {
        matches!(self, Self::NoSpace { .. } | Self::Busy { .. })
    }
}
