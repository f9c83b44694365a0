//! Errors of the library that have a code and no text: a text for those that clients meet most. And
//! the number of the request, which each answer has in `x-amz-request-id`, and the log, too.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_LENGTH, HeaderValue};
use s3s::Body;
use terrace_env::runner;

/// Texts by code.
const TEXTS: [(&str, &str); 9] = [
    ("AccessDenied", "the key of the request, or a request without one, has no right to do this"),
    ("IncompleteBody", "the body has ended before its length"),
    ("InternalError", "the server failed; its log has the reason"),
    ("InvalidBucketName", "expected a bucket of 3 to 63 letters a-z, digits, dots and hyphens"),
    ("InvalidURI", "expected a path that can be decoded"),
    ("KeyTooLongError", "expected a key of at most 1024 bytes"),
    ("MalformedXML", "expected well-formed XML with the elements of this operation"),
    ("NoSuchUpload", "upload: expected an unfinished one"),
    (
        "SignatureDoesNotMatch",
        "the signature is not that of this request: the secret is another one, or the path, the \
         query, the Host or a signed header was changed on the way",
    ),
];

/// The number of a request, different for each request of some years.
pub(super) fn request_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:011X}{:05X}", runner::date().0, number & 0xF_FFFF)
}

/// An answer with the number of its request, and with a text if it is an error without one.
pub(super) fn explained(mut response: Response<Body>, id: &str) -> Response<Body> {
    if let Ok(value) = HeaderValue::try_from(id) {
        response.headers_mut().insert("x-amz-request-id", value);
    }
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let Some(text) = response.body().bytes().and_then(|body| with_text(&body, id)) else {
        return response;
    };
    let mut response = response.map(|_| Body::from(text));
    response.headers_mut().remove(CONTENT_LENGTH);
    response
}

/// A document of an error with the number of the request, and with a text.
fn with_text(document: &Bytes, id: &str) -> Option<String> {
    let document = std::str::from_utf8(document).ok()?;
    let (before, rest) = document.split_once("<Error><Code>")?;
    let (code, rest) = rest.split_once("</Code>")?;
    let text = TEXTS.iter().find(|(of, _)| *of == code).map(|(_, text)| *text);
    let message = match text.filter(|_| !rest.contains("<Message>")) {
        Some(text) => format!("<Message>{text}</Message>"),
        None => String::new(),
    };
    let id = if rest.contains("<RequestId>") {
        String::new()
    } else {
        format!("<RequestId>{id}</RequestId>")
    };
    let (rest, end) = rest.rsplit_once("</Error>")?;
    Some(format!("{before}<Error><Code>{code}</Code>{message}{rest}{id}</Error>{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_text_gets_one_and_others_keep_theirs() {
        let of = |text: &'static str| with_text(&Bytes::from_static(text.as_bytes()), "7");
        let without = of("<?xml?><Error><Code>InvalidURI</Code></Error>").unwrap();
        let text = "expected a path that can be decoded";
        let end = "<RequestId>7</RequestId></Error>";
        let expected =
            format!("<?xml?><Error><Code>InvalidURI</Code><Message>{text}</Message>{end}");
        assert_eq!(without, expected);
        let with = "<Error><Code>InvalidURI</Code><Message>a</Message></Error>";
        let kept = "<Error><Code>InvalidURI</Code><Message>a</Message>";
        assert_eq!(of(with).unwrap(), format!("{kept}{end}"));
        assert_eq!(of("<Error><Code>Other</Code></Error>").unwrap().matches("Message").count(), 0);
        assert_eq!(of("<List></List>"), None);
    }

    #[test]
    fn two_requests_have_two_numbers() {
        assert_ne!(request_id(), request_id());
        assert_eq!(request_id().len(), 16);
    }
}
