//! [`Error`]: one type for the errors of all layers of a store. Its kind is for programs
//! ([`ErrorKind`]), its text for people.
//!
//! If a failure has stopped all writing, writes return it with the kind [`ErrorKind::Stopped`];
//! [`Error::origin`] has the kind of the failure itself. Errors are cheap to clone, and any thread
//! may use them.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{OutOfRange, ParseByteCountError, Visible};
use terrace_policy::ParseSystemError;
use terrace_zone::timing::DriveError;
use terrace_zone::{DeviceError, GeometryError};

use crate::ErrorKind;
use crate::error_kind::Kinds;

/// The most key spaces that an error names.
const NAMES_MAX: usize = 16;

/// An error of a call of the library.
///
/// Its text has the value expected, the value found, and the place; and in some cases advice.
/// [`kind`](Self::kind) is for programs. `?` converts errors of devices, of the file system and of
/// parsers to this one. It is cheap to clone: a stopped store returns the error that stopped it
/// again and again.
///
/// ```
/// # use std::sync::Arc;
/// use terrace::{Db, ErrorKind, MemoryStore, Options};
///
/// # fn main() -> Result<(), terrace::Error> {
/// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
/// let error = db.put(&[0; 70_000], b"value").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::TooLarge);
/// assert_eq!(error.to_string(), "a key of 70000 bytes: expected at most 65535");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Error {
    kinds: Kinds,
    cause: Arc<dyn StdError + Send + Sync>,
}

impl Error {
    fn new(kinds: impl Into<Kinds>, cause: impl StdError + Send + Sync + 'static) -> Self {
        let kinds = kinds.into();
        #[cfg(feature = "tracing")]
        crate::tracer::made(kinds, &cause);
        Self { kinds, cause: Arc::new(cause) }
    }

    /// A key space is not of the store that it is used with.
    pub(crate) fn other_store(name: &str) -> Self {
        Self::new(ErrorKind::OtherStore, Misuse::OtherStore { name: name.into() })
    }

    /// A transaction is not of the store that commits it.
    pub(crate) fn other_transaction() -> Self {
        Self::new(ErrorKind::OtherStore, Misuse::OtherTransaction)
    }

    /// There is no key space of this name.
    pub(crate) fn unknown_key_space(name: &str, mut known: Vec<String>) -> Self {
        let (name, more) = (name.into(), known.len().saturating_sub(NAMES_MAX));
        known.truncate(NAMES_MAX);
        Self::new(ErrorKind::UnknownKeySpace, Misuse::UnknownKeySpace { name, known, more })
    }

    /// A key space was dropped, and a handle of it is used.
    pub(crate) fn dropped_key_space(name: &str) -> Self {
        Self::new(ErrorKind::UnknownKeySpace, Misuse::DroppedKeySpace { name: name.into() })
    }

    /// The store remembers a system that this version does not know.
    pub(crate) fn unknown_system(source: ParseSystemError) -> Self {
        Self::new(ErrorKind::UnknownSystem, UnknownSystem { source })
    }

    /// An error from the process that has the store open.
    pub(crate) fn of_owner(kind: ErrorKind, origin: ErrorKind, text: String) -> Self {
        Self::new(Kinds { kind, origin }, OwnersError { text })
    }

