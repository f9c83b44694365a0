//! Keys, values and orders of all loads, from a seed. Every engine gets the same ones.
//!
//! - A key has 16 bytes: a number in hexadecimal digits. Present keys have even numbers, absent
//!   keys the odd ones between them.
//! - A value tells its number and its generation in its first 12 bytes. The rest is a window of a
//!   random pool, chosen by both. So making a value is one copy, and verifying it one comparison.
//! - An order is a random permutation of the numbers.
//!
//! The costs of making and of verifying a value are part of every measurement.

/// A key.
pub(crate) type Key = [u8; 16];

/// Bytes of a value that tell its number and its generation.
const HEAD: usize = 12;
/// Number of windows into the pool; it stays in the cache of a processor.
const WINDOWS: u64 = 128 << 10;

/// The key of a number below `1 << 63`.
pub(crate) fn key(number: u64) -> Key {
    digits(number << 1)
}

/// An absent key, right after the key of the same number.
pub(crate) fn absent_key(number: u64) -> Key {
    digits((number << 1) | 1)
}

/// The number of a present key.
pub(crate) fn number_of(key: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(key).ok().filter(|text| text.len() == 16)?;
    let digits = u64::from_str_radix(text, 16).ok()?;
    (digits & 1 == 0).then_some(digits >> 1)
}

fn digits(number: u64) -> Key {
    let mut key = [0; 16];
    for (place, digit) in key.iter_mut().rev().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (4 * place)) as usize & 15];
    }
    key
}

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct Random(u64);

impl Random {
    /// Streams of different `stream` have nothing in common.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed ^ mix(stream)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// All numbers below `end`, in random order.
    pub(crate) fn order(&mut self, end: u64) -> Vec<u32> {
        let mut order: Vec<u32> = (0..end as u32).collect();
        for place in (1..order.len()).rev() {
            order.swap(place, self.below(place as u64 + 1) as usize);
        }
        order
    }
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Values of one size.
pub(crate) struct Values {
    pool: Vec<u8>,
    size: usize,
}

impl Values {
    /// `size` is at least 16.
    pub(crate) fn new(size: usize, seed: u64) -> Self {
        let mut random = Random::new(seed, 0);
        let words = (size + WINDOWS as usize) / 8 + 1;
        let pool = (0..words).flat_map(|_| random.next().to_le_bytes()).collect();
        Self { pool, size }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    fn window(&self, number: u64, generation: u32) -> &[u8] {
        let start = mix(number ^ (u64::from(generation) << 40)) % WINDOWS;
        &self.pool[start as usize..][..self.size - HEAD]
    }

    /// Puts the value in the place of the contents of `into`.
    pub(crate) fn make(&self, number: u64, generation: u32, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(&number.to_le_bytes());
        into.extend_from_slice(&generation.to_le_bytes());
        into.extend_from_slice(self.window(number, generation));
    }

    /// Whether `found` is the value of a number, of a generation in `generations`.
    pub(crate) fn check(
        &self,
        number: u64,
        generations: std::ops::RangeInclusive<u32>,
        found: &[u8],
    ) -> bool {
        let Some((head, rest)) = found.split_first_chunk::<HEAD>() else { return false };
        let [n0, n1, n2, n3, n4, n5, n6, n7, generation @ ..] = *head;
        let generation = u32::from_le_bytes(generation);
        u64::from_le_bytes([n0, n1, n2, n3, n4, n5, n6, n7]) == number
            && generations.contains(&generation)
            && rest == self.window(number, generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_their_numbers_and_absent_ones_lie_between() {
        assert_eq!(&key(0x5a), b"00000000000000b4");
        assert!(key(9) < absent_key(9) && absent_key(9) < key(10));
        assert_eq!(number_of(&key(1234)), Some(1234));
        assert_eq!(number_of(&absent_key(1234)), None);
    }

    #[test]
    fn a_value_is_known_and_no_other_one_is() {
        let values = Values::new(128, 1);
        let mut value = Vec::new();
        values.make(7, 3, &mut value);
        assert_eq!(value.len(), 128);
        assert!(values.check(7, 3..=3, &value) && values.check(7, 2..=4, &value));
        assert!(!values.check(8, 3..=3, &value) && !values.check(7, 4..=5, &value));
        value[127] ^= 1;
        assert!(!values.check(7, 3..=3, &value));
    }

    #[test]
    fn an_order_has_each_number_once() {
        let mut order = Random::new(1, 1).order(1000);
        assert_ne!(order[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1000));
    }
}
