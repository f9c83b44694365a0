//! ListObjects and ListObjectsV2: at most 1,000 items at a time.
//!
//! A continuation token is a kind (`k` for a key, `p` for a common prefix) and the text, in base
//! 64. The marker of the first version and the start of the second one are plain texts. Such a text
//! with a delimiter after the prefix is taken for its common prefix, and the list goes on after all
//! keys of that one, as in S3.

use s3s::dto::{
    CommonPrefix, EncodingType, ListObjectsInput, ListObjectsOutput, ListObjectsV2Input,
    ListObjectsV2Output, Object, ObjectStorageClass, Owner,
};
use s3s::{S3ErrorCode, S3Request, S3Response, S3Result};

use super::answer::{encoded, etag, refusal, size, time};
use super::blocking::blocking;
use super::buckets::owner;
use super::operations::Operations;
use crate::objects::{Listed, Listing, Wanted};

/// Most items of a list.
pub(super) const ITEMS_MAX: i32 = 1000;

/// Number of items that a client asks for.
pub(super) fn items(asked: Option<i32>, what: &'static str) -> S3Result<usize> {
    let asked = asked.unwrap_or(ITEMS_MAX);
    usize::try_from(asked.min(ITEMS_MAX)).map_err(|_| {
        refusal(S3ErrorCode::InvalidArgument, format!("{what}: expected 0 or more, found {asked}"))
    })
}

/// Whether keys are to be encoded.
pub(super) fn is_url(encoding: Option<&EncodingType>) -> S3Result<bool> {
    match encoding.map(EncodingType::as_str) {
        None | Some("") => Ok(false),
        Some(EncodingType::URL) => Ok(true),
        Some(other) => {
            let message = format!("encoding-type: expected url, found {other}");
            Err(refusal(S3ErrorCode::InvalidArgument, message))
        }
    }
}

fn token(of: &Listed) -> String {
    let text = match of {
        Listed::Key(key) => format!("k{key}"),
        Listed::Prefix(prefix) => format!("p{prefix}"),
    };
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(text)
}

fn of_token(token: &str) -> S3Result<Listed> {
    let wrong =
        || refusal(S3ErrorCode::InvalidArgument, "continuation-token: not one of this server");
    let bytes = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(token).map_err(|_| wrong())?;
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    match text.split_at_checked(1) {
        Some(("k", key)) => Ok(Listed::Key(key.to_owned())),
        Some(("p", prefix)) => Ok(Listed::Prefix(prefix.to_owned())),
        _ => Err(wrong()),
    }
}

/// The position that a marker tells.
pub(super) fn of_marker(mut marker: String, prefix: &str, delimiter: Option<&str>) -> Listed {
    let after = marker.strip_prefix(prefix).unwrap_or_default();
    match delimiter.and_then(|delimiter| Some(after.find(delimiter)? + delimiter.len())) {
        Some(end) => {
            marker.truncate(prefix.len() + end);
            Listed::Prefix(marker)
        }
        None => Listed::Key(marker),
    }
}

/// The items of an answer, with the owner of each if that is asked for.
fn answer(listing: Listing, url: bool, owner: Option<&Owner>) -> (Vec<Object>, Vec<CommonPrefix>) {
    let objects = listing.objects.into_iter().map(|(key, record)| Object {
        e_tag: Some(etag(record.etag())),
        last_modified: Some(time(record.modified)),
        size: Some(size(record.size)),
        key: Some(encoded(key, url)),
        owner: owner.cloned(),
        storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
        ..Object::default()
    });
    (objects.collect(), common_prefixes(listing.prefixes, url))
}

/// Common prefixes of an answer.
pub(super) fn common_prefixes(prefixes: Vec<String>, url: bool) -> Vec<CommonPrefix> {
    let prefixes = prefixes.into_iter();
    prefixes.map(|prefix| CommonPrefix { prefix: Some(encoded(prefix, url)) }).collect()
}

