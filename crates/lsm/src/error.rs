//! [`Error`]: the errors of calls of the engine, and their consequences.
//!
//! - A lack of space (`is_space`): the engine goes on. Deletes may still work, and other writes
//!   work again once space is free.
//! - [`Error::Stopped`]: a job, a commit or the log has failed. Reads go on; writes get this error
//!   until [`resume`](crate::Engine::resume) succeeds. A resume fails if the failure was a panic,
//!   and after a commit that could not be shown to readers: then the store must be opened again.
//! - [`Error::Closed`]: this engine cannot be used again; another one can open the store.
//! - Corruption (`is_corruption`), [`Error::Unsupported`], or another failure of the store: a read
//!   has no answer, and reads of other bytes may succeed. If a write got such an error, the engine
//!   may have stopped.
//! - [`Error::Panicked`], [`Error::IllegalPlan`]: a bug of the engine or of the decider.
//! - The other variants refuse a call, for example one with a key that is too long. The call has no
//!   effect.
//!
//! After an error that is no refusal, a write may have taken effect, as a whole.

use std::fmt;
use std::sync::Arc;

use terrace_env::codec::DecodeError;
use terrace_env::store::StoreError;
use terrace_env::{ByteCount, OutOfRange, Uuid};

use crate::{KeySpaceId, SpaceHolders};

