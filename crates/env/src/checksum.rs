//! CRC32C (Castagnoli), by the processor's instruction where there is one.
//!
//! A format can *bind* a checksum to its place: the checksum also covers the store's UUID or an
//! epoch, for example, by [`crc32c_append`]. Then bytes of another store, or of an earlier life of
//! a zone, do not verify, except by a chance of one in 2^32. A checksum finds damage, not forgery.

/// The CRC32C of `bytes`.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The CRC32C of what `crc` was computed over, followed by `bytes`.
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