pub(super) async fn second(
    of: &Operations,
    request: S3Request<ListObjectsV2Input>,
) -> S3Result<S3Response<ListObjectsV2Output>> {
    let (objects, mut input) = (of.objects(), request.input);
    let max = items(input.max_keys, "max-keys")?;
    input.delimiter = input.delimiter.filter(|text| !text.is_empty());
    let token_given = input.continuation_token.as_ref().filter(|token| !token.is_empty());
    let url = is_url(input.encoding_type.as_ref())?;
    let (prefix, delimiter) = (input.prefix.clone().unwrap_or_default(), input.delimiter.clone());
    let start = input.start_after.clone().filter(|start| !start.is_empty());
    let after = match token_given {
        Some(token) => Some(of_token(token)?),
        None => start.map(|start| of_marker(start, &prefix, delimiter.as_deref())),
    };
    let wanted = Wanted { prefix, delimiter, after, max };
    let bucket = input.bucket.clone();
    let mut listing = blocking(move || objects.list(&bucket, &wanted)).await?;
    let next = listing.next.take();
    let owner = input.fetch_owner.filter(|is| *is).map(|_| owner());
    let (contents, prefixes) = answer(listing, url, owner.as_ref());
    let count = i32::try_from(contents.len() + prefixes.len()).unwrap_or(ITEMS_MAX);
    Ok(S3Response::new(ListObjectsV2Output {
        name: Some(input.bucket),
        prefix: Some(encoded(input.prefix.unwrap_or_default(), url)),
        max_keys: i32::try_from(max).ok(),
        key_count: Some(count),
        continuation_token: input.continuation_token,
        is_truncated: Some(next.is_some()),
        next_continuation_token: next.as_ref().map(token),
        contents: Some(contents),
        common_prefixes: Some(prefixes),
        delimiter: input.delimiter.map(|text| encoded(text, url)),
        encoding_type: input.encoding_type,
        start_after: input.start_after.map(|text| encoded(text, url)),
        ..ListObjectsV2Output::default()
    }))
}

pub(super) async fn first(
    of: &Operations,
    request: S3Request<ListObjectsInput>,
) -> S3Result<S3Response<ListObjectsOutput>> {
    let (objects, mut input) = (of.objects(), request.input);
    let max = items(input.max_keys, "max-keys")?;
    let url = is_url(input.encoding_type.as_ref())?;
    input.delimiter = input.delimiter.filter(|text| !text.is_empty());
    let prefix = input.prefix.clone().unwrap_or_default();
    let delimiter = input.delimiter.clone();
    let marker = input.marker.clone().filter(|marker| !marker.is_empty());
    let after = marker.map(|marker| of_marker(marker, &prefix, delimiter.as_deref()));
    let wanted = Wanted { prefix, delimiter, after, max };
    let bucket = input.bucket.clone();
    let mut listing = blocking(move || objects.list(&bucket, &wanted)).await?;
    let next = listing.next.take();
    let (contents, prefixes) = answer(listing, url, Some(&owner()));
    let is_truncated = Some(next.is_some());
    let next_marker = next.map(|next| match next {
        Listed::Key(text) | Listed::Prefix(text) => encoded(text, url),
    });
    Ok(S3Response::new(ListObjectsOutput {
        name: Some(input.bucket),
        prefix: Some(encoded(input.prefix.unwrap_or_default(), url)),
        marker: Some(encoded(input.marker.unwrap_or_default(), url)),
        max_keys: i32::try_from(max).ok(),
        is_truncated,
        next_marker,
        contents: Some(contents),
        common_prefixes: Some(prefixes),
        delimiter: input.delimiter.map(|text| encoded(text, url)),
        encoding_type: input.encoding_type,
        ..ListObjectsOutput::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_back_to_its_item() {
        for item in [Listed::Key("a/ü".into()), Listed::Prefix("p/".into())] {
            assert_eq!(of_token(&token(&item)).unwrap(), item);
        }
        for wrong in ["", "!", "eA", "_w"] {
            assert!(of_token(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_marker_with_a_delimiter_is_its_common_prefix() {
        assert_eq!(of_marker("a/b/".into(), "a/", Some("/")), Listed::Prefix("a/b/".into()));
        assert_eq!(of_marker("a/b".into(), "a/", Some("/")), Listed::Key("a/b".into()));
        assert_eq!(of_marker("a/b/c/d".into(), "a/", Some("/")), Listed::Prefix("a/b/".into()));
        assert_eq!(of_marker("a/".into(), "a/", Some("/")), Listed::Key("a/".into()));
        assert_eq!(of_marker("a/b".into(), "b", Some("/")), Listed::Key("a/b".into()));
        assert_eq!(of_marker("a/b/".into(), "", None), Listed::Key("a/b/".into()));
    }
}
