//! Rules of signatures that the library, which computes them, does not keep.
//!
//! - Each header `x-amz-*` must be signed, or stand in the query of a presigned URL. Without this
//!   rule, the holder of a presigned URL for a put could add the name of a source, and copy any
//!   object that the key may read. The time and the digest of the body are part of each signature
//!   that needs them.
//! - A presigned URL of version 4 holds for seven days at most.
//! - Version 2 is taken in presigned URLs alone, because a header signed by it never expires. It
//!   signs all headers `x-amz-*`.
//! - The name of a parameter has no escapes, in requests without a signature, too. The library
//!   reads `X-Amz%2DSignature` as the name of a signature, and these rules would not find it. Nor
//!   would other checks of the server find `upload%49d`.
//! - A body in chunks needs a signature. Without one, the library would keep the frames of the
//!   chunks in the object.

use hyper::Uri;
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, HeaderMap, HeaderValue};
use s3s::{S3Error, S3ErrorCode, S3Result};

use crate::http::is_hoisted;
use crate::query::parameters;

/// Longest time of a presigned URL, in seconds.
const EXPIRES_MAX: u64 = 7 * 86_400;
/// Headers that are part of a signature without being named in it.
const IMPLIED: [&str; 2] = ["x-amz-date", "x-amz-content-sha256"];

/// Checks a request whose signature is right.
pub(super) fn check(uri: &Uri, headers: &HeaderMap) -> S3Result<()> {
    let authorization = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    if authorization.is_some_and(|value| value.starts_with(b"AWS ")) {
        let message = "expected a signature of version 4: AWS4-HMAC-SHA256";
        return Err(S3Error::with_message(S3ErrorCode::InvalidRequest, message));
    }
    check_names(uri)?;
    let text = uri.query().unwrap_or_default();
    let query = |name| value_in(text, name);
    if query("Signature").is_some() {
        return Ok(());
    }
    if query("X-Amz-Signature").is_some() {
        let expires = query("X-Amz-Expires").and_then(|text| text.parse().ok());
        if expires.is_none_or(|seconds: u64| seconds > EXPIRES_MAX) {
            let code = S3ErrorCode::AuthorizationQueryParametersError;
            let message = format!("X-Amz-Expires: expected at most {EXPIRES_MAX} seconds");
            return Err(S3Error::with_message(code, message));
        }
    }
    let given = headers.iter().map(|(name, value)| (name.as_str(), value));
    let mut ours = given.filter(|(name, _)| name.starts_with("x-amz-") && !IMPLIED.contains(name));
    let is_presigned = query("X-Amz-Signature").is_some();
    let is_foreign = |(name, value): &(&str, &HeaderValue)| {
        let is_hoisted = || is_presigned && is_hoisted(name, value, uri);
        !is_signed(name, uri, headers) && !is_hoisted()
    };
    match ours.find(is_foreign) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!("{name}: expected a signed header");
            Err(S3Error::with_message(S3ErrorCode::AccessDenied, message))
        }
    }
}

/// Whether a signature of version 4 names this header, if there is one.
pub(crate) fn is_signed(name: &str, uri: &Uri, headers: &HeaderMap) -> bool {
    let query = |name| value_in(uri.query().unwrap_or_default(), name);
    let signed = match query("X-Amz-Signature") {
        Some(_) => {
            query("X-Amz-SignedHeaders").map(|names| names.replace("%3B", ";").replace("%3b", ";"))
        }
        None => headers.get(AUTHORIZATION).and_then(|value| signed_in(value.to_str().ok()?)),
    };
    signed.is_some_and(|names| names.split(';').any(|one| one.eq_ignore_ascii_case(name)))
}

/// Checks the names of the parameters.
fn check_names(uri: &Uri) -> S3Result<()> {
    let mut names = parameters(uri.query().unwrap_or_default()).map(|(name, _)| name);
    match names.find(|name| name.contains(['%', '+'])) {
        None => Ok(()),
        Some(name) => {
            let message = format!("expected the name of a parameter without escapes, found {name}");
            Err(S3Error::with_message(S3ErrorCode::InvalidRequest, message))
        }
    }
}

/// Checks a request without a signature.
pub(super) fn check_unsigned(uri: &Uri, headers: &HeaderMap) -> S3Result<()> {
    check_names(uri)?;
    let digest = headers.get("x-amz-content-sha256").map(|value| value.as_bytes());
    let has_frames = |value: &HeaderValue| {
        value.to_str().unwrap_or_default().split(',').any(|one| one.trim() == "aws-chunked")
    };
    let is_streaming = digest.is_some_and(|digest| digest.starts_with(b"STREAMING-"));
    if is_streaming || headers.get_all(CONTENT_ENCODING).iter().any(has_frames) {
        let message = "a body in chunks needs a signature";
        return Err(S3Error::with_message(S3ErrorCode::NotImplemented, message));
    }
    Ok(())
}

