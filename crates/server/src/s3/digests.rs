//! [`Digests`]: the checksums that a request gives for its body, in headers or after the body, and
//! those of the bytes that came.
//!
//! `Content-MD5` and all algorithms of `x-amz-checksum-*` are verified. The first of the latter is
//! kept with the object. One that is announced for the end of the body must come. SHA-256 of the
//! payload, which belongs to the signature, is verified while the body is read.

use hyper::StatusCode;
use s3s::checksum::ChecksumHasher;
use s3s::crypto::{Checksum as _, Crc32, Crc32c, Crc64Nvme, Sha1, Sha256};
use s3s::dto::{ContentMD5, PutObjectInput, UploadPartInput};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result, TrailingHeaders};

use super::answer::refusal;
use crate::objects::Checksum;

/// The algorithms, by their names in S3.
pub(super) const ALGORITHMS: [&str; 5] = ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"];

/// See the [module](self).
pub(super) struct Digests {
    hasher: ChecksumHasher,
    md5: Option<ContentMD5>,
    /// Given in headers, by algorithm.
    given: [Option<String>; 5],
    /// Announced for the end of the body, by algorithm.
    is_in_trailer: [bool; 5],
    trailers: Option<TrailingHeaders>,
}

/// Inputs of requests with a body.
pub(super) trait HasDigests {
    /// `Content-MD5`; the checksums in the order of the algorithms; the algorithm that is named.
    fn digests(&mut self) -> (Option<ContentMD5>, [Option<String>; 5], Option<String>);
}

macro_rules! has_digests {
    ($($input:ty),*) => {$(
        impl HasDigests for $input {
            fn digests(&mut self) -> (Option<ContentMD5>, [Option<String>; 5], Option<String>) {
                let given = [
                    self.checksum_crc32.take(),
                    self.checksum_crc32c.take(),
                    self.checksum_crc64nvme.take(),
                    self.checksum_sha1.take(),
                    self.checksum_sha256.take(),
                ];
                let named = self.checksum_algorithm.take();
                (self.content_md5.take(), given, named.map(|named| named.as_str().to_owned()))
            }
        }
    )*};
}

has_digests!(PutObjectInput, UploadPartInput);

/// An algorithm by its name, in any case.
pub(super) fn algorithm_of(name: &str) -> S3Result<&'static str> {
    let mut known = ALGORITHMS.into_iter();
    known.find(|known| known.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let message =
            format!("checksum algorithm: expected {}, found {name}", ALGORITHMS.join(", "));
        refusal(S3ErrorCode::InvalidRequest, message)
    })
}

/// The sums by some of the algorithms.
fn hasher(is_due: [bool; 5]) -> ChecksumHasher {
    ChecksumHasher {
        crc32: is_due[0].then(Crc32::new),
        crc32c: is_due[1].then(Crc32c::new),
        crc64nvme: is_due[2].then(Crc64Nvme::new),
        sha1: is_due[3].then(Sha1::new),
        sha256: is_due[4].then(Sha256::new),
    }
}

impl Digests {
    /// The checksums of a request.
    pub(super) fn of<T: HasDigests>(request: &mut S3Request<T>) -> Self {
        let (md5, given, named) = request.input.digests();
        // The library takes an empty one for none.
        let md5 = md5.or_else(|| request.headers.get("content-md5").map(|_| String::new()));
        let trailer = request.headers.get("x-amz-trailer").and_then(|value| value.to_str().ok());
        let trailer = trailer.unwrap_or_default().to_ascii_lowercase();
        let named = |at: usize| {
            named.as_deref().is_some_and(|named| named.eq_ignore_ascii_case(ALGORITHMS[at]))
        };
        let is_in_trailer: [bool; 5] =
            std::array::from_fn(|at| trailer.split(',').any(|name| name.trim() == header(at)));
        let is_due =
            std::array::from_fn(|at| given[at].is_some() || is_in_trailer[at] || named(at));
        let hasher = hasher(is_due);
        let trailers = request.trailing_headers.clone();
        Self { hasher, md5, given, is_in_trailer, trailers }
    }

    /// The checksum that the client wants computed, if it names an algorithm.
    pub(super) fn asked(algorithm: Option<&str>) -> S3Result<Self> {
        let algorithm = algorithm.map(algorithm_of).transpose()?;
        let is_asked = std::array::from_fn(|at| algorithm == Some(ALGORITHMS[at]));
        Ok(Self {
            hasher: hasher(is_asked),
            md5: None,
            given: Default::default(),
            is_in_trailer: [false; 5],
            trailers: None,
        })
    }

    /// Takes bytes of the body.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// Compares after the whole body; returns the checksum to keep.
    pub(super) fn verify(self, md5: &[u8; 16]) -> S3Result<Option<Checksum>> {
        if let Some(expected) = &self.md5 {
            let expected = base64_simd::STANDARD.decode_to_vec(expected.as_bytes());
            let Ok(expected) =
                expected.map_err(drop).and_then(|bytes| <[u8; 16]>::try_from(bytes).map_err(drop))
            else {
                return Err(refusal(S3ErrorCode::InvalidDigest, "Content-MD5: expected 16 bytes"));
            };
            if expected != *md5 {
                let message = "Content-MD5: expected the MD5 of the body, found another one";
                return Err(refusal(S3ErrorCode::BadDigest, message));
            }
        }
        let found = self.hasher.finalize();
        let found = [
            found.checksum_crc32,
            found.checksum_crc32c,
            found.checksum_crc64nvme,
            found.checksum_sha1,
            found.checksum_sha256,
        ];
        let mut kept = None;
        for (at, found) in found.into_iter().enumerate() {
            let Some(found) = found else { continue };
            let after = self.trailers.as_ref().and_then(|trailers| {
                trailers.read(|headers| {
                    let value = headers.get(header(at)).and_then(|value| value.to_str().ok());
                    value.map(str::to_owned)
                })
            });
            let after = after.flatten();
            if self.is_in_trailer[at] && after.is_none() {
                return Err(malformed_trailer(format!("expected {} after the body", header(at))));
            }
            if let Some(expected) = self.given[at].clone().or(after)
                && expected != found
            {
                let (name, code) = (header(at), S3ErrorCode::BadDigest);
                return Err(refusal(code, format!("{name}: expected {expected}, found {found}")));
            }
            kept.get_or_insert(Checksum { algorithm: ALGORITHMS[at].into(), value: found });
        }
        Ok(kept)
    }
}

fn malformed_trailer(message: String) -> S3Error {
    let mut error = refusal(S3ErrorCode::Custom("MalformedTrailerError".into()), message);
    error.set_status_code(StatusCode::BAD_REQUEST);
    error
}

fn header(at: usize) -> String {
    format!("x-amz-checksum-{}", ALGORITHMS[at].to_ascii_lowercase())
}

/// Sets the checksum of an object or a part in an answer.
macro_rules! set_checksum {
    ($output:expr, $checksum:expr) => {
        if let Some(checksum) = $checksum {
            let value = Some(checksum.value.clone());
            match checksum.algorithm.as_str() {
                "CRC32" => $output.checksum_crc32 = value,
                "CRC32C" => $output.checksum_crc32c = value,
                "CRC64NVME" => $output.checksum_crc64nvme = value,
                "SHA1" => $output.checksum_sha1 = value,
                "SHA256" => $output.checksum_sha256 = value,
                _ => {}
            }
        }
    };
}
pub(super) use set_checksum;
