//! Uploads in parts. A part has a number from 1 to 10,000; each but the last one of a completion
//! has at least 5 MiB. Checksums of parts are verified and kept with the part, and compared again
//! with those of a completion, and with the one that it gives for the object; the object has none.

use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, ChecksumAlgorithm, ChecksumType,
    CompleteMultipartUploadInput, CompleteMultipartUploadOutput, CreateMultipartUploadInput,
    CreateMultipartUploadOutput, Initiator, ListMultipartUploadsInput, ListMultipartUploadsOutput,
    ListPartsInput, ListPartsOutput, MultipartUpload, Part, StorageClass, UploadPartInput,
    UploadPartOutput,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result};

use super::answer::{encoded, etag, refusal, size, time};
use super::attributes::HasAttributes;
use super::blocking::blocking;
use super::buckets::owner;
use super::conditions;
use super::digests::{ALGORITHMS, Digests, algorithm_of, set_checksum};
use super::list::{common_prefixes, is_url, items, of_marker};
use super::operations::{Operations, check_key};
use crate::objects::{Checksum, Chosen, ChosenPart, UploadId, Wanted, Whole};

const PARTS_MAX: u16 = 10_000;

fn upload_of(text: &str) -> S3Result<UploadId> {
    UploadId::from_text(text).ok_or_else(|| S3Error::new(S3ErrorCode::NoSuchUpload))
}

/// A kind of checksum by its name, in any case.
fn kind_of(kind: &ChecksumType) -> S3Result<&'static str> {
    let mut known = [ChecksumType::COMPOSITE, ChecksumType::FULL_OBJECT].into_iter();
    known.find(|known| known.eq_ignore_ascii_case(kind.as_str())).ok_or_else(|| {
        let message = format!(
            "x-amz-checksum-type: expected COMPOSITE or FULL_OBJECT, found {}",
            kind.as_str()
        );
        refusal(S3ErrorCode::InvalidArgument, message)
    })
}

/// Upload and number of a part.
pub(super) fn part_of(upload: &str, number: i32) -> S3Result<(UploadId, u16)> {
    let number = u16::try_from(number).ok().filter(|number| (1..=PARTS_MAX).contains(number));
    let message = format!("partNumber: expected 1 to {PARTS_MAX}");
    let number = number.ok_or_else(|| refusal(S3ErrorCode::InvalidArgument, message))?;
    Ok((upload_of(upload)?, number))
}

/// The first checksum of a completion, or of a part of it.
macro_rules! checksum_of {
    ($from:expr) => {{
        let given = [
            $from.checksum_crc32.take(),
            $from.checksum_crc32c.take(),
            $from.checksum_crc64nvme.take(),
            $from.checksum_sha1.take(),
            $from.checksum_sha256.take(),
        ];
        let mut given = ALGORITHMS.into_iter().zip(given);
        given.find_map(|(algorithm, value)| {
            Some(Checksum { algorithm: algorithm.into(), value: value? })
        })
    }};
}

pub(super) async fn create(
    of: &Operations,
    mut request: S3Request<CreateMultipartUploadInput>,
) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
    let attributes = request.input.attributes()?;
    let (objects, input) = (of.objects(), request.input);
    check_key(&input.key)?;
    let algorithm =
        input.checksum_algorithm.map(|named| algorithm_of(named.as_str())).transpose()?;
    let kind = input.checksum_type.map(|kind| kind_of(&kind)).transpose()?;
    let (bucket, key) = (input.bucket.clone(), input.key.clone());
    let id = blocking(move || objects.begin_upload(&bucket, &key, attributes)).await?;
    Ok(S3Response::new(CreateMultipartUploadOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(id.to_text()),
        checksum_algorithm: algorithm.map(|name| ChecksumAlgorithm::from(name.to_owned())),
        checksum_type: kind.map(|kind| ChecksumType::from(kind.to_owned())),
        ..CreateMultipartUploadOutput::default()
    }))
}

