//! Conditions of requests: those of changes as a [`Condition`], and those of reads against the
//! object that was found, in the order of RFC 9110. Times are compared in seconds.

use hyper::header::{
    CACHE_CONTROL, ETAG, EXPIRES, HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH, IF_RANGE,
    LAST_MODIFIED,
};
use s3s::dto::{ETag, ETagCondition, Timestamp};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::answer::{refusal, time};
use super::attributes::{date, value as attribute};
use crate::objects::{Condition, Header, ObjectRecord};

/// The condition of a change.
pub(super) fn of_change(
    if_match: Option<ETagCondition>,
    if_none_match: Option<ETagCondition>,
) -> Condition {
    match (if_match, if_none_match) {
        (Some(ETagCondition::Any), _) => Condition::Present,
        (Some(ETagCondition::ETag(etag)), _) => Condition::Etag(values(&etag)),
        (None, Some(ETagCondition::Any)) => Condition::Absent,
        (None, Some(ETagCondition::ETag(etag))) => Condition::NotEtag(values(&etag)),
        (None, None) => Condition::Always,
    }
}

/// The condition of a change, by its headers.
pub(super) fn of_headers(headers: &HeaderMap) -> S3Result<Condition> {
    let given = |name: HeaderName| {
        let wrong = |_| refusal(S3ErrorCode::InvalidArgument, format!("{name}: expected an ETag"));
        let value = headers.get(&name).map(|value| value.as_bytes());
        value.map(ETagCondition::parse_http_header).transpose().map_err(wrong)
    };
    Ok(of_change(given(IF_MATCH)?, given(IF_NONE_MATCH)?))
}

/// Whether a range is one of the object that was found. If `If-Range` names another one, by its
/// ETag or its time, the client gets the whole object (RFC 9110, section 13.1.5).
pub(super) fn keeps_range(headers: &HeaderMap, found: &ObjectRecord) -> bool {
    let Some(named) = headers.get(IF_RANGE).map(|value| value.as_bytes()) else { return true };
    // S3 takes an ETag without quotes, too.
    let inner = named.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    inner.unwrap_or(named) == found.etag().as_bytes()
        || named == date(&time(found.modified)).as_bytes()
}

/// Conditions of a read.
#[derive(Default)]
pub(super) struct OfRead {
    pub(super) if_match: Option<ETagCondition>,
    pub(super) if_none_match: Option<ETagCondition>,
    pub(super) if_modified_since: Option<Timestamp>,
    pub(super) if_unmodified_since: Option<Timestamp>,
}

impl OfRead {
    /// Checks the conditions: `PreconditionFailed`, or `NotModified`.
    pub(super) fn check(&self, found: &ObjectRecord) -> S3Result<()> {
        let modified = time(found.modified / 1000 * 1000);
        let is = |condition: &ETagCondition| match condition {
            ETagCondition::Any => true,
            ETagCondition::ETag(etag) => values(etag).contains(&found.etag()),
        };
        let fails = match (&self.if_match, &self.if_unmodified_since) {
            (Some(condition), _) => !is(condition),
            (None, Some(since)) => modified > *since,
            (None, None) => false,
        };
        if fails {
            return Err(failed());
        }
        let is_known = match (&self.if_none_match, &self.if_modified_since) {
            (Some(condition), _) => is(condition),
            (None, Some(since)) => modified <= *since,
            (None, None) => false,
        };
        if is_known { Err(not_modified(found)) } else { Ok(()) }
    }

    /// Checks the conditions on the source of a copy, which cannot be `NotModified`: nothing is
    /// read that the client could know.
    pub(super) fn check_source(&self, found: &ObjectRecord) -> S3Result<()> {
        self.check(found).map_err(|_| failed())
    }
}

/// The answer that a client's copy is the object, with the headers of RFC 9110, section 15.4.5.
fn not_modified(found: &ObjectRecord) -> S3Error {
    let mut headers = HeaderMap::new();
    let attributes = &found.attributes;
    for (name, value) in [
        (ETAG, Some(format!("\"{}\"", found.etag()))),
        (LAST_MODIFIED, Some(date(&time(found.modified)))),
        (CACHE_CONTROL, attribute(attributes, Header::CacheControl)),
        (EXPIRES, attribute(attributes, Header::Expires)),
    ] {
        if let Some(value) = value.and_then(|value| value.parse().ok()) {
            headers.insert(name, value);
        }
    }
    let mut error = S3Error::new(S3ErrorCode::NotModified);
    error.set_headers(headers);
    error
}

fn failed() -> S3Error {
    refusal(S3ErrorCode::PreconditionFailed, "a condition of the request does not hold")
}

/// The ETags of a condition. The library takes a list for one text, with the quotes between its
/// ETags.
fn values(etag: &ETag) -> Vec<String> {
    etag.value().split('"').map(str::to_owned).collect()
}