    /// A failure of the live window, or of a connection to it.
    pub(crate) fn of_window(source: io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof};
        match source.kind() {
            UnexpectedEof | BrokenPipe | ConnectionReset | NotConnected => {
                Self::new(ErrorKind::Closed, WindowClosed)
            }
            io::ErrorKind::NotFound => Self::new(ErrorKind::NotFound, WindowError { source }),
            _ => Self::new(ErrorKind::Io, WindowError { source }),
        }
    }

    /// Kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kinds.kind
    }

    /// Kind of its cause: if writing has [stopped](ErrorKind::Stopped), the kind of the first
    /// failure; otherwise its own.
    #[must_use]
    pub fn origin(&self) -> ErrorKind {
        self.kinds.origin
    }

    /// Whether space is short ([`ErrorKind::NoSpace`]): a write may be tried again once something
    /// is deleted, or readers of deleted data are done.
    #[must_use]
    pub fn is_space(&self) -> bool {
        self.kind() == ErrorKind::NoSpace
    }

    /// Whether bytes on the medium differ from the written ones, or writing has stopped for that
    /// reason.
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        self.origin() == ErrorKind::Corruption
    }

    /// The error of the layer that failed, with all its fields:
    /// [`EngineError`](crate::EngineError), [`StoreError`], [`DeviceError`], [`GeometryError`],
    /// [`OutOfRange`] and others, by [`downcast_ref`](trait@StdError).
    ///
    /// ```
    /// use terrace::{Emulator, Error, Geometry, GeometryError, ByteCount};
    ///
    /// let refused = Emulator::in_memory(Geometry::uniform(ByteCount(0), 4), 1);
    /// let error = Error::from(refused.unwrap_err());
    /// assert!(error.get_ref().is::<GeometryError>());
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.cause
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Visible(&self.cause.to_string()))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:?}", self.kinds.kind, self.cause)
    }
}

/// Its text is that of the layer's error, so its source is the source of that error.
impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.source()
    }
}

impl From<terrace_lsm::Error> for Error {
    fn from(error: terrace_lsm::Error) -> Self {
        Self::new(Kinds::of_engine(&error), error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::new(Kinds::of_store(&error), error)
    }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        Self::new(Kinds::of_device(&error), error)
    }
}

impl From<GeometryError> for Error {
    fn from(error: GeometryError) -> Self {
        Self::new(ErrorKind::Invalid, error)
    }
}

/// Errors of the models of drives, which are read from files.
impl From<DriveError> for Error {
    fn from(error: DriveError) -> Self {
        let kind = match &error {
            DriveError::Unknown { .. } => ErrorKind::NotFound,
            DriveError::Malformed { .. } | DriveError::Impossible { .. } => ErrorKind::Invalid,
        };
        Self::new(kind, error)
    }
}

impl From<OutOfRange> for Error {
    fn from(error: OutOfRange) -> Self {
        Self::new(ErrorKind::Option, error)
    }
}

impl From<ParseSystemError> for Error {
    fn from(error: ParseSystemError) -> Self {
        Self::new(ErrorKind::Option, error)
    }
}

impl From<ParseByteCountError> for Error {
    fn from(error: ParseByteCountError) -> Self {
        Self::new(ErrorKind::Invalid, error)
    }
}

/// An error of the process that has the store open.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct OwnersError {
    text: String,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the process that had the store open has closed it, has ended, or has ended the connection; \
     try again"
)]
struct WindowClosed;

#[derive(Debug, thiserror::Error)]
#[error("the live window of the store: {source}")]
struct WindowError {
    source: io::Error,
}

/// A key space that cannot be used.
#[derive(Debug, thiserror::Error)]
enum Misuse {
    #[error(
        "the key space {name:?} belongs to another store: expected one of the store that it is \
         used with; ask that one for it, by `key_space`"
    )]
    OtherStore { name: String },
    #[error("a transaction: expected one of this opening of the store, found one of another")]
    OtherTransaction,
    #[error(
        "the key space {name:?}: expected one of {}{}, found none of this name; \
         `create_key_space` makes it",
        known.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", "),
        if *more > 0 { format!(" and {more} more") } else { String::new() }
    )]
    UnknownKeySpace { name: String, known: Vec<String>, more: usize },
    #[error(
        "the key space {name:?}: expected one that exists, found that it was dropped; \
         `create_key_space` makes a new one of this name"
    )]
    DroppedKeySpace { name: String },
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the store was last opened under a system unknown here: {source}; `Options::system` opens it \
     under another one"
)]
struct UnknownSystem {
    source: ParseSystemError,
}
