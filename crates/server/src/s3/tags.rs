//! Tags of objects: at most ten, with names of 1 to 128 characters and values of up to 256.

use s3s::dto::{
    DeleteObjectTaggingInput, DeleteObjectTaggingOutput, GetObjectTaggingInput,
    GetObjectTaggingOutput, PutObjectTaggingInput, PutObjectTaggingOutput, Tag,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result};

use super::answer::refusal;
use super::blocking::blocking;
use super::operations::Operations;
use crate::objects::Condition;
use crate::query;

const TAGS_MAX: usize = 10;
const NAME_MAX: usize = 128;
const VALUE_MAX: usize = 256;

type Pairs = Vec<(String, String)>;

/// Whether a name is there twice.
fn has_twice(pairs: &Pairs) -> bool {
    let mut names: Vec<&String> = pairs.iter().map(|(name, _)| name).collect();
    names.sort();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

fn checked(pairs: Pairs) -> S3Result<Pairs> {
    let fits = |(name, value): &(String, String)| {
        let (name, value) = (name.chars().count(), value.chars().count());
        (1..=NAME_MAX).contains(&name) && value <= VALUE_MAX
    };
    if pairs.len() > TAGS_MAX || has_twice(&pairs) || !pairs.iter().all(fits) {
        let message = format!(
            "expected at most {TAGS_MAX} tags of different names, of 1 to {NAME_MAX} characters, \
             with values of at most {VALUE_MAX}"
        );
        return Err(refusal(S3ErrorCode::InvalidTag, message));
    }
    Ok(pairs)
}

/// Tags in a header, encoded as in a URL.
pub(super) fn of_header(text: &str) -> S3Result<Pairs> {
    let decoded = |text| query::decoded(text).ok_or_else(malformed);
    let pairs = query::parameters(text).map(|(name, value)| Ok((decoded(name)?, decoded(value)?)));
    let pairs: Pairs = pairs.collect::<S3Result<_>>()?;
    let is_empty = |(name, _): &(String, String)| name.is_empty();
    if has_twice(&pairs) || pairs.iter().any(is_empty) { Err(malformed()) } else { checked(pairs) }
}

fn malformed() -> S3Error {
    let message = "x-amz-tagging: expected different names with values, in UTF-8, as in a URL";
    refusal(S3ErrorCode::InvalidArgument, message)
}

pub(super) async fn put(
    of: &Operations,
    request: S3Request<PutObjectTaggingInput>,
) -> S3Result<S3Response<PutObjectTaggingOutput>> {
    let input = request.input;
    let pairs = input.tagging.tag_set.into_iter();
    let pairs = pairs.map(|tag| (tag.key.unwrap_or_default(), tag.value.unwrap_or_default()));
    set(of, input.bucket, input.key, checked(pairs.collect())?).await?;
    Ok(S3Response::new(PutObjectTaggingOutput::default()))
}

async fn set(of: &Operations, bucket: String, key: String, tags: Pairs) -> S3Result<()> {
    let objects = of.objects();
    blocking(move || {
        objects.annotate(&bucket, &key, &Condition::Always, |record| {
            record.attributes.tags.clone_from(&tags);
        })
    })
    .await
    .map(drop)
}

pub(super) async fn get(
    of: &Operations,
    request: S3Request<GetObjectTaggingInput>,
) -> S3Result<S3Response<GetObjectTaggingOutput>> {
    let (objects, input) = (of.objects(), request.input);
    let record = blocking(move || objects.head(&input.bucket, &input.key)).await?;
    let tags = record.attributes.tags.into_iter();
    let tag_set = tags.map(|(key, value)| Tag { key: Some(key), value: Some(value) }).collect();
    Ok(S3Response::new(GetObjectTaggingOutput { tag_set, version_id: None }))
}

pub(super) async fn delete(
    of: &Operations,
    request: S3Request<DeleteObjectTaggingInput>,
) -> S3Result<S3Response<DeleteObjectTaggingOutput>> {
    set(of, request.input.bucket, request.input.key, Pairs::new()).await?;
    let mut response = S3Response::new(DeleteObjectTaggingOutput::default());
    response.status = Some(hyper::StatusCode::NO_CONTENT);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_a_header_are_decoded_and_limited() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let found = of_header("a=b%20c&d+e=%C3%BC&f").unwrap();
        assert_eq!(found, [pair("a", "b c"), pair("d e", "ü"), pair("f", "")]);
        assert_eq!(of_header("a=%+f&b=%4").unwrap(), [pair("a", "% f"), pair("b", "%4")]);
        for wrong in ["a=1&a=2", "=1", "a=%ff"] {
            let code = of_header(wrong).unwrap_err();
            assert_eq!(code.code().as_str(), "InvalidArgument", "{wrong}");
        }
        let many: Vec<String> = (0..11).map(|number| format!("{number}=x")).collect();
        assert!(of_header(&many.join("&")).is_err());
    }
}
