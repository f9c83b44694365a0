//! [`check`]: refuses requests for features that the server does not have: versions, encryption by
//! the server, locks, access lists, redirects, writes at an offset, other storage classes. Nothing
//! of that kind is ignored.
//!
//! Operations that are wholly about one of these are refused by their names
//! ([`Operations`](super::Operations)). Here are the headers and the query of the others.
//!
//! A query names a part of a bucket or an object by a parameter, mostly without a value. The
//! library takes one that it does not know for none: a delete of a bucket's configuration would be
//! a delete of the bucket. So an operation takes its own one alone. Reads of objects take any, as
//! S3 does.
//!
//! A request about a part of an upload has both `partNumber` and `uploadId`. With one of them the
//! library takes it for a request about the object, which a put or a delete would destroy.

use hyper::header::{HeaderMap, HeaderValue};
use hyper::{StatusCode, Uri};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::answer::refusal;
use super::digests::algorithm_of;
use crate::query::parameters;

/// Headers that ask for something else than the server does, unless they have the given value.
const REFUSED: [(&str, Option<&str>); 13] = [
    ("x-amz-server-side-encryption", None),
    ("x-amz-server-side-encryption-customer-algorithm", None),
    ("x-amz-copy-source-server-side-encryption-customer-algorithm", None),
    ("x-amz-object-lock-mode", None),
    ("x-amz-object-lock-retain-until-date", None),
    ("x-amz-object-lock-legal-hold", Some("OFF")),
    ("x-amz-bucket-object-lock-enabled", Some("false")),
    ("x-amz-website-redirect-location", None),
    ("x-amz-mfa", None),
    ("x-amz-storage-class", Some("STANDARD")),
    ("x-amz-write-offset-bytes", None),
    ("x-amz-if-match-last-modified-time", None),
    ("x-amz-if-match-size", None),
];

/// Access lists that say what holds anyway: rights are those of the file of keys.
const LISTS: [&str; 3] = ["private", "bucket-owner-full-control", "bucket-owner-read"];

/// Parameters that may be empty.
const PARAMETERS: [&str; 19] = [
    "bucket-region",
    "continuation-token",
    "delimiter",
    "encoding-type",
    "fetch-owner",
    "key-marker",
    "list-type",
    "marker",
    "max-buckets",
    "max-keys",
    "max-parts",
    "max-uploads",
    "part-number-marker",
    "partNumber",
    "prefix",
    "start-after",
    "upload-id-marker",
    "uploadId",
    "versionId",
];

/// Parts of buckets and objects. With a value, too, they are no other parameter.
const PARTS: [&str; 30] = [
    "accelerate",
    "acl",
    "analytics",
    "append",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "publicAccessBlock",
    "renameObject",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "tagging",
    "torrent",
    "uploads",
    "versioning",
    "website",
];

/// The part of a bucket or an object that an operation is about.
fn part_of(operation: &str) -> &'static str {
    match operation {
        "create_multipart_upload" | "list_multipart_uploads" => "uploads",
        "delete_objects" => "delete",
        "get_object_attributes" => "attributes",
        "get_bucket_acl" | "get_object_acl" => "acl",
        "get_bucket_location" => "location",
        "get_bucket_versioning" => "versioning",
        "get_object_tagging" | "put_object_tagging" | "delete_object_tagging" => "tagging",
        _ => "",
    }
}

fn check_upload(operation: &str, query: &str) -> S3Result<()> {
    let refused: &[&str] = match operation {
        "put_object" | "copy_object" | "delete_object" => &["partNumber", "uploadId"],
        "get_object" | "head_object" => &["uploadId"],
        _ => return Ok(()),
    };
    let mut names =
        query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    match names.find(|name| refused.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("{name}: expected a request about a part with its upload");
            Err(refusal(S3ErrorCode::InvalidArgument, message))
        }
    }
}

fn check_part(operation: &str, query: &str) -> S3Result<()> {
    if ["get_object", "head_object"].contains(&operation) {
        return Ok(());
    }
    let is_foreign = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap_or((*pair, ""));
        let is_parameter = PARAMETERS.contains(&name)
            || ["x-", "X-", "response-"].iter().any(|begin| name.starts_with(begin));
        let is_part = PARTS.contains(&name) || (value.is_empty() && !is_parameter);
        !name.is_empty() && is_part && name != part_of(operation)
    };
    match query.split('&').find(is_foreign) {
        None => Ok(()),
        Some(pair) => {
            let message = format!("?{pair} is not implemented for this request");
            Err(refusal(S3ErrorCode::NotImplemented, message))
        }
    }
}

