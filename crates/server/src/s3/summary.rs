//! GetObjectAttributes: the fields of an object's description that a client names, and the sizes of
//! its parts. The checksums of parts are not kept with the object.

use s3s::dto::{
    Checksum, GetObjectAttributesInput, GetObjectAttributesOutput, GetObjectAttributesParts,
    ObjectAttributes, ObjectPart, StorageClass,
};
use s3s::{S3ErrorCode, S3Request, S3Response, S3Result};

use super::answer::{etag, refusal, size, time};
use super::blocking::blocking;
use super::digests::set_checksum;
use super::list::items;
use super::operations::Operations;
use crate::objects::ObjectRecord;

/// The fields that an object has.
const FIELDS: [&str; 5] = [
    ObjectAttributes::CHECKSUM,
    ObjectAttributes::ETAG,
    ObjectAttributes::OBJECT_PARTS,
    ObjectAttributes::OBJECT_SIZE,
    ObjectAttributes::STORAGE_CLASS,
];

pub(super) async fn get(
    of: &Operations,
    request: S3Request<GetObjectAttributesInput>,
) -> S3Result<S3Response<GetObjectAttributesOutput>> {
    let (objects, input) = (of.objects(), request.input);
    // The library splits no header at its commas.
    let given = input.object_attributes.iter().flat_map(|fields| fields.as_str().split(','));
    let asked: Vec<String> = given.map(|field| field.trim().to_owned()).collect();
    if let Some(field) = asked.iter().find(|field| !FIELDS.contains(&field.as_str())) {
        let expected = FIELDS.join(", ");
        let message = format!("x-amz-object-attributes: expected of {expected}; found {field:?}");
        return Err(refusal(S3ErrorCode::InvalidArgument, message));
    }
    let is_asked = |name| asked.iter().any(|field| field == name);
    let max = items(input.max_parts, "x-amz-max-parts")?;
    let record = blocking(move || objects.head(&input.bucket, &input.key)).await?;
    let mut output = GetObjectAttributesOutput {
        last_modified: Some(time(record.modified)),
        ..GetObjectAttributesOutput::default()
    };
    if is_asked(ObjectAttributes::CHECKSUM) && record.checksum.is_some() {
        let mut checksum = Checksum::default();
        set_checksum!(checksum, &record.checksum);
        output.checksum = Some(checksum);
    }
    if is_asked(ObjectAttributes::OBJECT_PARTS) && record.parts > 0 {
        output.object_parts = Some(parts(&record, input.part_number_marker.unwrap_or(0), max));
    }
    output.e_tag = is_asked(ObjectAttributes::ETAG).then(|| etag(record.etag()));
    output.object_size = is_asked(ObjectAttributes::OBJECT_SIZE).then(|| size(record.size));
    output.storage_class = is_asked(ObjectAttributes::STORAGE_CLASS)
        .then(|| StorageClass::from_static(StorageClass::STANDARD));
    Ok(S3Response::new(output))
}

/// At most `max` parts of an object, after the part `after`.
fn parts(record: &ObjectRecord, after: i32, max: usize) -> GetObjectAttributesParts {
    let numbered = (1..).zip(record.segments());
    let mut left = numbered.filter(|(number, _)| *number > after).map(|(number, segment)| {
        let (part_number, size) = (Some(number), Some(size(segment.size)));
        ObjectPart { part_number, size, ..ObjectPart::default() }
    });
    let listed: Vec<ObjectPart> = left.by_ref().take(max).collect();
    let is_truncated = max > 0 && left.next().is_some();
    let last = listed.last().and_then(|part| part.part_number);
    GetObjectAttributesParts {
        is_truncated: Some(is_truncated),
        max_parts: i32::try_from(max).ok(),
        next_part_number_marker: last.filter(|_| is_truncated),
        part_number_marker: Some(after),
        parts: Some(listed),
        total_parts_count: Some(record.parts.into()),
    }
}
