//! [`StoreError`]: the errors of a [`Store`](super::Store), one enum for all implementations. The
//! variants tell the caller the fault, and some of them the remedy:
//!
//! - [`NoSpace`](StoreError::NoSpace), [`Busy`](StoreError::Busy): try again when space has come
//!   free.
//! - [`HostFull`](StoreError::HostFull): free space on the host's disk, then resume writing.
//! - [`ReadOnly`](StoreError::ReadOnly), [`Stopped`](StoreError::Stopped): the store takes no
//!   writes.
//! - [`InUse`](StoreError::InUse), [`Closed`](StoreError::Closed): the store cannot be used,
//!   because another user has it open, or because it has been closed.
//! - [`NotFound`](StoreError::NotFound), [`NameNotFound`](StoreError::NameNotFound),
//!   [`NameTaken`](StoreError::NameTaken), [`WrongState`](StoreError::WrongState),
//!   [`OutOfRange`](StoreError::OutOfRange), [`Invalid`](StoreError::Invalid): the request does not
//!   fit the state or the abilities of the store.
//! - [`Moved`](StoreError::Moved): read again, in a newer view of the store.
//! - [`Corruption`](StoreError::Corruption): bytes on the medium differ from the written ones.
//! - [`Io`](StoreError::Io): the medium failed. The call may have taken effect or not.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::sync::Arc;

use super::Rank;
use crate::{ByteCount, DeviceId, FileId};

/// An error of a [`Store`](super::Store). Cheap to clone, because a store that has failed goes on
/// returning the error that broke it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The store is full for requests of this rank. Reads and deletes still work, and writes work
    /// again as soon as space is freed.
    #[error(
        "no space{}: {rank} needs {needed}, {available} are available to it{}; {}",
        on_device(*device),
        if *on_host { " on the host's disk" } else { "" },
        match (*on_host, self.is_of_log_device()) {
            (true, _) => "delete something, or free space there",
            (_, true) if *rank == Rank::Journal => "use a larger log device",
            (_, true) => "flush memtables, whose logs lie there, or use a larger log device",
            (_, false) if *empty => "nothing there can be deleted, so use a larger drive",
            (_, false) => "delete something",
        }
    )]
    NoSpace {
        /// Rank of the request.
        rank: Rank,
        /// Bytes asked for.
        needed: ByteCount,
        /// Bytes that this rank may still take.
        available: ByteCount,
        /// Whether the space is that of a disk of the host, which the store shares with others.
        on_host: bool,
        /// Whether no file takes any of the space: then deletes free nothing.
        empty: bool,
        /// The device that is full, where the store has several.
        device: Option<DeviceId>,
    },
    /// Space would suffice, but readers of deleted files pin it.
    #[error(
        "busy{}: {needed} needed, and {pinned} are pinned by readers of deleted files",
        on_device(*device)
    )]
    Busy {
        /// Bytes asked for.
        needed: ByteCount,
        /// Bytes that readers hold.
        pinned: ByteCount,
        /// The device whose space they pin, where the store has several.
        device: Option<DeviceId>,
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
    /// The file's state does not allow the request.
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
        /// Part of the file that can be read, in words.
        valid: String,
    },
    /// Bytes on the medium differ from the written ones.
    #[error("corruption in {region} at offset {offset}: expected {expected}, found {got}")]
    Corruption {
        /// Which structure, and where it lies.
        region: String,
        /// The byte offset: on the device if the region names one, else within the structure.
        offset: u64,
        /// Value expected there.
        expected: String,
        /// Value found there.
        got: String,
    },
    /// The medium failed.
    #[error("{what}: {source}")]
    Io {
        /// Operation that failed, in words.
        what: String,
        /// The device's or the operating system's error.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The host's disk, on which the store's image or directory lies, is full. Nothing in the store
    /// can help: free space there, and have writing resumed.
    #[error("no space: {what}: {source}; free space on the host's disk")]
    HostFull {
        /// Operation that failed, in words.
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
    /// Another user has it open.
    #[error(
        "{0} is in use: expected no other user, or readers only; end the other program, or close \
         or drop the other handle"
    )]
    InUse(Cow<'static, str>),
    /// The store has been closed.
    #[error("the store has been closed")]
    Closed,
    /// Another process writes the store, and has freed what a reader without a lock was reading:
    /// the bytes may be those of something else by now. A newer view of the store has others.
    #[error("the store moved on under this reader: expected {expected}, found {found}")]
    Moved {
        /// State that the reader knew.
        expected: String,
        /// State of now.
        found: String,
    },
    /// The request is malformed, or the store does not support it.
    #[error("{0}")]
    Invalid(String),
}

impl StoreError {
    /// Wraps an error of the medium; [`HostFull`](Self::HostFull) if the operating system says so
    /// at the bottom of it.
    pub fn io(what: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Self {
        let (what, full) = (what.into(), is_host_full(&source));
        let source = Arc::new(source);
        if full { Self::HostFull { what, source } } else { Self::Io { what, source } }
    }

    /// Whether this is [`StoreError::NoSpace`] or [`StoreError::Busy`]: conditions that heal by
    /// themselves, or by deletes. [`StoreError::HostFull`] is none: after it, writing has to be
    /// resumed.
    #[must_use]
    pub fn is_space(&self) -> bool {
        matches!(self, Self::NoSpace { .. } | Self::Busy { .. })
    }

    /// Whether this is a lack of space on the log device of a store that has one. Flushes of
    /// memtables free the space of logs there; no compaction and no reclaim does.
    #[must_use]
    pub fn is_of_log_device(&self) -> bool {
        match self {
            Self::NoSpace { device, .. } | Self::Busy { device, .. } => {
                device.is_some_and(|device| device != DeviceId::FIRST)
            }
            _ => false,
        }
    }
}

fn on_device(device: Option<DeviceId>) -> String {
    device.map_or(String::new(), |device| format!(" on device {device}"))
}

/// Whether an error, or one of those that caused it, is the operating system's of a full disk.
fn is_host_full(error: &(dyn Error + 'static)) -> bool {
    let full = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    };
    let mut next = Some(error);
    while let Some(error) = next {
        let shared = error.downcast_ref::<Arc<io::Error>>().map(|shared| &**shared);
        if error.downcast_ref::<io::Error>().or(shared).is_some_and(full) {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer {
        source: Arc<io::Error>,
    }

    #[test]
    fn a_full_disk_of_the_host_is_told_from_other_failures() {
        let errors = |kind: io::ErrorKind| {
            let inner = StoreError::io("a write", io::Error::from(kind));
            let outer = Outer { source: Arc::new(kind.into()) };
            [inner, StoreError::io("a write", outer)]
        };
        for full in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            for error in errors(full) {
                assert!(matches!(error, StoreError::HostFull { .. }), "{error:?}");
                assert!(error.to_string().starts_with("no space: a write: "), "{error}");
                assert!(!error.is_space(), "deletes do not help");
            }
        }
        for error in errors(io::ErrorKind::PermissionDenied) {
            assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
        }
    }
}