/// An error of the engine. Cheap to clone: a stopped engine returns the error that stopped it again
/// and again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The store below failed, or has no space.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Space is short; the holders of space are listed.
    #[error("{cause}; {holders}")]
    NoSpace {
        /// Error of the refused request.
        cause: StoreError,
        /// Holders of the space.
        holders: Box<SpaceHolders>,
    },
    /// An option is out of its range.
    #[error(transparent)]
    Option(#[from] OutOfRange),
    /// Bytes on the medium differ from the written ones.
    #[error("corruption in {region} at offset {offset}: expected {expected}, found {got}")]
    Corruption {
        /// Which structure of which file.
        region: String,
        /// The byte offset within the file.
        offset: u64,
        /// Value expected there.
        expected: String,
        /// Value found there.
        got: String,
    },
    /// A newer version of Terrace has written a form that this one does not know.
    #[error("{region}: expected {field} of at most {supported}, found {got}; use a newer Terrace")]
    Unsupported {
        /// Which structure of which file.
        region: String,
        /// The version or feature field.
        field: &'static str,
        /// The largest known value.
        supported: u64,
        /// Value found there.
        got: u64,
    },
    /// A key is too long.
    #[error("a key of {got} bytes: expected at most {max}")]
    KeyTooLong {
        /// The limit.
        max: usize,
        /// The key's length.
        got: usize,
    },
    /// A value is too long.
    #[error("a value of {got} bytes: expected at most {max}")]
    ValueTooLong {
        /// The limit.
        max: usize,
        /// The value's length.
        got: usize,
    },
    /// A batch is too large.
    #[error("a batch of {}: expected at most {}", got.exact(), max.exact())]
    BatchTooLarge {
        /// The limit.
        max: ByteCount,
        /// The batch's size.
        got: ByteCount,
    },
    /// The range deletes of a batch would take more memory than all memtables may.
    #[error(
        "range deletes of a batch: expected to take at most {max} in memory, of a budget of \
         {budget}, found {got}; write them in several batches, or allow more memory"
    )]
    RangesOverMemory {
        /// The share of memtables.
        max: ByteCount,
        /// The memory budget.
        budget: ByteCount,
        /// The memory that the range deletes would take, at least.
        got: ByteCount,
    },
    /// Open scans and cursors would exceed their limit of memory.
    #[error(
        "scans and cursors: expected to hold at most {max} together, found {open} that hold {got}; \
         drop some of them, or allow more memory"
    )]
    TooManyScans {
        /// The limit, a part of the memory budget.
        max: ByteCount,
        /// Memory that they hold.
        got: ByteCount,
        /// Number of open ones.
        open: u64,
    },
    /// A key or a range that a conditional write depends on has been written meanwhile, or a value
    /// has expired. The write has no effect.
    #[error(transparent)]
    Conflict(Box<Conflict>),
    /// A key has operands, or the write has one, and the store was opened without the operator that
    /// combines them.
    #[error(
        "operands: expected the store to be opened with {}, found no merge operator",
        .name.as_ref().map_or("a merge operator".into(), |name| format!("the operator {name:?}"))
    )]
    NoMergeOperator {
        /// The name of the operator of the store's operands; `None`: it has never had an operand.
        name: Option<String>,
    },
    /// The store was to be opened with another operator than that of its operands.
    #[error(
        "the operands of the store: expected the merge operator {expected:?}, by which they were \
         written, found {got:?}"
    )]
    OtherMergeOperator {
        /// The name that the store remembers.
        expected: String,
        /// The name of the operator that was given.
        got: String,
    },
    /// The operator refuses an operand that was to be written, or to combine the operands of a key
    /// that is read.
    #[error("the merge operator {name:?} refuses an operand of the key {key}: {reason}")]
    MergeRefused {
        /// The operator's name.
        name: String,
        /// The user key, escaped, and its key space.
        key: String,
        /// The operator's reason.
        reason: String,
    },
    /// Open transactions would exceed their limit of memory.
    #[error(
        "open transactions: expected to hold at most {max} of reads and writes together, found \
         {got}; end some of them, do less in each, or allow more memory"
    )]
    TransactionsOverMemory {
        /// The limit, a part of the memory budget.
        max: ByteCount,
        /// Memory that they would hold.
        got: ByteCount,
    },
    /// A key of an ingest does not come after the one before.
    #[error(
        "a key of an ingest: expected one after {last:?}, in order and each once, found {got:?}"
    )]
    OutOfOrder {
        /// The last user key, escaped.
        last: String,
        /// The user key after it, escaped.
        got: String,
    },
    /// The target of a checkpoint is not empty.
    #[error("the target of a checkpoint: expected an empty store, found one of {files} files")]
    TargetNotEmpty {
        /// Number of its files. If all of them are empty logs, it is refused because it has key
        /// spaces of its own.
        files: usize,
    },
    /// The target of a backup is neither empty nor an earlier backup of the same store.
    #[error(
        "the target of a backup: expected an empty store, or a backup of the store {expected} that \
         was not opened for writing since, found {}", found_instead(*found, *files)
    )]
    NotABackup {
        /// The store that is backed up.
        expected: Uuid,
        /// The store of which it is a backup, if it is one.
        found: Option<Uuid>,
        /// Number of its files.
        files: usize,
    },
    /// The store is the target of a checkpoint that was interrupted or is in progress.
    #[error(
        "expected a whole store, found an unfinished copy of one: its checkpoint was interrupted; \
         repeat the checkpoint, or delete the copy or format its drive anew"
    )]
    UnfinishedCopy,
    /// There is no such key space.
    #[error("key space {0}: expected to exist, but it was dropped, or there never was one")]
    UnknownKeySpace(KeySpaceId),
    /// The default key space was to be dropped.
    #[error("the default key space: expected another one, for this one always exists")]
    DefaultKeySpace,
    /// A key space cannot have this name.
    #[error("a key space named {name:?}: expected 1 to 255 bytes")]
    KeySpaceName {
        /// The name.
        name: String,
    },
    /// The engine was opened for reading only.
    #[error("the store is open for reading only: expected no changes, found {0}")]
    ReadOnly(&'static str),
    /// The engine has been closed.
    #[error("the store has been closed")]
    Closed,
    /// A job panicked: a bug.
    #[error("a bug: the job panicked")]
    Panicked,
    /// The decider's plan would make the tree wrong: a bug of the decider. The plan is not carried
    /// out.
    #[error("an illegal plan of the decider {decider}: {defect}")]
    IllegalPlan {
        /// The decider.
        decider: &'static str,
        /// Defect of the plan.
        defect: String,
    },
    /// A job in the background or a commit failed, and all writes are refused until the engine is
    /// [resumed](crate::Engine::resume); reads still work.
    #[error("the engine stopped taking writes after {job} failed: {cause}")]
    Stopped {
        /// The job.
        job: &'static str,
        /// Its error.
        cause: Arc<Error>,
    },
}

