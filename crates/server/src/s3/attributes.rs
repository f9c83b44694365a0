//! Attributes of an object, from the headers of requests and to those of answers.
//!
//! User metadata is limited to 8 KiB, tags to ten, as S3 has it (2 KiB there).

use s3s::dto::{
    CopyObjectInput, CreateMultipartUploadInput, Metadata, PutObjectInput, Timestamp,
    TimestampFormat,
};
use s3s::{S3ErrorCode, S3Result};

use super::answer::refusal;
use super::tags;
use crate::objects::{Attributes, Header};

/// Most bytes of names and values of user metadata.
const METADATA_MAX: usize = 8 << 10;

/// Inputs with attributes.
pub(super) trait HasAttributes {
    /// Takes the attributes out.
    fn attributes(&mut self) -> S3Result<Attributes>;
}

macro_rules! has_attributes {
    ($($input:ty),*) => {$(
        impl HasAttributes for $input {
            fn attributes(&mut self) -> S3Result<Attributes> {
                let mut attributes = Attributes::default();
                let expires = self.expires.take().map(|time| date(&time));
                for (header, value) in [
                    (Header::ContentType, self.content_type.take().map(Into::into)),
                    (Header::CacheControl, self.cache_control.take()),
                    (Header::ContentDisposition, self.content_disposition.take()),
                    (Header::ContentEncoding, self.content_encoding.take().and_then(unchunked)),
                    (Header::ContentLanguage, self.content_language.take()),
                    (Header::Expires, expires),
                ] {
                    attributes.set(header, value);
                }
                attributes.metadata = metadata(self.metadata.take())?;
                if let Some(text) = self.tagging.take() {
                    attributes.tags = tags::of_header(&text)?;
                }
                Ok(attributes)
            }
        }
    )*};
}

has_attributes!(PutObjectInput, CreateMultipartUploadInput, CopyObjectInput);

/// The encoding of a body without that of its transfer.
fn unchunked(encoding: String) -> Option<String> {
    let rest: Vec<&str> =
        encoding.split(',').map(str::trim).filter(|one| *one != "aws-chunked").collect();
    (!rest.is_empty()).then(|| rest.join(","))
}

fn metadata(given: Option<Metadata>) -> S3Result<Vec<(String, String)>> {
    let pairs: Vec<(String, String)> = given.unwrap_or_default().into_iter().collect();
    let bytes: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > METADATA_MAX {
        let message = format!("expected at most {METADATA_MAX} bytes of metadata, found {bytes}");
        return Err(refusal(S3ErrorCode::MetadataTooLarge, message));
    }
    let mut pairs = pairs;
    pairs.sort();
    Ok(pairs)
}

/// User metadata of an answer.
pub(super) fn to_metadata(attributes: &Attributes) -> Option<Metadata> {
    let pairs = attributes.metadata.iter().cloned();
    (!attributes.metadata.is_empty()).then(|| pairs.collect())
}

/// A header of an answer.
pub(super) fn value(attributes: &Attributes, header: Header) -> Option<String> {
    attributes.header(header).map(str::to_owned)
}

/// A date as a header has it.
pub(super) fn date(time: &Timestamp) -> String {
    let mut text = Vec::new();
    // A date that cannot be written is not kept.
    let _ = time.format(TimestampFormat::HttpDate, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// The date in a header.
pub(super) fn expires(attributes: &Attributes) -> Option<Timestamp> {
    let text = attributes.header(Header::Expires)?;
    Timestamp::parse(TimestampFormat::HttpDate, text).ok()
}
