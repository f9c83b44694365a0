//! [`Fault`]: the reasons for which a call of [`Objects`](super::Objects) fails.

use terrace::{Error, ErrorKind, StoreError};
use terrace_env::codec::DecodeError;

/// A failed call.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The bucket does not exist.
    #[error("bucket {0:?}: expected an existing one")]
    NoSuchBucket(String),
    /// The bucket exists.
    #[error("bucket {0:?}: expected a new one")]
    BucketExists(String),
    /// The bucket has objects or unfinished uploads.
    #[error("bucket {0:?}: expected an empty one")]
    BucketNotEmpty(String),
    /// The object does not exist.
    #[error("object {0:?}: expected an existing one")]
    NoSuchKey(String),
    /// The upload does not exist: it never did, or it was completed or aborted.
    #[error("upload: expected an unfinished one")]
    NoSuchUpload,
    /// A condition of the request does not hold.
    #[error("a condition of the request does not hold")]
    Precondition,
    /// A part that a completion names does not exist, or has another ETag.
    #[error("part {0}: expected a part of this upload with the given ETag")]
    InvalidPart(u16),
    /// The parts of a completion do not come in order.
    #[error("expected parts in ascending order")]
    PartOrder,
    /// A part other than the last one is too small.
    #[error("part {number}: expected at least {least} bytes, found {found}")]
    PartTooSmall {
        /// Number of the part.
        number: u16,
        /// Least bytes.
        least: u64,
        /// Its bytes.
        found: u64,
    },
    /// The parts have another size than the client expects.
    #[error("object: expected {expected} bytes, found parts of {found}")]
    WrongSize {
        /// Bytes that the client expects.
        expected: u64,
        /// Bytes of all parts.
        found: u64,
    },
    /// A part of a completion has no checksum of the algorithm that the completion uses.
    #[error("expected a checksum {0} of each part, found a part without one")]
    NoPartChecksum(String),
    /// The checksum that a completion gives is not that of its parts.
    #[error("expected an object of the checksum {0}, found parts of another one")]
    WrongChecksum(String),
    /// The bytes of a body differ from those that were written.
    #[error("body: expected the checksum {expected:08x} of chunk {chunk}, found {found:08x}")]
    Damaged {
        /// Number of the chunk in its file.
        chunk: u64,
        /// Checksum in the entry.
        expected: u32,
        /// Checksum of the bytes.
        found: u32,
    },
    /// A small body is missing, or has another size than its object.
    #[error("body: expected an entry of {expected} bytes, found {found}")]
    BodySize {
        /// Bytes of the object.
        expected: u64,
        /// Bytes of the entry.
        found: u64,
    },
    /// The file of a body is not there, or the id in its entry is that of another file.
    #[error("body: expected the file {name} of {size} bytes, found none")]
    NoFile {
        /// Name of the file.
        name: String,
        /// Its size.
        size: u64,
    },
    /// The store is a copy without the files of its objects, or was made by a version that kept no
    /// origin and has lost files.
    #[error(
        "objects: expected the files of all objects, found {missing} missing, such as one of \
         {example}; a checkpoint and a backup do not copy these files. To use the store without \
         these objects, start once with --forget-missing, and put them again"
    )]
    NoFiles {
        /// Number of missing files.
        missing: u64,
        /// An entry that names one.
        example: String,
    },
    /// An entry does not decode.
    #[error("entry of an object: {0}")]
    Entry(#[from] DecodeError),
    /// The store failed, or it is full.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error.into())
    }
}

impl Fault {
    /// Whether space is short.
    #[must_use]
    pub fn is_space(&self) -> bool {
        let is_full = |error: &Error| error.is_space() || error.kind() == ErrorKind::HostFull;
        matches!(self, Self::Store(error) if is_full(error))
    }
}
