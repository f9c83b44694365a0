//! Numbers that look random and follow from a seed, for the moments at which tests strike.

/// A number that looks random, for each seed and index (SplitMix64).
pub(crate) fn mixed(seed: u64, index: u64) -> u64 {
    let mut number = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_seed_and_index() {
        let draw = |seed| [0, 1, 2, 3].map(|index| mixed(seed, index));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        // The first numbers of SplitMix64 for the seed 1234567.
        assert_eq!(mixed(1_234_567, 0), 6_457_827_717_110_365_317);
        assert_eq!(mixed(1_234_567, 1), 3_203_168_211_198_807_973);
    }
}