/// See the [module](self). The operation has its name in the library.
pub(super) fn check(operation: &str, uri: &Uri, headers: &HeaderMap) -> S3Result<()> {
    for (name, harmless) in REFUSED {
        if headers
            .get(name)
            .is_some_and(|value| Some(value.as_bytes()) != harmless.map(str::as_bytes))
        {
            let message = format!("the header {name} asks for something that is not implemented");
            return Err(refusal(S3ErrorCode::NotImplemented, message));
        }
    }
    let grants = headers.keys().any(|name| name.as_str().starts_with("x-amz-grant-"));
    let list = headers.get("x-amz-acl").map(|list| list.as_bytes());
    if grants || list.is_some_and(|list| LISTS.iter().all(|known| known.as_bytes() != list)) {
        let code = S3ErrorCode::Custom("AccessControlListNotSupported".into());
        let message = "access lists are not implemented; rights are those of the file of keys";
        let mut error = S3Error::with_message(code, message);
        error.set_status_code(StatusCode::BAD_REQUEST);
        return Err(error);
    }
    let query = uri.query().unwrap_or_default();
    check_sums(headers)?;
    check_place(operation, query)?;
    check_upload(operation, query)?;
    check_part(operation, query)?;
    check_version(parameters(query).find(|(name, _)| *name == "versionId").map(|(_, of)| of))
}

/// Refuses a request about an object that has come to a bucket or the server: its bucket is in the
/// name of the host, and the server has not been told that domain. The library would take the key
/// for the bucket.
fn check_place(operation: &str, query: &str) -> S3Result<()> {
    const OF_OBJECTS: [&str; 6] =
        ["CopyObject", "DeleteObject", "GetObject", "HeadObject", "PutObject", "UploadPart"];
    let is_of_bucket = matches!(
        operation,
        "list_buckets" | "create_bucket" | "delete_bucket" | "head_bucket" | "list_objects"
    );
    let is_lost = |(name, value): (&str, &str)| match name {
        "x-id" => is_of_bucket && OF_OBJECTS.contains(&value),
        "list-type" => operation == "list_buckets",
        _ => false,
    };
    if !parameters(query).any(is_lost) {
        return Ok(());
    }
    let message = "expected the bucket in the path; for buckets in the name of the host, start the \
                   server with --domain";
    Err(refusal(S3ErrorCode::InvalidRequest, message))
}

/// Refuses checksums by algorithms that are not verified.
fn check_sums(headers: &HeaderMap) -> S3Result<()> {
    const PREFIX: &str = "x-amz-checksum-";
    let is_known = |name: &str| match name.strip_prefix(PREFIX) {
        None => true,
        Some(rest) => matches!(rest, "algorithm" | "mode" | "type") || algorithm_of(rest).is_ok(),
    };
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_ascii_lowercase();
    let in_trailer: Vec<String> = headers.get_all("x-amz-trailer").iter().map(text).collect();
    let trailers = in_trailer.iter().flat_map(|names| names.split(',')).map(str::trim);
    let mut given = headers.keys().map(|name| name.as_str()).chain(trailers);
    if let Some(name) = given.find(|name| !is_known(name)) {
        let message = format!("{name}: a checksum by this algorithm is not implemented");
        return Err(refusal(S3ErrorCode::NotImplemented, message));
    }
    let named = ["x-amz-checksum-algorithm", "x-amz-sdk-checksum-algorithm"];
    for value in named.iter().flat_map(|name| headers.get_all(*name)).map(text) {
        // `Content-MD5` is compared, too.
        if value != "md5" {
            algorithm_of(&value)?;
        }
    }
    Ok(())
}

