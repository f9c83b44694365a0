//! Values of answers as S3 has them: errors, times, ETags, and keys in lists.
//!
//! A full store is the error `InsufficientStorage` with the status 507. Other failures of the store
//! are `InternalError`, and go to the log with their text. A store that no longer takes writes, or
//! that is being closed, is `ServiceUnavailable`.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use hyper::StatusCode;
use s3s::dto::{ETag, Timestamp};
use s3s::{S3Error, S3ErrorCode};
use terrace::ErrorKind;

use crate::objects::Fault;

impl From<Fault> for S3Error {
    fn from(fault: Fault) -> Self {
        let message = fault.to_string();
        let code = match &fault {
            Fault::NoSuchBucket(_) => S3ErrorCode::NoSuchBucket,
            Fault::BucketExists(_) => S3ErrorCode::BucketAlreadyOwnedByYou,
            Fault::BucketNotEmpty(_) => S3ErrorCode::BucketNotEmpty,
            Fault::NoSuchKey(_) => S3ErrorCode::NoSuchKey,
            Fault::NoSuchUpload => S3ErrorCode::NoSuchUpload,
            Fault::Precondition => S3ErrorCode::PreconditionFailed,
            Fault::InvalidPart(_) => S3ErrorCode::InvalidPart,
            Fault::PartOrder => S3ErrorCode::InvalidPartOrder,
            Fault::PartTooSmall { .. } => S3ErrorCode::EntityTooSmall,
            Fault::WrongSize { .. } | Fault::NoPartChecksum(_) => S3ErrorCode::InvalidRequest,
            Fault::WrongChecksum(_) => S3ErrorCode::BadDigest,
            Fault::Damaged { .. }
            | Fault::BodySize { .. }
            | Fault::NoFile { .. }
            | Fault::NoFiles { .. }
            | Fault::Entry(_) => {
                tracing::error!(%fault, "damage in an object");
                S3ErrorCode::InternalError
            }
            Fault::Store(_) if fault.is_space() => {
                tracing::warn!(%fault, "no space for a request");
                return full(message);
            }
            Fault::Store(error) => {
                tracing::error!(%error, "the store failed");
                match error.kind() {
                    ErrorKind::Stopped | ErrorKind::Closed => S3ErrorCode::ServiceUnavailable,
                    ErrorKind::TooLarge => S3ErrorCode::EntityTooLarge,
                    _ => S3ErrorCode::InternalError,
                }
            }
        };
        Self::with_message(code, message)
    }
}

/// The error of a full store.
fn full(message: String) -> S3Error {
    let code = S3ErrorCode::Custom("InsufficientStorage".into());
    let mut error = S3Error::with_message(code, message);
    error.set_status_code(StatusCode::INSUFFICIENT_STORAGE);
    error
}

/// An error of the client.
pub(super) fn refusal(code: S3ErrorCode, message: impl Into<String>) -> S3Error {
    S3Error::with_message(code, message.into())
}

/// A time, from milliseconds since 1970: whole seconds, as S3 has them, so that a list and the
/// header `Last-Modified` give one time for an object.
pub(super) fn time(millis: u64) -> Timestamp {
    let since = Duration::from_secs(millis / 1000);
    Timestamp::from(SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH))
}

/// An ETag.
pub(super) fn etag(text: String) -> ETag {
    ETag::Strong(text)
}

/// A size, as S3 has it.
pub(super) fn size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// A text as a list of the encoding type `url` has it, or as it is.
pub(super) fn encoded(text: String, url: bool) -> String {
    if !url {
        return text;
    }
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                encoded.push(byte.into());
            }
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_for_urls_byte_by_byte() {
        assert_eq!(encoded("a b/ü+~".into(), true), "a%20b/%C3%BC%2B~");
        assert_eq!(encoded("a b".into(), false), "a b");
    }
}
