//! Operations on buckets. A bucket has no configuration: it has a name, and the time at which it
//! was created. Its region is the server's.

use s3s::dto::{
    Bucket, BucketLocationConstraint, CreateBucketInput, CreateBucketOutput, DeleteBucketInput,
    DeleteBucketOutput, GetBucketLocationInput, GetBucketLocationOutput, GetBucketVersioningInput,
    GetBucketVersioningOutput, HeadBucketInput, HeadBucketOutput, ListBucketsInput,
    ListBucketsOutput, Owner,
};
use s3s::{S3ErrorCode, S3Request, S3Response, S3Result};

use super::answer::{refusal, time};
use super::blocking::blocking;
use super::operations::Operations;
use crate::access::{Need, rights_of};

/// The region of every bucket.
const REGION: &str = "us-east-1";

pub(super) async fn create(
    of: &Operations,
    request: S3Request<CreateBucketInput>,
) -> S3Result<S3Response<CreateBucketOutput>> {
    let (objects, bucket) = (of.objects(), request.input.bucket);
    let location = format!("/{bucket}");
    blocking(move || objects.create_bucket(&bucket)).await?;
    Ok(S3Response::new(CreateBucketOutput { location: Some(location) }))
}

pub(super) async fn delete(
    of: &Operations,
    request: S3Request<DeleteBucketInput>,
) -> S3Result<S3Response<DeleteBucketOutput>> {
    let (objects, bucket) = (of.objects(), request.input.bucket);
    blocking(move || objects.delete_bucket(&bucket)).await?;
    Ok(S3Response::new(DeleteBucketOutput::default()))
}

pub(super) async fn head(
    of: &Operations,
    request: S3Request<HeadBucketInput>,
) -> S3Result<S3Response<HeadBucketOutput>> {
    of.check_bucket(&request.input.bucket).await?;
    let bucket_region = Some(REGION.to_owned());
    Ok(S3Response::new(HeadBucketOutput { bucket_region, ..HeadBucketOutput::default() }))
}

pub(super) async fn location(
    of: &Operations,
    request: S3Request<GetBucketLocationInput>,
) -> S3Result<S3Response<GetBucketLocationOutput>> {
    of.check_bucket(&request.input.bucket).await?;
    // The first region of S3 is the empty one here.
    let location_constraint = Some(BucketLocationConstraint::from(String::new()));
    Ok(S3Response::new(GetBucketLocationOutput { location_constraint }))
}

/// No bucket has versions.
pub(super) async fn versioning(
    of: &Operations,
    request: S3Request<GetBucketVersioningInput>,
) -> S3Result<S3Response<GetBucketVersioningOutput>> {
    of.check_bucket(&request.input.bucket).await?;
    Ok(S3Response::new(GetBucketVersioningOutput::default()))
}

/// Most buckets of a list, as in S3.
const BUCKETS_MAX: i32 = 10_000;

/// The buckets that the key may read, in order. A token is the last name of the list before.
pub(super) async fn list(
    of: &Operations,
    request: S3Request<ListBucketsInput>,
) -> S3Result<S3Response<ListBucketsOutput>> {
    let objects = of.objects();
    let rights = rights_of(&request.extensions);
    let input = request.input;
    let max = usize::try_from(input.max_buckets.unwrap_or(BUCKETS_MAX)).unwrap_or(0);
    if !(1..=BUCKETS_MAX as usize).contains(&max) {
        let message = format!("max-buckets: expected 1 to {BUCKETS_MAX}");
        return Err(refusal(S3ErrorCode::InvalidArgument, message));
    }
    let prefix = input.prefix.as_deref().unwrap_or_default();
    let after = input.continuation_token.unwrap_or_default();
    let buckets = blocking(move || objects.buckets()).await?.into_iter();
    let buckets = buckets.filter(|(name, _)| {
        name.starts_with(prefix)
            && *name > after
            && rights.as_ref().is_some_and(|rights| rights.allow(name, Need::Read))
    });
    let mut buckets: Vec<_> = buckets.take(max + 1).collect();
    let is_truncated = buckets.len() > max;
    buckets.truncate(max);
    let last = buckets.last().map(|(name, _)| name.clone());
    let buckets = buckets.into_iter().map(|(name, bucket)| Bucket {
        bucket_region: None,
        creation_date: Some(time(bucket.created)),
        name: Some(name),
    });
    Ok(S3Response::new(ListBucketsOutput {
        buckets: Some(buckets.collect()),
        continuation_token: last.filter(|_| is_truncated),
        owner: Some(owner()),
        prefix: input.prefix.clone(),
    }))
}

/// The owner of all buckets and objects: a name for clients that expect one.
pub(super) fn owner() -> Owner {
    Owner { display_name: Some("terrace".into()), id: Some("terrace".into()) }
}
