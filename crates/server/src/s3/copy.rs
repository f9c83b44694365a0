//! CopyObject and UploadPartCopy: the bytes are read and written in the server, in pieces.
//!
//! An object that is copied onto itself with new metadata keeps its body: only its entry changes.
//!
//! A copy has the checksum of its source, or one that is computed by the algorithm that the client
//! names. That one needs the bytes, and the object is then written anew.

use std::sync::Arc;

use hyper::HeaderMap;
use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::{
    ChecksumAlgorithm, CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopyPartResult,
    CopySource, MetadataDirective, Range, TaggingDirective, UploadPartCopyInput,
    UploadPartCopyOutput,
};
use s3s::{S3ErrorCode, S3Request, S3Response, S3Result};
use terrace_env::runner;

use super::answer::{etag, refusal, time};
use super::attributes::HasAttributes;
use super::blocking::blocking;
use super::conditions::{self, OfRead};
use super::digests::{Digests, set_checksum};
use super::intake::{BODY_MAX, Intaken};
use super::multipart;
use super::operations::{Operations, check_key};
use super::places::Places;
use super::unsupported;
use crate::access::{Need, check_source};
use crate::objects::{Body, Condition, Found, ObjectRecord, Objects, StoredBody};

/// Most tries of a copy of an object onto itself while others replace the object.
const TRIES_MAX: u32 = 100;

/// Bucket and key of the source. S3 decodes the header like a form: a `+` is a space. The library
/// does not.
fn source_of(headers: &HeaderMap) -> S3Result<(String, String)> {
    let text = headers.get("x-amz-copy-source").and_then(|value| value.to_str().ok());
    let source = text.and_then(|text| CopySource::parse(&text.replace('+', "%20")).ok());
    let malformed = || {
        let message =
            "x-amz-copy-source: expected a bucket, a slash and a key, encoded as in a URL";
        refusal(S3ErrorCode::InvalidArgument, message)
    };
    match source.ok_or_else(malformed)? {
        CopySource::Bucket { bucket, key, version_id } => {
            unsupported::check_version(version_id.as_deref())?;
            Ok((bucket.into(), key.into()))
        }
        _ => Err(refusal(S3ErrorCode::NotImplemented, "expected a source by bucket and key")),
    }
}

/// Whether a directive asks for new attributes in place of those of the source.
fn is_new(directive: Option<&str>) -> S3Result<bool> {
    match directive {
        None | Some("COPY") => Ok(false),
        Some("REPLACE") => Ok(true),
        Some(other) => {
            let message = format!("expected the directive COPY or REPLACE, found {other}");
            Err(refusal(S3ErrorCode::InvalidArgument, message))
        }
    }
}

/// Checks the size of a source, which is that of a put at most: a longer copy takes longer than
/// clients wait for an answer.
fn check_size(size: u64) -> S3Result<()> {
    if size <= BODY_MAX {
        return Ok(());
    }
    let message =
        format!("expected a source of at most {BODY_MAX} bytes, found {size}; copy it in parts");
    Err(refusal(S3ErrorCode::InvalidRequest, message))
}

/// Copies bytes of a body to a new file.
async fn to_file(
    (objects, places): (&Arc<Objects>, &Places),
    bucket: String,
    body: StoredBody,
    digests: Digests,
    (at, end): (u64, u64),
) -> S3Result<Intaken> {
    let begun = Arc::clone(objects);
    let new = blocking(move || begun.begin_body(&bucket, Some(end - at))).await?;
    let place = Some(places.take().await);
    let (mut file, mut at) = (Intaken { body: new, digests, place }, at);
    while at < end {
        let body = body.clone();
        (file, at) = blocking(move || {
            let piece = body.read(at, end)?;
            file.digests.update(&piece);
            file.body.append(&piece)?;
            Ok((file, at + piece.len() as u64))
        })
        .await?;
    }
    Ok(file)
}

