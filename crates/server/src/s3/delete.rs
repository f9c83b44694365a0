//! DeleteObject and DeleteObjects. A key that is not there counts as deleted.
//!
//! A list of keys may name a version, a size or a time for each key. A key with a version that does
//! not exist, or with a condition that is not implemented, is not deleted.

use s3s::dto::{
    DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject,
    ETagCondition, Error, ObjectIdentifier,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result};

use super::answer::refusal;
use super::blocking::blocking;
use super::conditions;
use super::operations::{Operations, check_key};
use super::unsupported;
use crate::objects::{Condition, Fault};

/// Most keys of a request.
const KEYS_MAX: usize = 1000;

pub(super) async fn one(
    of: &Operations,
    request: S3Request<DeleteObjectInput>,
) -> S3Result<S3Response<DeleteObjectOutput>> {
    let (objects, input) = (of.objects(), request.input);
    let condition = conditions::of_change(input.if_match, None);
    blocking(move || objects.delete(&input.bucket, &input.key, &condition)).await?;
    Ok(S3Response::new(DeleteObjectOutput::default()))
}

/// Checks a key in a list, its version and its conditions.
fn check(one: &ObjectIdentifier) -> S3Result<()> {
    check_key(&one.key)?;
    unsupported::check_version(one.version_id.as_deref())?;
    if one.size.is_some() || one.last_modified_time.is_some() {
        let message = "deletes by size or time are not implemented";
        return Err(refusal(S3ErrorCode::NotImplemented, message));
    }
    Ok(())
}

pub(super) async fn many(
    of: &Operations,
    request: S3Request<DeleteObjectsInput>,
) -> S3Result<S3Response<DeleteObjectsOutput>> {
    let input = request.input;
    let keys = input.delete.objects;
    if !(1..=KEYS_MAX).contains(&keys.len()) {
        let message = format!("expected 1 to {KEYS_MAX} keys, found {}", keys.len());
        return Err(refusal(S3ErrorCode::MalformedXML, message));
    }
    of.check_bucket(&input.bucket).await?;
    let is_quiet = input.delete.quiet == Some(true);
    let (objects, bucket) = (of.objects(), input.bucket);
    let (deleted, errors) = blocking(move || {
        let (mut wanted, mut deleted, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for one in keys {
            if let Err(error) = check(&one) {
                errors.push((one.key, error));
                continue;
            }
            let etag = one.e_tag.map(ETagCondition::ETag);
            wanted.push((one.key, conditions::of_change(etag, None)));
        }
        let done = objects.delete_all(&bucket, &wanted);
        for ((key, condition), done) in wanted.into_iter().zip(done) {
            match done {
                Err(Fault::NoSuchKey(_)) if condition != Condition::Always => deleted.push(key),
                Ok(_) => deleted.push(key),
                Err(fault) => errors.push((key, S3Error::from(fault))),
            }
        }
        Ok((deleted, errors))
    })
    .await?;
    let of_key = |key| DeletedObject { key: Some(key), ..DeletedObject::default() };
    let of_error = |(key, error): (String, S3Error)| Error {
        code: Some(error.code().as_str().to_owned()),
        key: Some(key),
        message: error.message().map(str::to_owned),
        version_id: None,
    };
    Ok(S3Response::new(DeleteObjectsOutput {
        deleted: (!is_quiet).then(|| deleted.into_iter().map(of_key).collect()),
        errors: (!errors.is_empty()).then(|| errors.into_iter().map(of_error).collect()),
        request_charged: None,
    }))
}
