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

/// The CRC32C of bytes whose checksum is `first`, followed by `len` bytes whose checksum is
/// `second`: for large bytes that have to be in several checksums. It takes less than a microsecond
/// for any length; that of `crc-fast` takes about twenty.
///
/// A checksum is a polynomial over the field of two elements, modulo that of Castagnoli. Bytes that
/// follow multiply it by a power of `x`, eight for each byte (M. Adler, `crc32_combine` of zlib).
#[must_use]
pub fn crc32c_combine(first: u32, second: u32, len: u64) -> u32 {
    assert!(len <= u64::MAX >> 3, "{len} bytes");
    let (mut bits, mut power) = (len << 3, ONE);
    for square in SQUARES {
        if bits & 1 == 1 {
            power = product(power, square);
        }
        bits >>= 1;
        if bits == 0 {
            break;
        }
    }
    product(power, first) ^ second
}

/// The polynomial of Castagnoli without its highest power. The lowest power is the highest bit.
const CASTAGNOLI: u32 = 0x82f6_3b78;
/// The polynomials 1 and `x`.
const ONE: u32 = 1 << 31;
const X: u32 = 1 << 30;

/// Powers of `x`: 1, 2, 4, 8 and so on.
const SQUARES: [u32; 64] = {
    let mut squares = [X; 64];
    let mut at = 1;
    while at < squares.len() {
        squares[at] = product(squares[at - 1], squares[at - 1]);
        at += 1;
    }
    squares
};

/// The product of two polynomials modulo that of Castagnoli.
const fn product(one: u32, mut other: u32) -> u32 {
    let (mut rest, mut sum) = (one, 0);
    while rest != 0 {
        if rest & ONE != 0 {
            sum ^= other;
        }
        rest <<= 1;
        other = if other & 1 == 1 { other >> 1 ^ CASTAGNOLI } else { other >> 1 };
    }
    sum
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

    #[test]
    fn checksums_of_two_parts_make_that_of_both() {
        let bytes: Vec<u8> = (0..70_000).map(|i| (i * 7 % 251) as u8).collect();
        for (len, at) in [(0, 0), (1, 0), (1, 1), (32, 7), (4096, 4095), (70_000, 1234)] {
            let (front, back) = bytes[..len].split_at(at);
            let both = crc32c_combine(crc32c(front), crc32c(back), back.len() as u64);
            assert_eq!(both, crc32c(&bytes[..len]), "{len} bytes, cut at {at}");
        }
    }
}
