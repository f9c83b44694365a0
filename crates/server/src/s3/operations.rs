//! [`Operations`]: the operations that the server has, by their names in S3. All others, and
//! uploads by forms of browsers, answer `NotImplemented`.

use std::sync::Arc;
use std::time::Duration;

use s3s::dto::*;
use s3s::{S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result};

use super::answer::refusal;
use super::blocking::blocking;
use super::intake::Intake;
use super::places::Places;
use super::{acl, buckets, copy, delete, get, list, multipart, put, summary, tags, unsupported};
use crate::metrics::Metrics;
use crate::objects::Objects;

/// Most bytes of a key, as in S3.
const KEY_MAX: usize = 1024;

/// See the [module](self).
pub(crate) struct Operations {
    objects: Arc<Objects>,
    metrics: Arc<Metrics>,
    /// Time that a client has for each piece of a body.
    piece_time_max: Duration,
    places: Places,
}

/// Checks the key of an object that is to be made.
pub(super) fn check_key(key: &str) -> S3Result<()> {
    if key.len() > KEY_MAX {
        return Err(S3Error::new(S3ErrorCode::KeyTooLongError));
    }
    if key.contains('\0') {
        return Err(refusal(S3ErrorCode::InvalidArgument, "expected a key without a zero byte"));
    }
    Ok(())
}

impl Operations {
    /// Operations on these objects.
    #[must_use]
    pub(crate) fn new(
        objects: Arc<Objects>,
        metrics: Arc<Metrics>,
        piece_time_max: Duration,
        places: Places,
    ) -> Self {
        Self { objects, metrics, piece_time_max, places }
    }

    pub(super) fn objects(&self) -> Arc<Objects> {
        Arc::clone(&self.objects)
    }

    pub(super) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    pub(super) fn intake(&self, body: Option<StreamingBlob>) -> S3Result<Intake> {
        Intake::new(body, self.piece_time_max, (&self.metrics, &self.places))
    }

    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// Checks that a bucket exists.
    pub(super) async fn check_bucket(&self, bucket: &str) -> S3Result<()> {
        let (objects, bucket) = (self.objects(), bucket.to_owned());
        blocking(move || objects.bucket(&bucket)).await.map(drop)
    }
}

macro_rules! operations {
    ($($name:ident: $input:ty => $output:ty, $call:path;)*) => {
        #[async_trait::async_trait]
        impl S3 for Operations {
            $(
                async fn $name(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                    unsupported::check(stringify!($name), &request.uri, &request.headers)?;
                    $call(self, request).await
                }
            )*

            // The crate would make it a put, which any page in a browser can ask for.
            async fn post_object(
                &self,
                _: S3Request<PostObjectInput>,
            ) -> S3Result<S3Response<PostObjectOutput>> {
                Err(S3Error::new(S3ErrorCode::NotImplemented))
            }
        }
    };
}

operations! {
    list_buckets: ListBucketsInput => ListBucketsOutput, buckets::list;
    create_bucket: CreateBucketInput => CreateBucketOutput, buckets::create;
    delete_bucket: DeleteBucketInput => DeleteBucketOutput, buckets::delete;
    head_bucket: HeadBucketInput => HeadBucketOutput, buckets::head;
    get_bucket_acl: GetBucketAclInput => GetBucketAclOutput, acl::of_bucket;
    get_object_acl: GetObjectAclInput => GetObjectAclOutput, acl::of_object;
    get_bucket_location: GetBucketLocationInput => GetBucketLocationOutput, buckets::location;
    get_bucket_versioning:
        GetBucketVersioningInput => GetBucketVersioningOutput, buckets::versioning;
    put_object: PutObjectInput => PutObjectOutput, put::put;
    get_object: GetObjectInput => GetObjectOutput, get::get;
    get_object_attributes:
        GetObjectAttributesInput => GetObjectAttributesOutput, summary::get;
    head_object: HeadObjectInput => HeadObjectOutput, get::head;
    copy_object: CopyObjectInput => CopyObjectOutput, copy::object;
    delete_object: DeleteObjectInput => DeleteObjectOutput, delete::one;
    delete_objects: DeleteObjectsInput => DeleteObjectsOutput, delete::many;
    list_objects: ListObjectsInput => ListObjectsOutput, list::first;
    list_objects_v2: ListObjectsV2Input => ListObjectsV2Output, list::second;
    get_object_tagging: GetObjectTaggingInput => GetObjectTaggingOutput, tags::get;
    put_object_tagging: PutObjectTaggingInput => PutObjectTaggingOutput, tags::put;
    delete_object_tagging: DeleteObjectTaggingInput => DeleteObjectTaggingOutput, tags::delete;
    create_multipart_upload:
        CreateMultipartUploadInput => CreateMultipartUploadOutput, multipart::create;
    upload_part: UploadPartInput => UploadPartOutput, multipart::put_part;
    upload_part_copy: UploadPartCopyInput => UploadPartCopyOutput, copy::part;
    complete_multipart_upload:
        CompleteMultipartUploadInput => CompleteMultipartUploadOutput, multipart::complete;
    abort_multipart_upload:
        AbortMultipartUploadInput => AbortMultipartUploadOutput, multipart::abort;
    list_parts: ListPartsInput => ListPartsOutput, multipart::list_parts;
    list_multipart_uploads:
        ListMultipartUploadsInput => ListMultipartUploadsOutput, multipart::list_uploads;
}
