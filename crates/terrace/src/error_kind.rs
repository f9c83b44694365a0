//! [`ErrorKind`]: the kinds of errors for callers, and the kind of each error of the engine, of a
//! store of files and of a device. (`error` has the kinds of others, such as options.)
//!
//! Several errors of lower layers share a kind; [`Error::get_ref`](crate::Error::get_ref) has the
//! error of the layer itself. Errors of devices and of the host's files without a specific kind are
//! [`ErrorKind::Io`].

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_lsm::Error as EngineError;
use terrace_zone::DeviceError;

/// Kind of an error. New kinds may come, so a `match` needs an arm for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Space is short. Reads still work, and deletes can use space that is kept for them. Writes
    /// work again once something is deleted, or readers of deleted data are done.
    NoSpace,
    /// The host's disk, on which an image or a directory lies, is full. Free space there, then call
    /// [`Db::resume`](crate::Db::resume).
    HostFull,
    /// Bytes on the medium differ from the written ones.
    Corruption,
    /// A newer version of Terrace has written a form that this one does not know.
    Unsupported,
    /// The store was last opened under a system that this version does not know.
    UnknownSystem,
    /// An option is out of its range, or does not fit the store. Nothing was written.
    Option,
    /// A key, a value or a batch is larger than [`KEY_BYTES_MAX`](crate::KEY_BYTES_MAX),
    /// [`VALUE_BYTES_MAX`](crate::VALUE_BYTES_MAX) or [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX);
    /// or range deletes of a batch, open scans and cursors, or open transactions, would exceed
    /// their limit of memory.
    TooLarge,
    /// A transaction was not committed, because another write has changed a key that it has read.
    /// Begin it again. [`EngineError::Conflict`], by [`Error::get_ref`](crate::Error::get_ref), has
    /// the key or the range.
    Conflict,
    /// The store was opened without the merge operator of its operands, or with another one; or the
    /// operator refuses an operand, or to combine the operands of a key.
    MergeOperator,
    /// A key of an ingest does not come after the one before.
    OutOfOrder,
    /// The key space does not exist, or was dropped.
    UnknownKeySpace,
    /// A key space of one store was used with another, or with the same store opened again.
    OtherStore,
    /// The target of a checkpoint is not empty; or that of a backup is neither empty nor an earlier
    /// backup of the same store, not opened for writing since.
    TargetNotEmpty,
    /// The store is the target of a checkpoint that was interrupted. Repeat the checkpoint, or
    /// format or delete the target.
    UnfinishedCopy,
    /// The store, or the device, was opened for reading only.
    ReadOnly,
    /// The store has been closed.
    Closed,
    /// Another program, or another handle of this one, has the store or the image open.
    InUse,
    /// Another process writes the store, and has freed a part that a [`Reader`](crate::Reader) was
    /// reading. Read again.
    Moved,
    /// The file, image or directory does not exist.
    NotFound,
    /// The request is impossible: a name of a key space that is too long, a geometry that no device
    /// has, a file that is no image.
    Invalid,
    /// An earlier failure ended all writing; [`Error::origin`](crate::Error::origin) has its kind.
    /// Reads still work. Once its cause is gone, call [`Db::resume`](crate::Db::resume).
    Stopped,
    /// The medium, or the operating system, failed.
    Io,
    /// A bug in Terrace.
    Bug,
}

/// The kind of an error, and the kind of its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds {
    pub(crate) kind: ErrorKind,
    /// The same, unless an earlier failure ended all writing: the kind of that.
    pub(crate) origin: ErrorKind,
}

impl From<ErrorKind> for Kinds {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, origin: kind }
    }
}

impl Kinds {
    fn stopped_by(cause: Self) -> Self {
        Self { kind: ErrorKind::Stopped, origin: cause.origin }
    }

