//! The checksum CRC32C (polynomial of Castagnoli), computed by the `crc-fast` crate.
//!
//! [`crc32c_append`] can bind a checksum to a store or an epoch: begin with the store's UUID or the
//! epoch, and append the bytes. Then the checksum of bytes that belong to another store or epoch
//! does not match, but for a chance of about one in 2^32. A checksum finds damage. It does not
//! protect against forgery.

use crc_fast::{CrcAlgorithm, Digest};

/// The CRC32C of `bytes`.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The CRC32C of the bytes of `crc`, followed by `bytes`.
#[must_use]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    // The state of a computation is the inverse of its result.
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!crc));
    digest.update(bytes);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, appendix B.4.
    #[test]
    fn the_standard_vectors_hold() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
        assert_eq!(crc32c_append(crc32c(&ascending[..7]), &ascending[7..]), 0x46dd_794e);
    }
}