pub(super) async fn put_part(
    of: &Operations,
    mut request: S3Request<UploadPartInput>,
) -> S3Result<S3Response<UploadPartOutput>> {
    let digests = Digests::of(&mut request);
    let input = request.input;
    let (id, number) = part_of(&input.upload_id, input.part_number)?;
    let (bucket, key) = (input.bucket, input.key);
    let objects = of.objects();
    {
        // Before any byte is taken.
        let (objects, bucket, key) = (of.objects(), bucket.clone(), key.clone());
        blocking(move || objects.upload(&bucket, &key, id)).await?;
    }
    let intake = of.intake(input.body)?;
    let size_known = intake.size();
    let file = intake.into_file(Vec::new(), digests, (&objects, &bucket, size_known)).await?;
    let checksum = file.digests.verify(&file.body.md5())?;
    let put = move || {
        let _place = file.place;
        objects.put_part((&bucket, &key), (id, number), file.body, checksum)
    };
    let part = blocking(put).await?;
    let mut output =
        UploadPartOutput { e_tag: Some(etag(part.etag())), ..UploadPartOutput::default() };
    set_checksum!(output, &part.checksum);
    Ok(S3Response::new(output))
}

pub(super) async fn complete(
    of: &Operations,
    request: S3Request<CompleteMultipartUploadInput>,
) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
    let (objects, mut input) = (of.objects(), request.input);
    let id = upload_of(&input.upload_id)?;
    let kind = input.checksum_type.as_ref().map(kind_of).transpose()?;
    let is_full = kind.map(|kind| kind == ChecksumType::FULL_OBJECT);
    let whole = checksum_of!(input).map(|checksum| Whole { checksum, is_full });
    let given = whole.as_ref().map(|whole| whole.checksum.clone());
    let condition = conditions::of_change(input.if_match, input.if_none_match);
    let parts = input.multipart_upload.and_then(|upload| upload.parts).unwrap_or_default();
    let malformed = || S3Error::new(S3ErrorCode::MalformedXML);
    if parts.is_empty() {
        return Err(malformed());
    }
    let chosen = parts.into_iter().map(|mut part| {
        let (_, number) = part_of(&input.upload_id, part.part_number.ok_or_else(malformed)?)?;
        let checksum = checksum_of!(part);
        Ok(ChosenPart { number, etag: part.e_tag.ok_or_else(malformed)?.into_value(), checksum })
    });
    let size = input.mpu_object_size.map(|size| u64::try_from(size).unwrap_or(u64::MAX));
    let chosen = Chosen { parts: chosen.collect::<S3Result<_>>()?, size, whole };
    let (bucket, key) = (input.bucket.clone(), input.key.clone());
    let complete = move || objects.complete((&bucket, &key), id, &chosen, &condition);
    let record = blocking(complete).await?;
    let mut output = CompleteMultipartUploadOutput {
        location: Some(format!("/{}/{}", input.bucket, encoded(input.key.clone(), true))),
        bucket: Some(input.bucket),
        key: Some(input.key),
        e_tag: Some(etag(record.etag())),
        ..CompleteMultipartUploadOutput::default()
    };
    set_checksum!(output, &given);
    Ok(S3Response::new(output))
}

pub(super) async fn abort(
    of: &Operations,
    request: S3Request<AbortMultipartUploadInput>,
) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
    let (objects, input) = (of.objects(), request.input);
    let id = upload_of(&input.upload_id)?;
    blocking(move || objects.abort(&input.bucket, &input.key, id)).await?;
    Ok(S3Response::new(AbortMultipartUploadOutput::default()))
}

/// The initiator of all uploads: the owner.
fn initiator() -> Initiator {
    let owner = owner();
    Initiator { display_name: owner.display_name, id: owner.id }
}