    pub(crate) fn of_engine(error: &EngineError) -> Self {
        match error {
            EngineError::Store(error) => return Self::of_store(error),
            EngineError::Stopped { cause, .. } => return Self::stopped_by(Self::of_engine(cause)),
            EngineError::NoSpace { .. } => ErrorKind::NoSpace,
            EngineError::Option(_) => ErrorKind::Option,
            EngineError::Corruption { .. } => ErrorKind::Corruption,
            EngineError::Unsupported { .. } => ErrorKind::Unsupported,
            EngineError::KeyTooLong { .. }
            | EngineError::ValueTooLong { .. }
            | EngineError::BatchTooLarge { .. }
            | EngineError::RangesOverMemory { .. }
            | EngineError::TransactionsOverMemory { .. }
            | EngineError::TooManyScans { .. } => ErrorKind::TooLarge,
            EngineError::Conflict(_) => ErrorKind::Conflict,
            EngineError::NoMergeOperator { .. }
            | EngineError::OtherMergeOperator { .. }
            | EngineError::MergeRefused { .. } => ErrorKind::MergeOperator,
            EngineError::OutOfOrder { .. } => ErrorKind::OutOfOrder,
            EngineError::TargetNotEmpty { .. } | EngineError::NotABackup { .. } => {
                ErrorKind::TargetNotEmpty
            }
            EngineError::UnfinishedCopy => ErrorKind::UnfinishedCopy,
            EngineError::UnknownKeySpace(_) => ErrorKind::UnknownKeySpace,
            EngineError::DefaultKeySpace | EngineError::KeySpaceName { .. } => ErrorKind::Invalid,
            EngineError::ReadOnly(_) => ErrorKind::ReadOnly,
            EngineError::Closed => ErrorKind::Closed,
            EngineError::Panicked | EngineError::IllegalPlan { .. } => ErrorKind::Bug,
        }
        .into()
    }

    pub(crate) fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::Stopped(cause) => return Self::stopped_by(Self::of_store(cause)),
            StoreError::Io { source, .. } => return Self::of_source(&**source),
            StoreError::NoSpace { .. } | StoreError::Busy { .. } => ErrorKind::NoSpace,
            StoreError::HostFull { .. } => ErrorKind::HostFull,
            StoreError::Corruption { .. } => ErrorKind::Corruption,
            StoreError::NotFound(_) | StoreError::NameNotFound(_) => ErrorKind::NotFound,
            StoreError::ReadOnly(_) => ErrorKind::ReadOnly,
            StoreError::InUse(_) => ErrorKind::InUse,
            StoreError::Closed => ErrorKind::Closed,
            StoreError::Moved { .. } => ErrorKind::Moved,
            StoreError::NameTaken(_)
            | StoreError::WrongState { .. }
            | StoreError::OutOfRange { .. }
            | StoreError::Invalid(_) => ErrorKind::Invalid,
        }
        .into()
    }

    pub(crate) fn of_device(error: &DeviceError) -> Self {
        match error {
            DeviceError::Host { source, .. } => Self::of_host(source),
            DeviceError::HostFull { .. } => ErrorKind::HostFull.into(),
            DeviceError::BadImage { .. } => ErrorKind::Corruption.into(),
            DeviceError::InUse { .. } => ErrorKind::InUse.into(),
            DeviceError::ReadOnlyDevice { .. } => ErrorKind::ReadOnly.into(),
            DeviceError::Unmounted => ErrorKind::Closed.into(),
            DeviceError::Geometry(_)
            | DeviceError::NotAnImage { .. }
            | DeviceError::NotABlockDevice { .. } => ErrorKind::Invalid.into(),
            _ => ErrorKind::Io.into(),
        }
    }

    fn of_host(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::HostFull,
            _ => ErrorKind::Io,
        }
        .into()
    }

    /// Kind of the source of a store's error: mostly an error of its device or of the host.
    fn of_source(source: &(dyn StdError + 'static)) -> Self {
        if let Some(error) = source.downcast_ref::<DeviceError>() {
            return Self::of_device(error);
        }
        let shared = source.downcast_ref::<Arc<io::Error>>().map(|shared| &**shared);
        match source.downcast_ref::<io::Error>().or(shared) {
            Some(error) => Self::of_host(error),
            None => ErrorKind::Io.into(),
        }
    }
}
