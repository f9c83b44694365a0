//! [`Synced`]: `s3s-fs` with durable puts. It has the operations that the benchmark needs.
//!
//! `s3s-fs` writes three files for an object: its bytes in the directory of the bucket, and two
//! small ones with its metadata in the root, whose names have bucket and key in base64. Each is
//! written under another name and renamed. After that, the three files and the two directories are
//! synced here. Deletes are not synced.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use s3s::dto::{
    CreateBucketInput, CreateBucketOutput, GetObjectInput, GetObjectOutput, PutObjectInput,
    PutObjectOutput,
};
use s3s::{S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result};
use s3s_fs::FileSystem;

/// See the [module](self).
pub(crate) struct Synced {
    files: FileSystem,
    root: PathBuf,
}

impl Synced {
    pub(crate) fn new(files: FileSystem, root: PathBuf) -> Self {
        Self { files, root }
    }
}

#[async_trait::async_trait]
impl S3 for Synced {
    async fn create_bucket(
        &self,
        request: S3Request<CreateBucketInput>,
    ) -> S3Result<S3Response<CreateBucketOutput>> {
        self.files.create_bucket(request).await
    }

    async fn get_object(
        &self,
        request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        self.files.get_object(request).await
    }

    async fn put_object(
        &self,
        request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        let (bucket, key) = (request.input.bucket.clone(), request.input.key.clone());
        let output = self.files.put_object(request).await?;
        let root = self.root.clone();
        let synced = tokio::task::spawn_blocking(move || {
            let encoded = |text: &str| base64_simd::URL_SAFE_NO_PAD.encode_to_string(text);
            let of = format!(".bucket-{}.object-{}", encoded(&bucket), encoded(&key));
            let sync = |path: PathBuf| File::open(path)?.sync_all();
            sync(root.join(&bucket).join(&key))?;
            sync(root.join(format!("{of}.metadata.json")))?;
            sync(root.join(format!("{of}.internal.json")))?;
            sync(root.join(&bucket))?;
            sync(root)
        });
        let synced: io::Result<()> = synced.await.unwrap_or_else(|error| Err(error.into()));
        synced.map_err(|error| {
            S3Error::with_message(S3ErrorCode::InternalError, error.to_string())
        })?;
        Ok(output)
    }
}
