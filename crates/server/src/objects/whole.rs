//! [`Whole`]: the checksum that a completion gives for its object, compared with those of the
//! parts. No byte of the parts is read.
//!
//! - A *composite* checksum is that of the checksums of the parts, one after the other. The number
//!   of parts may follow it, as in `AAAAAA==-2`.
//! - A *full* one is that of the bytes of the object. A CRC follows from those of the parts and
//!   their sizes.
//!
//! A completion that does not say its kind may have either. All parts must have been given a
//! checksum of the same algorithm. The object keeps none.

use base64_simd::STANDARD;
use crc_fast::{CrcAlgorithm, checksum_combine};
use s3s::crypto::{Checksum as _, Crc32, Crc32c, Sha1, Sha256};

use super::Fault;
use super::record::Checksum;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Whole {
    /// Algorithm and value.
    pub checksum: Checksum,
    /// Whether it is a full one, if the client says its kind.
    pub is_full: Option<bool>,
}

impl Whole {
    /// Compares with the checksums and sizes of the parts, in order.
    pub(super) fn verify(&self, parts: &[(Option<Checksum>, u64)]) -> Result<(), Fault> {
        let Checksum { algorithm, value } = &self.checksum;
        let mut sums = Vec::with_capacity(parts.len());
        for (checksum, size) in parts {
            let of = checksum.as_ref().filter(|one| one.algorithm == *algorithm);
            let sum = of.and_then(|one| STANDARD.decode_to_vec(&one.value).ok());
            let sum = sum.ok_or_else(|| Fault::NoPartChecksum(algorithm.clone()))?;
            sums.push((sum, *size));
        }
        let (value, has_count) = match value.strip_suffix(&format!("-{}", parts.len())) {
            Some(value) => (value, true),
            None => (value.as_str(), false),
        };
        let is_composite =
            self.is_full != Some(true) && composite(algorithm, &sums) == Some(value.into());
        let is_full = self.is_full != Some(false) && full(algorithm, &sums) == Some(value.into());
        if is_composite || (is_full && !has_count) {
            return Ok(());
        }
        Err(Fault::WrongChecksum(self.checksum.value.clone()))
    }
}

/// The checksum of the checksums. There is none of CRC64NVME in S3.
fn composite(algorithm: &str, sums: &[(Vec<u8>, u64)]) -> Option<String> {
    let all: Vec<u8> = sums.iter().flat_map(|(sum, _)| sum).copied().collect();
    Some(match algorithm {
        "CRC32" => STANDARD.encode_to_string(Crc32::checksum(&all)),
        "CRC32C" => STANDARD.encode_to_string(Crc32c::checksum(&all)),
        "SHA1" => STANDARD.encode_to_string(Sha1::checksum(&all)),
        "SHA256" => STANDARD.encode_to_string(Sha256::checksum(&all)),
        _ => return None,
    })
}

/// The CRC of all bytes.
fn full(algorithm: &str, sums: &[(Vec<u8>, u64)]) -> Option<String> {
    let (crc, bytes) = match algorithm {
        "CRC32" => (CrcAlgorithm::Crc32IsoHdlc, 4),
        "CRC32C" => (CrcAlgorithm::Crc32Iscsi, 4),
        "CRC64NVME" => (CrcAlgorithm::Crc64Nvme, 8),
        _ => return None,
    };
    let number =
        |sum: &[u8]| sum.iter().fold(0u64, |number, &byte| (number << 8) | u64::from(byte));
    let mut parts = sums.iter().map(|(sum, size)| (number(sum), *size));
    let (first, _) = parts.next()?;
    let sum = parts.fold(first, |sum, (next, size)| checksum_combine(crc, sum, next, size));
    Some(STANDARD.encode_to_string(&sum.to_be_bytes()[8 - bytes..]))
}

#[cfg(test)]
mod tests {
    use s3s::crypto::Crc64Nvme;

    use super::*;

    const PARTS: [&[u8]; 3] = [b"1234", b"567", b"89"];

    fn verified(
        algorithm: &str,
        sum: impl Fn(&[u8]) -> Vec<u8>,
        value: &str,
        is_full: Option<bool>,
    ) -> bool {
        let of = |value: &str| Checksum { algorithm: algorithm.into(), value: value.into() };
        let encoded = |part: &[u8]| of(&STANDARD.encode_to_string(sum(part)));
        let parts = PARTS.map(|part| (Some(encoded(part)), part.len() as u64));
        Whole { checksum: of(value), is_full }.verify(&parts).is_ok()
    }

    #[test]
    fn a_full_checksum_follows_from_those_of_the_parts() {
        let crc32 = |part: &[u8]| Crc32::checksum(part).to_vec();
        let crc32c = |part: &[u8]| Crc32c::checksum(part).to_vec();
        let crc64 = |part: &[u8]| Crc64Nvme::checksum(part).to_vec();
        for is_full in [None, Some(true)] {
            assert!(verified("CRC32", crc32, "y/Q5Jg==", is_full));
            assert!(verified("CRC32C", crc32c, "4waSgw==", is_full));
            assert!(verified("CRC64NVME", crc64, "rosUhgp5mIg=", is_full));
        }
        for (value, is_full) in
            [("y/Q5Jg==", Some(false)), ("y/Q5Jg==-3", None), ("4waSgw==", None), ("", None)]
        {
            assert!(!verified("CRC32", crc32, value, is_full), "{value}");
        }
    }

    #[test]
    fn a_composite_checksum_is_that_of_the_checksums() {
        let crc32 = |part: &[u8]| Crc32::checksum(part).to_vec();
        let sha256 = |part: &[u8]| Sha256::checksum(part).to_vec();
        let value = STANDARD.encode_to_string(Crc32::checksum(&PARTS.map(crc32).concat()));
        let other = STANDARD.encode_to_string(Sha256::checksum(&PARTS.map(sha256).concat()));
        for is_full in [None, Some(false)] {
            assert!(verified("CRC32", crc32, &value, is_full));
            assert!(verified("CRC32", crc32, &format!("{value}-3"), is_full));
            assert!(verified("SHA256", sha256, &other, is_full));
        }
        assert!(!verified("CRC32", crc32, &value, Some(true)));
        assert!(!verified("CRC32", crc32, &format!("{value}-2"), None));
        assert!(!verified("SHA256", sha256, &value, None));
    }

    #[test]
    fn parts_without_a_checksum_of_the_algorithm_are_an_error() {
        let of =
            |algorithm: &str| Checksum { algorithm: algorithm.into(), value: "AAAAAA==".into() };
        let whole = Whole { checksum: of("CRC32"), is_full: None };
        for part in [None, Some(of("CRC32C"))] {
            let refused = whole.verify(&[(Some(of("CRC32")), 1), (part, 1)]);
            assert!(matches!(refused, Err(Fault::NoPartChecksum(_))));
        }
    }
}
