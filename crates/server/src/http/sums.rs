//! [`Sums`]: the checksums that a request gives in its headers for a document in XML, and those of
//! the bytes that came.
//!
//! A body in signed chunks is not looked at: its checksums are those of the content of the chunks.

use hyper::header::HeaderMap;
use s3s::checksum::ChecksumHasher;
use s3s::crypto::{Checksum as _, Crc32, Crc32c, Crc64Nvme, Md5, Sha1, Sha256};

/// See the [module](self).
pub(super) struct Sums {
    hasher: ChecksumHasher,
    md5: Md5,
    /// Given for MD5, and then in the order of [`HEADERS`].
    given: [Option<String>; 6],
}

/// The headers.
const HEADERS: [&str; 6] = [
    "content-md5",
    "x-amz-checksum-crc32",
    "x-amz-checksum-crc32c",
    "x-amz-checksum-crc64nvme",
    "x-amz-checksum-sha1",
    "x-amz-checksum-sha256",
];

impl Sums {
    /// The checksums of a request, if it gives any.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if text("x-amz-content-sha256").is_some_and(|digest| digest.starts_with("STREAMING-")) {
            return None;
        }
        let given = HEADERS.map(|name| text(name).map(str::to_owned));
        given.iter().any(Option::is_some).then(|| Self {
            hasher: ChecksumHasher {
                crc32: given[1].is_some().then(Crc32::new),
                crc32c: given[2].is_some().then(Crc32c::new),
                crc64nvme: given[3].is_some().then(Crc64Nvme::new),
                sha1: given[4].is_some().then(Sha1::new),
                sha256: given[5].is_some().then(Sha256::new),
            },
            md5: Md5::new(),
            given,
        })
    }

    /// Takes bytes of the body.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.md5.update(bytes);
    }

    /// Whether the bytes have the checksums that were given.
    pub(super) fn agree(self) -> bool {
        let found = self.hasher.finalize();
        let found = [
            Some(base64_simd::STANDARD.encode_to_string(self.md5.finalize())),
            found.checksum_crc32,
            found.checksum_crc32c,
            found.checksum_crc64nvme,
            found.checksum_sha1,
            found.checksum_sha256,
        ];
        self.given.iter().zip(&found).all(|(given, found)| given.is_none() || given == found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_checksum_is_compared_and_none_needed() {
        let agree = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let mut sums = Sums::of(&headers)?;
            sums.update(b"1234");
            sums.update(b"56789");
            Some(sums.agree())
        };
        for (name, value) in [
            ("content-md5", "JfnnlDI7RTiF9RgfG2JNCw=="),
            ("x-amz-checksum-crc32", "y/Q5Jg=="),
            ("x-amz-checksum-crc32c", "4waSgw=="),
            ("x-amz-checksum-crc64nvme", "rosUhgp5mIg="),
            ("x-amz-checksum-sha1", "98O8HYCOBHMq32eZZczDTKeuNEE="),
            ("x-amz-checksum-sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
        ] {
            let other =
                value.replacen(&value[..1], if value.starts_with('A') { "B" } else { "A" }, 1);
            assert_eq!(agree(name, value), Some(true), "{name}");
            assert_eq!(agree(name, &other), Some(false), "{name}");
        }
        assert_eq!(agree("range", "bytes=0-1"), None);
    }
}