pub(super) async fn object(
    of: &Operations,
    mut request: S3Request<CopyObjectInput>,
) -> S3Result<S3Response<CopyObjectOutput>> {
    let (from_bucket, from_key) = source_of(&request.headers)?;
    check_source(&request.extensions, &from_bucket, Need::Read)?;
    let input = &mut request.input;
    check_key(&input.key)?;
    // The library does not know that a copy may have conditions on the object that it replaces.
    let condition = conditions::of_headers(&request.headers)?;
    let new_metadata = is_new(input.metadata_directive.as_ref().map(MetadataDirective::as_str))?;
    let new_tags = is_new(input.tagging_directive.as_ref().map(TaggingDirective::as_str))?;
    let given = input.attributes()?;
    let algorithm = input.checksum_algorithm.take();
    let algorithm = algorithm.as_ref().map(ChecksumAlgorithm::as_str);
    let mut digests = Digests::asked(algorithm)?;
    let conditions = OfRead {
        if_match: input.copy_source_if_match.take(),
        if_none_match: input.copy_source_if_none_match.take(),
        if_modified_since: input.copy_source_if_modified_since.take(),
        if_unmodified_since: input.copy_source_if_unmodified_since.take(),
    };
    let (bucket, key) = (input.bucket.clone(), input.key.clone());
    let change = Arc::new(move |record: &mut ObjectRecord| {
        let mut attributes = record.attributes.clone();
        if new_metadata {
            attributes.headers.clone_from(&given.headers);
            attributes.metadata.clone_from(&given.metadata);
        }
        if new_tags {
            attributes.tags.clone_from(&given.tags);
        }
        record.attributes = attributes;
        record.modified = runner::date().0;
    });
    let objects = of.objects();
    let is_itself = (&from_bucket, &from_key) == (&bucket, &key);
    let record = if is_itself && algorithm.is_none() {
        if !new_metadata && !new_tags {
            let message = "expected new metadata for a copy of an object onto itself";
            return Err(refusal(S3ErrorCode::InvalidRequest, message));
        }
        let is_free = matches!(condition, Condition::Always | Condition::Present);
        let mut tries = 0;
        loop {
            let (of, bucket, key) = (Arc::clone(&objects), bucket.clone(), key.clone());
            let place = (bucket.clone(), key.clone());
            let found = blocking(move || of.head(&bucket, &key)).await?;
            conditions.check_source(&found)?;
            let condition = match is_free {
                true => Condition::Etag(vec![found.etag()]),
                false => condition.clone(),
            };
            let (of, change) = (Arc::clone(&objects), Arc::clone(&change));
            let annotate = move || of.annotate(&place.0, &place.1, &condition, |one| change(one));
            tries += 1;
            match blocking(annotate).await {
                // The object was replaced since it was read, and the client gives no condition.
                Err(error)
                    if is_free
                        && *error.code() == S3ErrorCode::PreconditionFailed
                        && tries < TRIES_MAX => {}
                annotated => break annotated?,
            }
        }
    } else {
        of.check_bucket(&bucket).await?;
        let reader = Arc::clone(&objects);
        let found = blocking(move || reader.get(&from_bucket, &from_key));
        let Found { mut record, body } = found.await?;
        conditions.check_source(&record)?;
        check_size(record.size)?;
        let condition = match condition {
            Condition::Always | Condition::Present if is_itself => {
                Condition::Etag(vec![record.etag()])
            }
            other => other,
        };
        change(&mut record);
        let (body, computed, place) = if record.size <= objects.options().entry_max {
            let size = record.size;
            let bytes = blocking(move || gathered(&body, size)).await?;
            digests.update(&bytes);
            let md5 = Md5::checksum(&bytes);
            (Body::Bytes(bytes.into(), md5), digests.verify(&md5)?, None)
        } else {
            let bytes = (0, record.size);
            let file =
                to_file((&objects, of.places()), bucket.clone(), body, digests, bytes).await?;
            let computed = file.digests.verify(&file.body.md5())?;
            (Body::File(file.body), computed, file.place)
        };
        // A checksum of parts is no checksum of the copy, which has none.
        let attributes = (record.attributes, computed.or(record.checksum));
        let put = move || {
            let _place = place;
            objects.put((&bucket, &key), body, attributes, &condition)
        };
        blocking(put).await?
    };
    let mut result = CopyObjectResult {
        e_tag: Some(etag(record.etag())),
        last_modified: Some(time(record.modified)),
        ..CopyObjectResult::default()
    };
    set_checksum!(result, &record.checksum);
    let copy_object_result = Some(result);
    Ok(S3Response::new(CopyObjectOutput { copy_object_result, ..CopyObjectOutput::default() }))
}

/// All bytes of a small body.
fn gathered(body: &StoredBody, size: u64) -> Result<Vec<u8>, crate::objects::Fault> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size {
        bytes.extend_from_slice(&body.read(bytes.len() as u64, size)?);
    }
    Ok(bytes)
}

/// The range of a source of this size. Unlike that of a read, it has both ends, and is not cut to
/// the size: the client would miss bytes.
fn range_of(text: &str, size: u64) -> S3Result<std::ops::Range<u64>> {
    let Ok(Range::Int { first, last: Some(last) }) = Range::parse(text) else {
        let message = format!("expected a range like bytes=0-9, found {text}");
        return Err(refusal(S3ErrorCode::InvalidArgument, message));
    };
    if last >= size {
        let message = format!("expected a range in {size} bytes, found {text}");
        return Err(refusal(S3ErrorCode::InvalidRange, message));
    }
    Ok(first..last + 1)
}

pub(super) async fn part(
    of: &Operations,
    request: S3Request<UploadPartCopyInput>,
) -> S3Result<S3Response<UploadPartCopyOutput>> {
    let (from_bucket, from_key) = source_of(&request.headers)?;
    check_source(&request.extensions, &from_bucket, Need::Read)?;
    let input = request.input;
    let (id, number) = multipart::part_of(&input.upload_id, input.part_number)?;
    let objects = of.objects();
    {
        // Before any byte is read.
        let (objects, bucket, key) = (of.objects(), input.bucket.clone(), input.key.clone());
        blocking(move || objects.upload(&bucket, &key, id)).await?;
    }
    let reader = Arc::clone(&objects);
    let Found { record, body } = blocking(move || reader.get(&from_bucket, &from_key)).await?;
    let conditions = OfRead {
        if_match: input.copy_source_if_match,
        if_none_match: input.copy_source_if_none_match,
        if_modified_since: input.copy_source_if_modified_since,
        if_unmodified_since: input.copy_source_if_unmodified_since,
    };
    conditions.check_source(&record)?;
    let range = match input.copy_source_range {
        None => 0..record.size,
        Some(text) => range_of(&text, record.size)?,
    };
    check_size(range.end - range.start)?;
    let (bucket, key) = (input.bucket, input.key);
    let (bytes, none) = ((range.start, range.end), Digests::asked(None)?);
    let file = to_file((&objects, of.places()), bucket.clone(), body, none, bytes).await?;
    let put = move || {
        let _place = file.place;
        objects.put_part((&bucket, &key), (id, number), file.body, None)
    };
    let part = blocking(put).await?;
    let copy_part_result = Some(CopyPartResult {
        e_tag: Some(etag(part.etag())),
        last_modified: Some(time(part.modified)),
        ..CopyPartResult::default()
    });
    let output = UploadPartCopyOutput { copy_part_result, ..UploadPartCopyOutput::default() };
    Ok(S3Response::new(output))
}
