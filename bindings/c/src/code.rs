//! [`TerraceCode`]: results of calls as numbers. A number never changes its meaning.

use terrace::ErrorKind;

/// Result of a call. `terrace_error_message` has the text of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum TerraceCode {
    /// The call succeeded.
    Ok = 0,
    /// Space is short. Reads still work, and deletes can use space that is kept for them.
    NoSpace = 1,
    /// The host's disk, on which the image or the directory lies, is full.
    HostFull = 2,
    /// Bytes on the medium differ from the written ones.
    Corruption = 3,
    /// A newer version of Terrace has written a form that this one does not know.
    Unsupported = 4,
    /// The store was last opened under a system that this version does not know.
    UnknownSystem = 5,
    /// An option is out of its range, or does not fit the store.
    Option = 6,
    /// A key, a value or a batch is too large.
    TooLarge = 7,
    /// Sorted input is not in order.
    OutOfOrder = 8,
    /// The key space does not exist, or was dropped.
    UnknownKeySpace = 9,
    /// A key space of one opening was used with another.
    OtherStore = 10,
    /// The target of a copy is not empty.
    TargetNotEmpty = 11,
    /// The store was opened for reading.
    ReadOnly = 12,
    /// The store has been closed.
    Closed = 13,
    /// Another program, or another handle of this one, has it open.
    InUse = 14,
    /// The key, file, image or directory does not exist.
    NotFound = 15,
    /// The request is impossible: a null handle, a name that is no UTF-8, a shape that no drive
    /// has, a file that is no image.
    Invalid = 16,
    /// An earlier failure ended all writing. Reads still work.
    Stopped = 17,
    /// The medium, or the operating system, failed.
    Io = 18,
    /// A bug in Terrace. Close the handles that the call was given, and use them no more.
    Bug = 19,
    /// A file of this name exists already.
    Exists = 20,
    /// A transaction was not committed, because another write has changed a key that it has read.
    Conflict = 21,
    /// The writer of a store has freed a part that a reader of another process was reading, or
    /// another store has taken the place of the one that is read.
    Moved = 22,
}

impl TerraceCode {
    /// The code of a kind of error of the library.
    pub(crate) fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NoSpace => Self::NoSpace,
            ErrorKind::HostFull => Self::HostFull,
            ErrorKind::Corruption => Self::Corruption,
            ErrorKind::Unsupported => Self::Unsupported,
            ErrorKind::UnknownSystem => Self::UnknownSystem,
            ErrorKind::Option | ErrorKind::MergeOperator => Self::Option,
            ErrorKind::TooLarge => Self::TooLarge,
            ErrorKind::OutOfOrder => Self::OutOfOrder,
            ErrorKind::Conflict => Self::Conflict,
            ErrorKind::UnknownKeySpace => Self::UnknownKeySpace,
            ErrorKind::OtherStore => Self::OtherStore,
            ErrorKind::TargetNotEmpty => Self::TargetNotEmpty,
            ErrorKind::ReadOnly => Self::ReadOnly,
            ErrorKind::Closed => Self::Closed,
            ErrorKind::InUse => Self::InUse,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Invalid | ErrorKind::UnfinishedCopy => Self::Invalid,
            ErrorKind::Stopped => Self::Stopped,
            ErrorKind::Moved => Self::Moved,
            ErrorKind::Bug => Self::Bug,
            // Also kinds that are newer than this list: a layer below has failed.
            _ => Self::Io,
        }
    }
}
