//! [`Fate`]: why the body of a request cannot be used; [`Watched`], a body that notes it.
//!
//! The library for S3 reads documents in XML itself, such as a list of keys, and answers each
//! failure to read one by an internal error. The client is at fault then, so that [`Front`]
//! answers by the fate instead. The bodies of objects have errors of their own.
//!
//! The library does not verify `Content-MD5` and `x-amz-checksum-*` of a document. A watched body
//! does, and fails at its end, so that a damaged list of keys deletes none.
//!
//! The library leaves sections of characters (`<![CDATA[...]]>`) out of a document, and would take
//! `a<![CDATA[b]]>` for the key `a`. A document with such a section is refused.
//!
//! [`Front`]: super::Front

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::{Method, Request, Response, StatusCode, header};
use s3s::StdError;
use s3s::crypto::{Checksum as _, Sha256};

use super::patience::{Patience, is_late};
use super::sums::Sums;
use crate::query::parameters;

/// Header with the digest of the body that the client has signed.
const SIGNED_DIGEST: &str = "x-amz-content-sha256";
/// Most bytes of a document: 1,000 keys of 1 KiB, or 10,000 parts, and their tags.
pub(crate) const XML_MAX: usize = 4 << 20;
/// Parts of an object that are put as documents. Other parameters may be anything: some SDKs put
/// headers such as `Content-Type` into presigned URLs.
const PARTS: [&str; 5] = ["acl", "encryption", "legal-hold", "retention", "tagging"];
/// The begin of a section of characters in XML.
const SECTION: &[u8] = b"<![CDATA[";

/// See the [module](self).
#[derive(Clone, Default)]
pub(super) struct Fate(Arc<OnceLock<Reason>>);

#[derive(Clone, Copy, Debug)]
enum Reason {
    Late,
    Broken,
    /// It is not the one that the client has signed.
    Differs,
    /// It has another checksum than the client gives.
    Damaged,
    /// It has a section of characters.
    Section,
    /// It is a document of more than this number of bytes.
    TooLarge(u64),
}

impl Fate {
    /// The answer to a request that has failed, if its body was the cause.
    pub(super) fn answer(&self) -> Option<Response<s3s::Body>> {
        let too_large;
        let (code, message) = match self.0.get()? {
            Reason::Late => ("RequestTimeout", "the body comes too slowly"),
            Reason::Broken => ("IncompleteBody", "the body has ended before its length"),
            Reason::Differs => (
                "XAmzContentSHA256Mismatch",
                "expected a body with the SHA-256 of x-amz-content-sha256, found another one",
            ),
            Reason::Damaged => {
                ("BadDigest", "expected a body with the given checksum, found another one")
            }
            Reason::Section => {
                ("MalformedXML", "expected XML without CDATA, found a section of it")
            }
            Reason::TooLarge(most) => {
                too_large = format!("expected a document of at most {most} bytes");
                ("EntityTooLarge", too_large.as_str())
            }
        };
        Some(refusal(StatusCode::BAD_REQUEST, code, message))
    }
}

/// An answer with an error of S3.
pub(super) fn refusal(status: StatusCode, code: &str, message: &str) -> Response<s3s::Body> {
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <Error><Code>{code}</Code><Message>{message}</Message></Error>"
    );
    let mut response = Response::new(s3s::Body::from(text));
    *response.status_mut() = status;
    let xml = header::HeaderValue::from_static("application/xml");
    response.headers_mut().insert(header::CONTENT_TYPE, xml);
    response
}

/// A body whose fate is noted.
pub(super) struct Watched {
    body: Patience,
    fate: Fate,
    /// The digest so far, and the one that the client has signed, if they are to be compared.
    digest: Option<(Sha256, [u8; 32])>,
    /// Checksums so far, and those that the client gives for a document.
    sums: Option<Sums>,
    /// In a document, the bytes of [`SECTION`] that came last.
    section: Option<usize>,
    /// Bytes that may still come, if it is a document.
    left: Option<u64>,
}

impl Watched {
    /// The body of a request. Its digest is compared if it is a document.
    /// `on_host`: the bucket is in the name of the host.
    pub(super) fn of<T>(
        request: &Request<T>,
        on_host: bool,
        fate: &Fate,
    ) -> impl FnOnce(Patience) -> Self + use<T> {
        let is_document = is_document(request, on_host);
        let signed = request.headers().get(SIGNED_DIGEST).filter(|_| is_document);
        let signed = signed.and_then(|signed| digest(signed.as_bytes()));
        let has_sums = is_document && !is_completion(request);
        let left = is_document.then_some(XML_MAX as u64);
        let sums = has_sums.then(|| Sums::of(request.headers())).flatten();
        let section = is_list(request).then_some(0);
        let fate = fate.clone();
        move |body| {
            let digest = signed.map(|signed| (Sha256::new(), signed));
            Self { body, fate, digest, sums, section, left }
        }
    }

    fn note(&self, reason: Reason) {
        let _ = self.fate.0.set(reason);
    }

