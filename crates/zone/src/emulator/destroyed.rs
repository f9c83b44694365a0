//! [`destroyed`]: the bytes that destroyed blocks of shingled tracks read as. They look random, and
//! depend only on their byte offset on the device.
//!
//! They are not zeros, because a reader may take zeros for space that was never written. They match
//! a 32-bit checksum only by chance, about once in 2^32. The same offset gives the same bytes, so a
//! simulation repeats itself. The reasons are in docs/decisions/0024.

/// Bytes to a word, the unit of the pattern.
const WORD: u64 = 8;

/// Fills `into` with the bytes that a read returns for destroyed ones of a device, from `offset`
/// on. Offset and length are whole words of 8 bytes.
pub fn destroyed(offset: u64, into: &mut [u8]) {
    assert!(offset.is_multiple_of(WORD) && into.len().is_multiple_of(WORD as usize), "{offset}");
    for (word, bytes) in (offset / WORD..).zip(into.chunks_mut(WORD as usize)) {
        bytes.copy_from_slice(&mixed(word).to_le_bytes());
    }
}

/// The finaliser of SplitMix64: each bit of the number changes half of the result's.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_depend_on_their_address_alone_and_never_repeat() {
        let mut whole = vec![0; 8192];
        destroyed(4096, &mut whole);
        let mut part = vec![0; 512];
        destroyed(4096 + 1024, &mut part);
        assert_eq!(part, whole[1024..1536]);
        let words: std::collections::BTreeSet<&[u8]> = whole.chunks(8).collect();
        assert_eq!(words.len(), 1024);
        assert!(!words.contains(&[0; 8][..]));
    }
}