/// Checks the version that a request names.
pub(super) fn check_version(version: Option<&str>) -> S3Result<()> {
    match version {
        None | Some("null") => Ok(()),
        Some(_) => {
            let message = "objects have no versions; the only one is null";
            Err(refusal(S3ErrorCode::NoSuchVersion, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_that_are_not_kept_are_refused_and_harmless_ones_are_not() {
        let code = |query: &str, name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let uri = format!("/bucket/a?{query}").parse().unwrap();
            check("put_object", &uri, &headers).err().map(|error| error.code().as_str().to_owned())
        };
        let none = |query: &str| code(query, "range", "bytes=0-1");
        assert_eq!(none("x-id=GetObject"), None);
        assert_eq!(none("versionId=null&x-id=GetObject"), None);
        assert_eq!(none("x-id=GetObject&versionId=1").as_deref(), Some("NoSuchVersion"));
        let of = |name, value| code("", name, value);
        assert_eq!(of("x-amz-object-lock-legal-hold", "OFF"), None);
        assert_eq!(of("x-amz-acl", "private"), None);
        assert_eq!(of("x-amz-checksum-crc64nvme", "AAAAAAAAAAA="), None);
        assert_eq!(of("x-amz-trailer", "x-amz-checksum-crc32"), None);
        assert_eq!(of("x-amz-sdk-checksum-algorithm", "crc32"), None);
        assert_eq!(none("versionId").as_deref(), Some("NoSuchVersion"));
        for (name, value, expected) in [
            ("x-amz-object-lock-mode", "COMPLIANCE", "NotImplemented"),
            ("x-amz-server-side-encryption", "AES256", "NotImplemented"),
            ("x-amz-storage-class", "GLACIER", "NotImplemented"),
            ("x-amz-write-offset-bytes", "5", "NotImplemented"),
            ("x-amz-if-match-size", "5", "NotImplemented"),
            ("x-amz-checksum-xxhash64", "AAAAAAAAAAA=", "NotImplemented"),
            ("x-amz-trailer", "a, x-amz-checksum-SHA512", "NotImplemented"),
            ("x-amz-sdk-checksum-algorithm", "XXHASH3", "InvalidRequest"),
            ("x-amz-acl", "public-read", "AccessControlListNotSupported"),
            ("x-amz-grant-read", "id=1", "AccessControlListNotSupported"),
        ] {
            assert_eq!(of(name, value).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(of("x-amz-storage-class", "STANDARD"), None);
    }

    #[test]
    fn a_request_about_an_object_is_not_taken_for_one_about_a_bucket() {
        for (operation, query, is_allowed) in [
            ("create_bucket", "x-id=PutObject", false),
            ("delete_bucket", "x-id=DeleteObject", false),
            ("list_buckets", "list-type=2&prefix=", false),
            ("list_buckets", "x-id=ListBuckets", true),
            ("create_bucket", "x-id=CreateBucket", true),
            ("put_object", "x-id=PutObject", true),
            ("list_objects_v2", "list-type=2", true),
        ] {
            assert_eq!(check_place(operation, query).is_ok(), is_allowed, "{operation} {query}");
        }
    }

    #[test]
    fn a_part_of_an_upload_needs_its_number_and_the_upload() {
        for (operation, query, is_allowed) in [
            ("put_object", "uploadId=0123", false),
            ("put_object", "x-id=PutObject&uploadId=", false),
            ("put_object", "partNumber=2", false),
            ("copy_object", "partNumber=2", false),
            ("delete_object", "partNumber", false),
            ("get_object", "uploadId=", false),
            ("get_object", "partNumber=2", true),
            ("upload_part", "partNumber=2&uploadId=0123", true),
            ("abort_multipart_upload", "uploadId=0123", true),
        ] {
            assert_eq!(check_upload(operation, query).is_ok(), is_allowed, "{operation} {query}");
        }
    }

    #[test]
    fn a_part_that_is_not_the_operations_own_is_refused() {
        for (operation, query, is_allowed) in [
            ("delete_bucket", "", true),
            ("delete_bucket", "metadataConfiguration", false),
            ("delete_bucket", "versioning=", false),
            ("delete_object", "acl", false),
            ("put_object", "x-id=PutObject&renameObject", false),
            ("put_object", "uploads", false),
            ("put_object", "append=1", false),
            ("delete_object", "acl=1", false),
            ("put_object", "Content-Type=a%2Fb&x=1", true),
            ("put_object", "X-Amz-Security-Token=&x-id=", true),
            ("create_multipart_upload", "uploads", true),
            ("create_multipart_upload", "uploads=", true),
            ("list_objects_v2", "list-type=2&prefix=&delimiter&continuation-token=", true),
            ("get_object", "1700000000", true),
        ] {
            assert_eq!(check_part(operation, query).is_ok(), is_allowed, "{operation} {query}");
        }
    }
}
