//! Operations on buckets. A bucket has no configuration: it has a name, and the time at which it
//! was created. Its region is the server's.

use s3s::dto::{
    Bucket, BucketLocationConstraint, CreateBucketInput, CreateBucketOutput, DeleteBucketInput,
    DeleteBucketOutput, GetBucketLocationInput, GetBucketLocationOutput, GetBucketVersioningInput,
    GetBucketVersioningOutput, HeadBucketInput, HeadBucketOutput, ListBucketsInput,
    ListBucketsOutput, Owner,
};
use s3s::{S3Request, S3Response, S3Result};

use super::answer::time;
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

/// The buckets that the key may read.
pub(super) async fn list(
    of: &Operations,
    request: S3Request<ListBucketsInput>,
) -> S3Result<S3Response<ListBucketsOutput>> {
    let objects = of.objects();
    let rights = rights_of(&request.extensions);
    let prefix = request.input.prefix.unwrap_or_default();
    let buckets = blocking(move || objects.buckets()).await?.into_iter();
    let buckets = buckets.filter(|(name, _)| {
        name.starts_with(&prefix)
            && rights.as_ref().is_some_and(|rights| rights.allow(name, Need::Read))
    });
    let buckets = buckets.map(|(name, bucket)| Bucket {
        bucket_region: None,
        creation_date: Some(time(bucket.created)),
        name: Some(name),
    });
    Ok(S3Response::new(ListBucketsOutput {
        buckets: Some(buckets.collect()),
        owner: Some(owner()),
        ..ListBucketsOutput::default()
    }))
}

/// The owner of all buckets and objects: a name for clients that expect one.
pub(super) fn owner() -> Owner {
    Owner { display_name: Some("terrace".into()), id: Some("terrace".into()) }
}
