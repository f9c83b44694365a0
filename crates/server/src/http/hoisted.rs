//! Headers in the query of a presigned URL. SDKs for JavaScript, PHP and Ruby move the headers
//! `x-amz-*` of a request to the query when they presign it. The program that uses the URL then
//! sends no such header. S3 takes the parameter for the header, and so does this server.
//!
//! - The signature of the URL has the whole query. So such a header counts as signed.
//! - The header itself has precedence, if it is there. It must then be signed, or have the same
//!   value.
//! - The value of a checksum is no such header. SDKs for JavaScript put that of an empty body into
//!   each URL for an upload, because they do not know the body. As others have observed, S3 does
//!   not compare it.
//! - This holds for signatures of version 4 in the query. Otherwise a parameter of this kind is
//!   refused: it would be ignored.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode, Uri};
use s3s::Body;

use super::fate::refusal;
use crate::query::{decoded, parameters};

/// Parameters that belong to the signature, without their beginning `x-amz-`.
const OF_SIGNATURE: [&str; 8] = [
    "algorithm",
    "content-sha256",
    "credential",
    "date",
    "expires",
    "security-token",
    "signature",
    "signedheaders",
];

/// The name of the header that a parameter stands for.
fn header_of(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let rest = name.strip_prefix("x-amz-")?;
    let is_sum = match rest.strip_prefix("checksum-") {
        Some(rest) => !["algorithm", "mode", "type"].contains(&rest),
        None => rest == "sdk-checksum-algorithm",
    };
    (!OF_SIGNATURE.contains(&rest) && !is_sum).then_some(name)
}

/// Adds the headers that stand in the query of a request; returns the refusal of one that cannot be
/// a header.
pub(super) fn add_hoisted<T>(request: &mut Request<T>) -> Option<Response<Body>> {
    let query = request.uri().query().unwrap_or_default();
    let is_presigned = parameters(query).any(|(name, _)| name == "X-Amz-Signature");
    let mut hoisted = HeaderMap::new();
    for (name, value) in parameters(query) {
        let Some(header) = header_of(name) else { continue };
        if !is_presigned {
            let message = format!("{header}: expected a header, found a parameter of the query");
            return Some(refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented", &message));
        }
        let value = decoded(value).and_then(|value| HeaderValue::try_from(value).ok());
        let (Ok(header), Some(value)) = (HeaderName::try_from(header), value) else {
            let message = "expected parameters that can be headers, by their names and values";
            return Some(refusal(StatusCode::BAD_REQUEST, "InvalidArgument", message));
        };
        hoisted.append(header, value);
    }
    let headers = request.headers_mut();
    for name in hoisted.keys() {
        if !headers.contains_key(name) {
            hoisted.get_all(name).iter().for_each(|value| _ = headers.append(name, value.clone()));
        }
    }
    None
}

/// Whether a header with this value stands in the query of a presigned URL.
pub(crate) fn is_hoisted(name: &str, value: &HeaderValue, uri: &Uri) -> bool {
    let mut all = parameters(uri.query().unwrap_or_default());
    all.any(|(parameter, encoded)| {
        header_of(parameter).as_deref() == Some(name)
            && decoded(encoded).is_some_and(|decoded| decoded.as_bytes() == value.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(query: &str, headers: &[(&'static str, &str)]) -> Result<HeaderMap, StatusCode> {
        let mut request = Request::builder().uri(format!("/b/k?{query}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(()).unwrap();
        match add_hoisted(&mut request) {
            None => Ok(request.headers().clone()),
            Some(answer) => Err(answer.status()),
        }
    }

    #[test]
    fn parameters_of_a_presigned_url_become_headers() {
        let query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=9&X-Amz-Signature=0\
                     &x-amz-tagging=a%3Db%26c&X-Amz-Meta-K=v+w&x-id=PutObject\
                     &x-amz-checksum-crc32=AAAAAA%3D%3D&x-amz-sdk-checksum-algorithm=CRC32";
        let headers = with(query, &[]).unwrap();
        assert_eq!(headers.len(), 2, "{headers:?}");
        assert_eq!(headers["x-amz-tagging"], "a=b&c");
        assert_eq!(headers["x-amz-meta-k"], "v w");
        let uri = format!("/b/k?{query}").parse().unwrap();
        assert!(is_hoisted("x-amz-tagging", &HeaderValue::from_static("a=b&c"), &uri));
        assert!(!is_hoisted("x-amz-tagging", &HeaderValue::from_static("a=c"), &uri));
        assert!(!is_hoisted("x-amz-expires", &HeaderValue::from_static("9"), &uri));
    }

    #[test]
    fn a_header_that_is_there_stays() {
        let query = "X-Amz-Signature=0&x-amz-acl=private";
        let headers = with(query, &[("x-amz-acl", "public-read")]).unwrap();
        assert_eq!(headers["x-amz-acl"], "public-read");
    }

    #[test]
    fn a_parameter_that_cannot_be_a_header_is_refused() {
        for query in ["x-amz-acl=private", "Signature=0&Expires=1&x-amz-copy-source=a"] {
            assert_eq!(with(query, &[]), Err(StatusCode::NOT_IMPLEMENTED), "{query}");
        }
        for query in ["X-Amz-Signature=0&x-amz-meta-a=%0A", "X-Amz-Signature=0&x-amz-meta-(=a"] {
            assert_eq!(with(query, &[]), Err(StatusCode::BAD_REQUEST), "{query}");
        }
        assert!(with("X-Amz-Date=1&prefix=x-amz-acl", &[]).unwrap().is_empty());
    }
}
