//! GetObject and HeadObject, with ranges and conditions. A range that `If-Range` takes back is not
//! looked at. A checksum is returned for a whole object if the client asks for it. An object of an
//! upload in parts can be read by part; any other one is one part.

use std::ops::Range;

use hyper::StatusCode;
use hyper::header::{CONTENT_RANGE, HeaderMap};
use s3s::dto::{
    self, ChecksumMode, GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result};

use super::answer::{etag, refusal, size, time};
use super::attributes::{expires, to_metadata, value};
use super::blocking::blocking;
use super::conditions::{OfRead, keeps_range};
use super::digests::set_checksum;
use super::operations::Operations;
use super::pieces::pieces;
use crate::objects::{Header, ObjectRecord};

/// The type of an object that was put without one, as in S3.
const NO_TYPE: &str = "binary/octet-stream";

/// The header with the number of tags.
const TAGS: &str = "x-amz-tagging-count";

/// Bytes of the object that are asked for.
fn range_of(
    range: Option<dto::Range>,
    part: Option<i32>,
    record: &ObjectRecord,
) -> S3Result<Range<u64>> {
    match (range, part) {
        (None, None) => Ok(0..record.size),
        (None, Some(number)) => part_of(number, record),
        (Some(_), Some(_)) => {
            let message = "expected a range or the number of a part, found both";
            Err(refusal(S3ErrorCode::InvalidRequest, message))
        }
        // The library takes the last bytes of an empty object for a range of none.
        (Some(range), None) => {
            let range = range.check(record.size).ok().filter(|range| !range.is_empty());
            range.ok_or_else(|| outside(record.size))
        }
    }
}

/// The refusal of a range outside of an object, with its size (RFC 9110, section 15.5.17).
fn outside(size: u64) -> S3Error {
    let mut error = refusal(S3ErrorCode::InvalidRange, format!("expected a range in {size} bytes"));
    if let Ok(value) = format!("bytes */{size}").parse() {
        error.set_headers(HeaderMap::from_iter([(CONTENT_RANGE, value)]));
    }
    error
}

/// Bytes of a part.
fn part_of(number: i32, record: &ObjectRecord) -> S3Result<Range<u64>> {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let Some(index) = index else {
        return Err(refusal(S3ErrorCode::InvalidArgument, "partNumber: expected 1 or more"));
    };
    if record.parts == 0 && index == 0 {
        return Ok(0..record.size);
    }
    let segments = record.segments();
    let Some(segment) = segments.get(index).filter(|_| record.parts > 0) else {
        let mut error = refusal(
            S3ErrorCode::Custom("InvalidPartNumber".into()),
            format!("expected a part from 1 to {}", record.parts.max(1)),
        );
        error.set_status_code(StatusCode::RANGE_NOT_SATISFIABLE);
        return Err(error);
    };
    let start: u64 = segments[..index].iter().map(|segment| segment.size).sum();
    Ok(start..start + segment.size)
}

fn content_range(range: &Range<u64>, record: &ObjectRecord) -> String {
    format!("bytes {}-{}/{}", range.start, range.end.saturating_sub(1), record.size)
}

/// Fills the fields that both outputs have.
macro_rules! described {
    ($output:ident, $record:expr, $range:expr, $is_part:expr, $is_of_parts:expr, $mode:expr) => {{
        let (record, attributes): (&ObjectRecord, _) = ($record, &$record.attributes);
        let mut output = $output {
            accept_ranges: Some("bytes".into()),
            content_length: Some(size($range.end - $range.start)),
            content_range: $is_part.then(|| content_range($range, record)),
            content_disposition: value(attributes, Header::ContentDisposition),
            content_encoding: value(attributes, Header::ContentEncoding).map(Into::into),
            content_language: value(attributes, Header::ContentLanguage),
            cache_control: value(attributes, Header::CacheControl),
            content_type: value(attributes, Header::ContentType)
                .or_else(|| Some(NO_TYPE.to_owned()))
                .map(Into::into),
            expires: expires(attributes),
            e_tag: Some(etag(record.etag())),
            last_modified: Some(time(record.modified)),
            metadata: to_metadata(attributes),
            parts_count: ($is_of_parts && record.parts > 0).then(|| record.parts.into()),
            ..$output::default()
        };
        let is_asked =
            $mode.is_some_and(|mode: ChecksumMode| mode.as_str().eq_ignore_ascii_case("ENABLED"));
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
    let (objects, headers, input) = (of.objects(), request.headers, request.input);
    let found = blocking(move || objects.get(&input.bucket, &input.key)).await?;
    let record = &found.record;
    let conditions = OfRead {
        if_match: input.if_match,
        if_none_match: input.if_none_match,
        if_modified_since: input.if_modified_since,
        if_unmodified_since: input.if_unmodified_since,
    };
    conditions.check(record)?;
    let is_of_parts = input.part_number.is_some();
    let asked = input.range.filter(|_| keeps_range(&headers, record));
    let range = range_of(asked, input.part_number, record)?;
    let is_part = (asked.is_some() || is_of_parts) && !range.is_empty();
    let mode = input.checksum_mode;
    let mut output = described!(GetObjectOutput, record, &range, is_part, is_of_parts, mode);
    let tags = i32::try_from(record.attributes.tags.len()).unwrap_or(i32::MAX);
    output.tag_count = (tags > 0).then_some(tags);
    output.body = Some(pieces(found.body, range.start, range.end, of.metrics()).await?);
    Ok(S3Response::new(output))
}

pub(super) async fn head(
    of: &Operations,
    request: S3Request<HeadObjectInput>,
) -> S3Result<S3Response<HeadObjectOutput>> {
    let (objects, headers, input) = (of.objects(), request.headers, request.input);
    let record = blocking(move || objects.head(&input.bucket, &input.key)).await?;
    let conditions = OfRead {
        if_match: input.if_match,
        if_none_match: input.if_none_match,
        if_modified_since: input.if_modified_since,
        if_unmodified_since: input.if_unmodified_since,
    };
    conditions.check(&record)?;
    let is_of_parts = input.part_number.is_some();
    let asked = input.range.filter(|_| keeps_range(&headers, &record));
    let range = range_of(asked, input.part_number, &record)?;
    let is_part = (asked.is_some() || is_of_parts) && !range.is_empty();
    let mode = input.checksum_mode;
    let output = described!(HeadObjectOutput, &record, &range, is_part, is_of_parts, mode);
    let mut response = S3Response::new(output);
    // The library has no field for it.
    let tags = record.attributes.tags.len();
    if tags > 0 {
        response.headers.insert(TAGS, tags.into());
    }
    Ok(response)
}
