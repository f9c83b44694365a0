//! GetObject and HeadObject, with ranges and conditions. A checksum is returned for a whole object
//! if the client asks for it.

use std::ops::Range;

use s3s::dto::{
    self, ChecksumMode, GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput,
};
use s3s::{S3ErrorCode, S3Request, S3Response, S3Result};

use super::answer::{etag, refusal, size, time};
use super::attributes::{expires, to_metadata, value};
use super::blocking::blocking;
use super::conditions::OfRead;
use super::digests::set_checksum;
use super::operations::Operations;
use super::pieces::pieces;
use crate::objects::{Header, ObjectRecord};

/// Bytes of the object that are asked for.
fn range_of(range: Option<dto::Range>, record: &ObjectRecord) -> S3Result<Range<u64>> {
    let Some(range) = range else { return Ok(0..record.size) };
    range.check(record.size).map_err(|_| {
        let size = record.size;
        refusal(S3ErrorCode::InvalidRange, format!("expected a range in {size} bytes"))
    })
}

fn content_range(range: &Range<u64>, record: &ObjectRecord) -> String {
    format!("bytes {}-{}/{}", range.start, range.end.saturating_sub(1), record.size)
}

fn check_part_number(number: Option<i32>) -> S3Result<()> {
    match number {
        None | Some(1) => Ok(()),
        Some(_) => Err(refusal(S3ErrorCode::NotImplemented, "reads by part are not implemented")),
    }
}

/// Fills the fields that both outputs have.
macro_rules! described {
    ($output:ident, $record:expr, $range:expr, $is_part:expr, $mode:expr) => {{
        let (record, attributes): (&ObjectRecord, _) = ($record, &$record.attributes);
        let mut output = $output {
            accept_ranges: Some("bytes".into()),
            content_length: Some(size($range.end - $range.start)),
            content_range: $is_part.then(|| content_range($range, record)),
            content_disposition: value(attributes, Header::ContentDisposition),
            content_encoding: value(attributes, Header::ContentEncoding).map(Into::into),
            content_language: value(attributes, Header::ContentLanguage),
            cache_control: value(attributes, Header::CacheControl),
            content_type: value(attributes, Header::ContentType).map(Into::into),
            expires: expires(attributes),
            e_tag: Some(etag(record.etag())),
            last_modified: Some(time(record.modified)),
            metadata: to_metadata(attributes),
            parts_count: None,
            ..$output::default()
        };
        let is_asked = $mode.is_some_and(|mode: ChecksumMode| mode.as_str() == "ENABLED");
        if is_asked && !$is_part {
            set_checksum!(output, &record.checksum);
        }
        output
    }};
}

pub(super) async fn get(
    of: &Operations,
    request: S3Request<GetObjectInput>,
) -> S3Result<S3Response<GetObjectOutput>> {
    let (objects, input) = (of.objects(), request.input);
    check_part_number(input.part_number)?;
    let found = blocking(move || objects.get(&input.bucket, &input.key)).await?;
    let record = &found.record;
    let conditions = OfRead {
        if_match: input.if_match,
        if_none_match: input.if_none_match,
        if_modified_since: input.if_modified_since,
        if_unmodified_since: input.if_unmodified_since,
    };
    conditions.check(record)?;
    let is_part = input.range.is_some();
    let range = range_of(input.range, record)?;
    let mut output = described!(GetObjectOutput, record, &range, is_part, input.checksum_mode);
    let tags = i32::try_from(record.attributes.tags.len()).unwrap_or(i32::MAX);
    output.tag_count = (tags > 0).then_some(tags);
    output.body = Some(pieces(found.body, range.start, range.end, of.metrics()).await?);
    Ok(S3Response::new(output))
}

pub(super) async fn head(
    of: &Operations,
    request: S3Request<HeadObjectInput>,
) -> S3Result<S3Response<HeadObjectOutput>> {
    let (objects, input) = (of.objects(), request.input);
    check_part_number(input.part_number)?;
    let record = blocking(move || objects.head(&input.bucket, &input.key)).await?;
    let conditions = OfRead {
        if_match: input.if_match,
        if_none_match: input.if_none_match,
        if_modified_since: input.if_modified_since,
        if_unmodified_since: input.if_unmodified_since,
    };
    conditions.check(&record)?;
    let is_part = input.range.is_some();
    let range = range_of(input.range, &record)?;
    let output = described!(HeadObjectOutput, &record, &range, is_part, input.checksum_mode);
    Ok(S3Response::new(output))
}
