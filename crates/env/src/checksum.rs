//! The checksum CRC32C (polynomial of Castagnoli), computed by the `crc32c` crate.
//!
//! [`crc32c_append`] can bind a checksum to a store or an epoch: begin with the store's UUID or the
//! epoch, and append the bytes. Then the checksum of bytes that belong to another store or epoch
//! does not match, but for a chance of about one in 2^32. A checksum finds damage. It does not
//! protect against forgery.

/// The CRC32C of `bytes`.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The CRC32C of the bytes of `crc`, followed by `bytes`.
#[must_use]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
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
