//! Ranges of reads that are malformed, or that are several: the client gets the whole object. RFC
//! 9110 allows it (section 14.2), and S3 does it. The library would refuse the request, and also
//! one with a number of 2^63 or more, which is replaced by the largest one that it takes: no object
//! is as large.
//!
//! - The header is taken off, or replaced, if it is not part of the signature.
//! - The library must see a signed one, to verify the signature, and refuses the request after
//!   that. If the key has the right to read, the request is repeated without signature, and without
//!   the range or with the replaced one.

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, RANGE};
use hyper::{Method, Request, Uri};
use s3s::Body;
use s3s::dto::Range;

use crate::access::is_signed;

/// Headers of a signature.
const SIGNATURE: [&str; 2] = ["x-amz-date", "x-amz-content-sha256"];

/// Takes the range of a read off if it is unfit, or replaces it. For a signed one, returns the
/// request without signature instead.
pub(super) fn take_unfit<T>(request: &mut Request<T>) -> Option<Request<Body>> {
    let fit = fit_of_unfit(request.method(), request.headers())?;
    if !is_signed(RANGE.as_str(), request.uri(), request.headers()) {
        set_range(request.headers_mut(), fit);
        return None;
    }
    let mut again = Request::new(Body::empty());
    *again.method_mut() = request.method().clone();
    *again.uri_mut() = unsigned(request.uri())?;
    *again.headers_mut() = request.headers().clone();
    let headers = again.headers_mut();
    set_range(headers, fit);
    headers.remove(AUTHORIZATION);
    SIGNATURE.iter().for_each(|&name| drop(headers.remove(name)));
    Some(again)
}

fn set_range(headers: &mut HeaderMap, range: Option<HeaderValue>) {
    match range {
        Some(range) => drop(headers.insert(RANGE, range)),
        None => drop(headers.remove(RANGE)),
    }
}

/// The range that takes the place of an unfit one, or none. `None` for a fit one.
fn fit_of_unfit(method: &Method, headers: &HeaderMap) -> Option<Option<HeaderValue>> {
    let mut given = headers.get_all(RANGE).iter();
    let one = match (given.next(), given.next()) {
        _ if ![Method::GET, Method::HEAD].contains(method) => return None,
        (None, _) => return None,
        (Some(one), None) => one.to_str().ok(),
        (Some(_), Some(_)) => None,
    };
    let Some(one) = one else { return Some(None) };
    if is_fit(one) {
        return None;
    }
    let clamped = clamped(one).filter(|range| is_fit(range));
    Some(clamped.and_then(|range| range.parse().ok()))
}

fn is_fit(range: &str) -> bool {
    Range::parse(range).is_ok() && range != "bytes=-"
}

/// The range with numbers that the library takes.
fn clamped(range: &str) -> Option<String> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let clamp = |number: &str| {
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let digits = number.trim_start_matches('0');
        let is_large = digits.len() > 18;
        is_number.then(|| if is_large { i64::MAX.to_string() } else { number.to_owned() })
    };
    Some(format!("bytes={}-{}", clamp(first)?, clamp(last)?))
}

/// A target without the parameters of a signature of version 4.
fn unsigned(uri: &Uri) -> Option<Uri> {
    let query = uri.query().unwrap_or_default().split('&');
    let rest: Vec<&str> =
        query.filter(|pair| !pair.to_ascii_lowercase().starts_with("x-amz-")).collect();
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
    fn a_number_that_the_library_does_not_take_becomes_the_largest_one() {
        let largest = i64::MAX.to_string();
        for (range, expected) in [
            ("bytes=5-18446744073709551614", Some(format!("bytes=5-{largest}"))),
            ("bytes=5-9223372036854775808", Some(format!("bytes=5-{largest}"))),
            ("bytes=18446744073709551615-", Some(format!("bytes={largest}-"))),
            ("bytes=-99999999999999999999999", Some(format!("bytes=-{largest}"))),
            ("bytes=5-9223372036854775807", Some(format!("bytes=5-{largest}"))),
            ("bytes=99999999999999999999-5", None),
            ("bytes=-", None),
            ("bytes=5-99999999999999999999x", None),
        ] {
            let mut request = read("/b/k", range, None);
            assert!(take_unfit(&mut request).is_none());
            let left = request.headers().get(RANGE).map(|range| range.to_str().unwrap());
            assert_eq!(left, expected.as_deref(), "{range}");
        }
        let signed = Some("AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host;range, Signature=0");
        let mut request = read("/b/k", "bytes=5-99999999999999999999", signed);
        let again = take_unfit(&mut request).unwrap();
        assert_eq!(again.headers()[RANGE], format!("bytes=5-{largest}"));
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
