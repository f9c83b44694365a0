//! PutObject. A body up to the size of an entry is gathered in memory; a larger one goes to a file
//! as it comes.

use bytes::Bytes;
use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::{PutObjectInput, PutObjectOutput};
use s3s::{S3Request, S3Response, S3Result};

use super::answer::{etag, size};
use super::attributes::HasAttributes;
use super::blocking::blocking;
use super::conditions;
use super::digests::{Digests, set_checksum};
use super::operations::{Operations, check_key};
use crate::objects::Body;

pub(super) async fn put(
    of: &Operations,
    mut request: S3Request<PutObjectInput>,
) -> S3Result<S3Response<PutObjectOutput>> {
    let mut digests = Digests::of(&mut request);
    let input = &mut request.input;
    let attributes = input.attributes()?;
    let condition = conditions::of_change(input.if_match.take(), input.if_none_match.take());
    let (bucket, key) = (std::mem::take(&mut input.bucket), std::mem::take(&mut input.key));
    check_key(&key)?;
    let mut intake = of.intake(input.body.take())?;
    let (objects, size_known) = (of.objects(), intake.size());
    let entry_max = objects.options().entry_max as usize;
    if size_known.is_none_or(|size| size > entry_max as u64) {
        // Before any byte is taken. A small body is taken, and the put itself checks the bucket.
        of.check_bucket(&bucket).await?;
    }
    let mut first = Vec::with_capacity(size_known.unwrap_or(0).min(entry_max as u64) as usize);
    if size_known.is_none_or(|size| size <= entry_max as u64) {
        intake.fill(&mut first, entry_max + 1).await?;
    }
    let is_small = size_known.map_or(first.len() <= entry_max, |size| size <= entry_max as u64);
    let (body, checksum, place) = if is_small {
        digests.update(&first);
        let md5 = Md5::checksum(&first);
        let checksum = digests.verify(&md5)?;
        (Body::Bytes(Bytes::from(first), md5), checksum, None)
    } else {
        let file = intake.into_file(first, digests, (&objects, &bucket, size_known)).await?;
        let checksum = file.digests.verify(&file.body.md5())?;
        (Body::File(file.body), checksum, file.place)
    };
    let put = move || {
        let _place = place;
        objects.put((&bucket, &key), body, (attributes, checksum), &condition)
    };
    let record = blocking(put).await?;
    let mut output = PutObjectOutput {
        e_tag: Some(etag(record.etag())),
        size: Some(size(record.size)),
        ..PutObjectOutput::default()
    };
    set_checksum!(output, &record.checksum);
    Ok(S3Response::new(output))
}