/// The store in place of an earlier backup.
fn found_instead(found: Option<Uuid>, files: usize) -> String {
    match found {
        Some(of) => format!("a backup of the store {of}"),
        None => format!("a store of {files} files that is none"),
    }
}

/// A key, or a range of keys, that was read and has been written since; or a key whose value has
/// expired since.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The key space.
    pub space: KeySpaceId,
    /// Its name; empty if the key space does not exist any more.
    pub name: String,
    /// The key, or the first of the range.
    pub start: Vec<u8>,
    /// `None` for a key; for a range the first key after it, or `None` at the end of the key space.
    pub end: Option<Option<Vec<u8>>>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, start, .. } = self;
        write!(f, "a conflict in the key space {name:?}: expected ")?;
        let start = start.escape_ascii();
        match &self.end {
            None => write!(f, "the key \"{start}\"")?,
            Some(None) => write!(f, "the keys from \"{start}\" on")?,
            Some(Some(end)) => {
                write!(f, "the keys from \"{start}\" up to \"{}\"", end.escape_ascii())?;
            }
        }
        f.write_str(" to be as they were read, found that another write has changed them, or ")?;
        f.write_str("that a value has expired; begin the transaction again")
    }
}

impl std::error::Error for Conflict {}

impl Error {
    /// Adds the holders of space to an error for lack of space. `holders` gets whether the log
    /// device is the full one.
    pub(crate) fn with_holders(self, holders: impl FnOnce(bool) -> SpaceHolders) -> Self {
        match self {
            Self::Store(cause) if cause.is_space() => {
                let holders = Box::new(holders(cause.is_of_log_device()));
                Self::NoSpace { cause, holders }
            }
            other => other,
        }
    }

    /// Whether space is short: deletes may still work, and writes work again once space is free.
    #[must_use]
    pub fn is_space(&self) -> bool {
        match self {
            Self::NoSpace { .. } => true,
            Self::Store(error) => error.is_space(),
            _ => false,
        }
    }

    /// Whether space is short on the log device of a store that has one.
    #[must_use]
    pub fn is_of_log_device(&self) -> bool {
        match self {
            Self::NoSpace { cause, .. } | Self::Store(cause) => cause.is_of_log_device(),
            _ => false,
        }
    }

    /// Whether bytes on the medium differ from the written ones.
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        match self {
            Self::Corruption { .. } | Self::Store(StoreError::Corruption { .. }) => true,
            Self::Stopped { cause, .. } => cause.is_corruption(),
            _ => false,
        }
    }

    /// Whether a job panicked.
    pub(crate) fn is_panic(&self) -> bool {
        match self {
            Self::Panicked => true,
            Self::Stopped { cause, .. } => cause.is_panic(),
            _ => false,
        }
    }

    pub(crate) fn corruption(
        region: impl Into<String>,
        offset: u64,
        expected: impl ToString,
        got: impl ToString,
    ) -> Self {
        let (expected, got) = (expected.to_string(), got.to_string());
        Self::Corruption { region: region.into(), offset, expected, got }
    }

    /// An error for bytes of `region`, which begins at `offset`, that did not decode.
    pub(crate) fn decode(region: impl Into<String>, offset: u64, error: &DecodeError) -> Self {
        let region = region.into();
        match error {
            DecodeError::Short { field, offset: at, expected, got } => Self::Corruption {
                region,
                offset: offset + *at as u64,
                expected: format!("{expected} bytes of {field}"),
                got: format!("{got} bytes"),
            },
            DecodeError::Value { field, offset: at, expected, got } => Self::Corruption {
                region,
                offset: offset + *at as u64,
                expected: format!("{field}: {expected}"),
                got: got.to_string(),
            },
        }
    }
}
