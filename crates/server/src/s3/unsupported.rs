//! [`check`]: refuses requests for features that the server does not have: versions, encryption by
//! the server, locks, access lists, redirects, writes at an offset, other storage classes. Nothing
//! of that kind is ignored.
//!
//! Operations that are wholly about one of these are refused by their names
//! ([`Operations`](super::Operations)). Here are the headers and the query of the others.
//!
//! A query names a part of a bucket or an object by a parameter without a value. The library takes
//! one that it does not know for none: a delete of a bucket's configuration would be a delete of
//! the bucket. So an operation takes its own one alone. Reads of objects take any, as S3 does.
//!
//! A request about a part of an upload has both `partNumber` and `uploadId`. With one of them the
//! library takes it for a request about the object, which a put or a delete would destroy.

use hyper::header::HeaderMap;
use hyper::{StatusCode, Uri};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::answer::refusal;

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

/// The part of a bucket or an object that an operation is about.
fn part_of(operation: &str) -> &'static str {
    match operation {
        "create_multipart_upload" | "list_multipart_uploads" => "uploads",
        "delete_objects" => "delete",
        "get_object_attributes" => "attributes",
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
        !name.is_empty() && value.is_empty() && !is_parameter && name != part_of(operation)
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
    check_upload(operation, query)?;
    check_part(operation, query)?;
    check_version(query.split('&').find_map(|pair| pair.strip_prefix("versionId=")))
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
        for (name, value, expected) in [
            ("x-amz-object-lock-mode", "COMPLIANCE", "NotImplemented"),
            ("x-amz-server-side-encryption", "AES256", "NotImplemented"),
            ("x-amz-storage-class", "GLACIER", "NotImplemented"),
            ("x-amz-write-offset-bytes", "5", "NotImplemented"),
            ("x-amz-if-match-size", "5", "NotImplemented"),
            ("x-amz-acl", "public-read", "AccessControlListNotSupported"),
            ("x-amz-grant-read", "id=1", "AccessControlListNotSupported"),
        ] {
            assert_eq!(of(name, value).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(of("x-amz-storage-class", "STANDARD"), None);
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