fn value_in<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// The names of signed headers in the header of a signature.
fn signed_in(authorization: &str) -> Option<String> {
    let mut parts = authorization.split([',', ' ']);
    parts.find_map(|part| part.strip_prefix("SignedHeaders=")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code of the refusal of a request with a source of a copy.
    fn refused(query: &str, authorization: Option<&str>) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("x-amz-copy-source", "/a/b".parse().unwrap());
        headers.insert("x-amz-date", "20010101T000000Z".parse().unwrap());
        headers.insert("range", "bytes=0-1".parse().unwrap());
        if let Some(text) = authorization {
            headers.insert(AUTHORIZATION, text.parse().unwrap());
        }
        let uri = format!("/bucket/key?{query}").parse().unwrap();
        check(&uri, &headers).err().map(|error| error.code().as_str().to_owned())
    }

    #[test]
    fn each_header_of_the_protocol_is_signed() {
        let header = |names: &str| {
            let text =
                format!("AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders={names},Signature=c");
            refused("", Some(&text))
        };
        assert_eq!(header("host;x-amz-copy-source;x-amz-date"), None);
        assert_eq!(header("host;x-amz-date").as_deref(), Some("AccessDenied"));
        // A longer name is another header.
        let longer = "host;x-amz-copy-source-if-match";
        assert_eq!(header(longer).as_deref(), Some("AccessDenied"));
        let url = |names: &str| {
            let query =
                format!("X-Amz-Expires=604800&X-Amz-SignedHeaders={names}&X-Amz-Signature=c");
            // A header of a signature does not count then.
            refused(&query, Some("AWS4-HMAC-SHA256 SignedHeaders=x-amz-copy-source"))
        };
        assert_eq!(url("host%3Bx-amz-copy-source"), None);
        assert_eq!(url("host").as_deref(), Some("AccessDenied"));
        assert_eq!(url("").as_deref(), Some("AccessDenied"));
    }

    #[test]
    fn the_name_of_a_signature_cannot_be_disguised() {
        let names = "X-Amz-Expires=9&X-Amz-SignedHeaders=host";
        for disguised in ["X-Amz%2DSignature", "%58-Amz-Signature", "Signature+"] {
            let header = Some("AWS4-HMAC-SHA256 SignedHeaders=x-amz-copy-source");
            let refusal = refused(&format!("{names}&{disguised}=c"), header);
            assert_eq!(refusal.as_deref(), Some("InvalidRequest"), "{disguised}");
        }
    }

    #[test]
    fn names_without_a_signature_have_no_escapes_either() {
        let check = |target: &'static str| {
            check_unsigned(&Uri::from_static(target), &HeaderMap::new()).is_ok()
        };
        assert!(check("/b/k?versionId=a%49") && check("/b/k"));
        assert!(!check("/b/k?version%49d=a") && !check("/b/k?part%4eumber"));
    }

    #[test]
    fn a_header_in_the_query_of_a_presigned_url_is_signed() {
        let query = |rest: &str| {
            let signature = "X-Amz-Expires=9&X-Amz-SignedHeaders=host&X-Amz-Signature=c";
            refused(&format!("{signature}&{rest}"), None)
        };
        assert_eq!(query("x-amz-copy-source=%2Fa%2Fb"), None);
        assert_eq!(query("x-amz-copy-source=%2Fa%2Fc").as_deref(), Some("AccessDenied"));
        assert_eq!(query("prefix=x-amz-copy-source").as_deref(), Some("AccessDenied"));
    }

    #[test]
    fn a_signature_expires() {
        let query = |seconds: &str| {
            let names = "X-Amz-SignedHeaders=host;x-amz-copy-source";
            refused(&format!("X-Amz-Expires={seconds}&{names}&X-Amz-Signature=c"), None)
        };
        assert_eq!(query("604800"), None);
        assert_eq!(query("604801").as_deref(), Some("AuthorizationQueryParametersError"));
        assert_eq!(refused("Signature=c&Expires=1&AWSAccessKeyId=a", None), None);
        assert_eq!(refused("", Some("AWS a:c")).as_deref(), Some("InvalidRequest"));
    }

    #[test]
    fn chunks_without_a_signature_are_refused() {
        let check = |digest: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-amz-content-sha256", digest.parse().unwrap());
            if digest.is_empty() {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip, aws-chunked"));
            }
            check_unsigned(&Uri::from_static("/b/k?a=1"), &headers)
        };
        assert!(check("UNSIGNED-PAYLOAD").is_ok());
        assert!(check("STREAMING-UNSIGNED-PAYLOAD-TRAILER").is_err());
        assert!(check("").is_err());
    }
}