    /// Whether a section of characters begins in these bytes, or has begun in the ones before.
    fn has_section(&mut self, bytes: &[u8]) -> bool {
        let Some(came) = &mut self.section else { return false };
        let mut is_found = false;
        for &byte in bytes {
            *came = if byte == SECTION[*came] { *came + 1 } else { usize::from(byte == b'<') };
            if *came == SECTION.len() {
                (is_found, *came) = (true, 0);
            }
        }
        if is_found {
            self.note(Reason::Section);
        }
        is_found
    }

    /// Whether a document has more bytes than one may have, with these.
    fn is_too_large(&mut self, bytes: &[u8]) -> bool {
        let Some(left) = &mut self.left else { return false };
        let is_beyond = bytes.len() as u64 > *left;
        *left = left.saturating_sub(bytes.len() as u64);
        if is_beyond {
            self.note(Reason::TooLarge(XML_MAX as u64));
        }
        is_beyond
    }

    /// Compares at the end of the body; returns whether it may be used.
    fn compare(&mut self) -> bool {
        if let Some((found, signed)) = self.digest.take()
            && found.finalize()[..] != signed
        {
            self.note(Reason::Differs);
        }
        let is_damaged = self.sums.take().is_some_and(|sums| !sums.agree());
        if is_damaged {
            self.note(Reason::Damaged);
        }
        !is_damaged
    }
}

/// Whether the body of a request is no content of an object: neither a put nor a part.
fn is_document<T>(request: &Request<T>, on_host: bool) -> bool {
    let path = request.uri().path();
    let key = match on_host {
        true => path.strip_prefix('/'),
        false => path.trim_start_matches('/').split_once('/').map(|(_, key)| key),
    };
    let has_key = key.is_some_and(|key| !key.is_empty());
    let mut names = parameters(request.uri().query().unwrap_or_default()).map(|(name, _)| name);
    request.method() != Method::PUT || !has_key || names.any(|name| PARTS.contains(&name))
}

/// Whether the body of a request is a document with keys, parts or tags.
fn is_list<T>(request: &Request<T>) -> bool {
    let mut query = request.uri().query().unwrap_or_default().split('&');
    let has_tags = query.any(|pair| pair.split('=').next() == Some("tagging"));
    request.method() == Method::POST || has_tags
}

/// Whether the checksums in the headers are those of the object, not those of the document.
fn is_completion<T>(request: &Request<T>) -> bool {
    let mut query = request.uri().query().unwrap_or_default().split('&');
    request.method() == Method::POST && query.any(|pair| pair.starts_with("uploadId="))
}

/// A digest of 64 hexadecimal digits.
fn digest(text: &[u8]) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(text.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

impl Body for Watched {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let is_sound = match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(&[][..], |bytes| &bytes[..]);
                self.digest.iter_mut().for_each(|(found, _)| found.update(bytes));
                self.sums.iter_mut().for_each(|sums| sums.update(bytes));
                let is_refused = self.is_too_large(bytes) || self.has_section(bytes);
                !is_refused && (!self.body.is_end_stream() || self.compare())
            }
            Poll::Ready(Some(Err(error))) => {
                self.note(if is_late(error) { Reason::Late } else { Reason::Broken });
                true
            }
            Poll::Ready(None) => self.compare(),
            Poll::Pending => true,
        };
        if is_sound { frame } else { Poll::Ready(Some(Err("the body cannot be used".into()))) }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_objects_and_parts_are_no_documents() {
        let is_document = |method: Method, target: &str| {
            let request = Request::builder().method(method).uri(target).body(()).unwrap();
            is_document(&request, false)
        };
        for target in [
            "/bucket/key",
            "/bucket/a/b",
            "/b/k?partNumber=1&uploadId=2",
            "/b/k?x-id=PutObject",
            "/b/k?X-Amz-Expires=9&X-Amz-Signature=0",
            "/b/k?Content-Type=video%2Fmp4&versionId=null&X-Amz-Signature=0",
            "/b/k?AWSAccessKeyId=a&Signature=b&Expires=9",
        ] {
            assert!(!is_document(Method::PUT, target), "{target}");
        }
        for target in ["/bucket", "/bucket/", "/bucket?tagging", "/bucket/key?tagging"] {
            assert!(is_document(Method::PUT, target), "{target}");
        }
        assert!(is_document(Method::POST, "/bucket/key?uploadId=1"));
        let on_host = |target: &str| {
            let request = Request::builder().method(Method::PUT).uri(target).body(()).unwrap();
            super::is_document(&request, true)
        };
        assert!(on_host("/") && !on_host("/key") && !on_host("//"));
    }

    #[test]
    fn a_digest_is_64_hexadecimal_digits() {
        assert_eq!(
            digest("0aF".repeat(22).as_bytes()[..64].as_ref()).map(|d| d[..3].to_vec()),
            Some(vec![0x0a, 0xf0, 0xaf])
        );
        for wrong in ["UNSIGNED-PAYLOAD", &"0".repeat(63), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(digest(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
