//! Conditions of requests: those of changes as a [`Condition`], and those of reads against the
//! object that was found, in the order of RFC 9110. Times are compared in seconds.

use s3s::dto::{ETag, ETagCondition, Timestamp};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::answer::{refusal, time};
use crate::objects::{Condition, ObjectRecord};

/// The condition of a change.
pub(super) fn of_change(
    if_match: Option<ETagCondition>,
    if_none_match: Option<ETagCondition>,
) -> Condition {
    match (if_match, if_none_match) {
        (Some(ETagCondition::Any), _) => Condition::Present,
        (Some(ETagCondition::ETag(etag)), _) => Condition::Etag(value(etag)),
        (None, Some(ETagCondition::Any)) => Condition::Absent,
        (None, Some(ETagCondition::ETag(etag))) => Condition::NotEtag(value(etag)),
        (None, None) => Condition::Always,
    }
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
            ETagCondition::ETag(etag) => etag.value() == found.etag(),
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
        if is_known { Err(S3Error::new(S3ErrorCode::NotModified)) } else { Ok(()) }
    }

    /// Checks the conditions on the source of a copy, which cannot be `NotModified`: nothing is
    /// read that the client could know.
    pub(super) fn check_source(&self, found: &ObjectRecord) -> S3Result<()> {
        self.check(found).map_err(|_| failed())
    }
}

fn failed() -> S3Error {
    refusal(S3ErrorCode::PreconditionFailed, "a condition of the request does not hold")
}

fn value(etag: ETag) -> String {
    etag.into_value()
}
