//! [`check`]: refuses requests for features that the server does not have: versions, encryption by
//! the server, locks, access lists, redirects. Nothing of that kind is ignored.
//!
//! Operations that are wholly about one of these are refused by their names
//! ([`Operations`](super::Operations)). Here are the headers and the query of the others.

use hyper::header::HeaderMap;
use hyper::{StatusCode, Uri};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::answer::refusal;

/// Headers that ask for something else than the server does, unless they have the given value.
const REFUSED: [(&str, Option<&str>); 9] = [
    ("x-amz-server-side-encryption", None),
    ("x-amz-server-side-encryption-customer-algorithm", None),
    ("x-amz-copy-source-server-side-encryption-customer-algorithm", None),
    ("x-amz-object-lock-mode", None),
    ("x-amz-object-lock-retain-until-date", None),
    ("x-amz-object-lock-legal-hold", Some("OFF")),
    ("x-amz-bucket-object-lock-enabled", Some("false")),
    ("x-amz-website-redirect-location", None),
    ("x-amz-mfa", None),
];

/// Access lists that say what holds anyway: rights are those of the file of keys.
const LISTS: [&str; 3] = ["private", "bucket-owner-full-control", "bucket-owner-read"];

/// See the [module](self).
pub(super) fn check(uri: &Uri, headers: &HeaderMap) -> S3Result<()> {
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
    let mut query = uri.query().unwrap_or_default().split('&');
    match query.find_map(|pair| pair.strip_prefix("versionId=")) {
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
            check(&uri, &headers).err().map(|error| error.code().as_str().to_owned())
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
            ("x-amz-acl", "public-read", "AccessControlListNotSupported"),
            ("x-amz-grant-read", "id=1", "AccessControlListNotSupported"),
        ] {
            assert_eq!(of(name, value).as_deref(), Some(expected), "{name}");
        }
    }
}