pub(super) async fn list_parts(
    of: &Operations,
    request: S3Request<ListPartsInput>,
) -> S3Result<S3Response<ListPartsOutput>> {
    let (objects, input) = (of.objects(), request.input);
    let id = upload_of(&input.upload_id)?;
    let max = items(input.max_parts, "max-parts")?;
    let after = input.part_number_marker.unwrap_or(0);
    let after = u16::try_from(after.max(0)).unwrap_or(u16::MAX);
    let (bucket, key) = (input.bucket.clone(), input.key.clone());
    let (parts, is_truncated) = blocking(move || {
        objects.upload(&bucket, &key, id)?;
        objects.parts(id, after, max)
    })
    .await?;
    let next = parts.last().filter(|_| is_truncated).map(|(number, _)| i32::from(*number));
    let parts = parts.into_iter().map(|(number, record)| {
        let mut part = Part {
            e_tag: Some(etag(record.etag())),
            last_modified: Some(time(record.modified)),
            part_number: Some(number.into()),
            size: Some(size(record.segment.size)),
            ..Part::default()
        };
        set_checksum!(part, &record.checksum);
        part
    });
    Ok(S3Response::new(ListPartsOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        initiator: Some(initiator()),
        owner: Some(owner()),
        storage_class: Some(StorageClass::from_static(StorageClass::STANDARD)),
        upload_id: Some(input.upload_id),
        is_truncated: Some(is_truncated),
        max_parts: i32::try_from(max).ok(),
        part_number_marker: input.part_number_marker,
        next_part_number_marker: next,
        parts: Some(parts.collect()),
        ..ListPartsOutput::default()
    }))
}

pub(super) async fn list_uploads(
    of: &Operations,
    request: S3Request<ListMultipartUploadsInput>,
) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
    let (objects, mut input) = (of.objects(), request.input);
    let max = items(input.max_uploads, "max-uploads")?;
    let url = is_url(input.encoding_type.as_ref())?;
    input.delimiter = input.delimiter.filter(|text| !text.is_empty());
    let (prefix, delimiter) = (input.prefix.clone().unwrap_or_default(), input.delimiter.clone());
    let marker = input.key_marker.clone().filter(|marker| !marker.is_empty());
    let after = marker.map(|marker| of_marker(marker, &prefix, delimiter.as_deref()));
    let id = input.upload_id_marker.as_deref().and_then(UploadId::from_text);
    let wanted = Wanted { prefix, delimiter, after, max };
    let bucket = input.bucket.clone();
    let listing = blocking(move || objects.list_uploads(&bucket, &wanted, id)).await?;
    let is_truncated = listing.next.is_some();
    let (next_key_marker, next_id) = listing.next.unzip();
    let uploads = listing.uploads.into_iter().map(|(key, id, record)| MultipartUpload {
        initiated: Some(time(record.begun)),
        initiator: Some(initiator()),
        key: Some(encoded(key, url)),
        owner: Some(owner()),
        storage_class: Some(StorageClass::from_static(StorageClass::STANDARD)),
        upload_id: Some(id.to_text()),
        ..MultipartUpload::default()
    });
    Ok(S3Response::new(ListMultipartUploadsOutput {
        bucket: Some(input.bucket),
        common_prefixes: Some(common_prefixes(listing.prefixes, url)),
        delimiter: input.delimiter.map(|text| encoded(text, url)),
        prefix: input.prefix.map(|text| encoded(text, url)),
        key_marker: input.key_marker.map(|text| encoded(text, url)),
        upload_id_marker: input.upload_id_marker,
        encoding_type: input.encoding_type,
        is_truncated: Some(is_truncated),
        max_uploads: i32::try_from(max).ok(),
        next_key_marker: next_key_marker.map(|text| encoded(text, url)),
        next_upload_id_marker: next_id.flatten().map(UploadId::to_text),
        uploads: Some(uploads.collect()),
        ..ListMultipartUploadsOutput::default()
    }))
}
