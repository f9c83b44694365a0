//! Ranges of reads that are malformed, or that are several: the client gets the whole object. RFC
//! 9110 allows it (section 14.2), and S3 does it. The library would refuse the request.
//!
//! - The header is taken off if it is not part of the signature.
//! - The library must see a signed one, to verify the signature, and refuses the request after
//!   that. If the key has the right to read, the request is repeated without range and signature.

use hyper::header::{AUTHORIZATION, HeaderMap, RANGE};
use hyper::{Method, Request, Uri};
use s3s::Body;
use s3s::dto::Range;

use crate::access::is_signed;

/// Headers of a signature.
const SIGNATURE: [&str; 2] = ["x-amz-date", "x-amz-content-sha256"];

/// Takes the range of a read off if it is unfit. For a signed one, returns the request without
/// range and signature instead.
pub(super) fn take_unfit<T>(request: &mut Request<T>) -> Option<Request<Body>> {
    if !has_unfit(request.method(), request.headers()) {
        return None;
    }
    if !is_signed(RANGE.as_str(), request.uri(), request.headers()) {
        request.headers_mut().remove(RANGE);
        return None;
    }
    let mut whole = Request::new(Body::empty());
    *whole.method_mut() = request.method().clone();
    *whole.uri_mut() = unsigned(request.uri())?;
    *whole.headers_mut() = request.headers().clone();
    let headers = whole.headers_mut();
    headers.remove(RANGE);
    headers.remove(AUTHORIZATION);
    SIGNATURE.iter().for_each(|&name| drop(headers.remove(name)));
    Some(whole)
}

fn has_unfit(method: &Method, headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(RANGE).iter();
    let is_fit = match (given.next(), given.next()) {
        (None, _) => return false,
        (Some(one), None) => one.to_str().is_ok_and(|text| Range::parse(text).is_ok()),
        (Some(_), Some(_)) => false,
    };
    [Method::GET, Method::HEAD].contains(method) && !is_fit
}

/// A target without the parameters of a signature of version 4.
fn unsigned(uri: &Uri) -> Option<Uri> {
    let query = uri.query().unwrap_or_default().split('&');
    let rest: Vec<&str> = query.filter(|pair| !pair.starts_with("X-Amz-")).collect();
    format!("{}?{}", uri.path(), rest.join("&")).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(target: &str, range: &str, authorization: Option<&str>) -> Request<()> {
        let request = Request::builder().uri(target).header(RANGE, range);
        let request = match authorization {
            Some(text) => request.header(AUTHORIZATION, text),
            None => request,
        };
        request.header("x-amz-date", "1").header("if-match", "*").body(()).unwrap()
    }

    #[test]
    fn a_fit_range_stays_and_an_unfit_one_is_taken_off() {
        let mut fit = read("/b/k", "bytes=0-1", None);
        assert!(take_unfit(&mut fit).is_none() && fit.headers().contains_key(RANGE));
        for range in ["bytes=9-1", "bytes=0-1,3-4", "lines=1-2", ""] {
            let mut unfit = read("/b/k?X-Amz-Signature=0&X-Amz-SignedHeaders=host", range, None);
            assert!(take_unfit(&mut unfit).is_none() && !unfit.headers().contains_key(RANGE));
        }
    }

    #[test]
    fn a_signed_range_stays_and_the_repetition_has_no_signature() {
        let presigned =
            "/b/k?X-Amz-Signature=0&response-expires=1&X-Amz-SignedHeaders=host%3Brange";
        let header = Some("AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host;range, Signature=0");
        for (target, authorization) in [(presigned, None), ("/b/k?response-expires=1", header)] {
            let mut request = read(target, "bytes=9-1", authorization);
            let whole = take_unfit(&mut request).unwrap();
            assert!(request.headers().contains_key(RANGE));
            assert_eq!(whole.uri(), "/b/k?response-expires=1");
            assert_eq!(whole.headers().keys().collect::<Vec<_>>(), ["if-match"]);
        }
    }
}
