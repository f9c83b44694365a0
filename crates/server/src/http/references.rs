//! Control characters in documents of XML, as references: `&#x1;`.
//!
//! A key may have any character. The library writes control characters into a document as they
//! are. A parser refuses them, or takes a return for a line end, so that the client sees another
//! key. S3 writes references. Those of XML 1.0 to control characters other than a return are not
//! well-formed either: a strict client asks for the encoding `url`.

use std::fmt::Write;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use s3s::Body;

/// An answer whose control characters are references, if it is a document in memory.
pub(super) fn with_references(response: Response<Body>) -> Response<Body> {
    let is_xml = response.headers().get(CONTENT_TYPE).is_some_and(|of| of == "application/xml");
    let document = response.body().bytes().filter(|_| is_xml);
    let Some(text) = document.and_then(referenced) else { return response };
    let mut response = response.map(|_| Body::from(text));
    response.headers_mut().remove(CONTENT_LENGTH);
    response
}

/// A document with references, if it has control characters.
fn referenced(document: Bytes) -> Option<String> {
    let is_control = |one: char| one < ' ' && one != '\t' && one != '\n';
    let text = std::str::from_utf8(&document).ok()?;
    if !text.contains(is_control) {
        return None;
    }
    let mut written = String::with_capacity(text.len() + 64);
    for one in text.chars() {
        if is_control(one) {
            let _ = write!(written, "&#x{:X};", u32::from(one));
        } else {
            written.push(one);
        }
    }
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_references_and_others_stay() {
        let of = |text: &'static str| referenced(Bytes::from_static(text.as_bytes()));
        assert_eq!(
            of("<Key>a\u{1}\r\u{1f}ü\tb\n</Key>").unwrap(),
            "<Key>a&#x1;&#xD;&#x1F;ü\tb\n</Key>"
        );
        assert_eq!(of("<Key>ü\t\n</Key>"), None);
    }
}
