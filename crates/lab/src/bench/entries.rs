//! Keys and values by number.
//!
//! A key is its number in eight bytes, most significant first, filled up with `0` - as RocksDB's
//! `db_bench` has it; an *absent* key, which is never written, lies right behind a present one. A
//! value is told by seed, number and generation: a head that says the generation and a check of all
//! three, and behind it a stretch of a pool of random bytes. Making and verifying one therefore
//! costs a copy and a comparison, so that the store is measured and not the generator. Values do
//! not compress.

use terrace_env::random::{Random, RngCore};

/// The shortest key: the number, and a byte that tells present from absent.
pub const KEY_SIZE_MIN: usize = 9;
/// The shortest value: its head.
pub const VALUE_SIZE_MIN: usize = HEAD;
/// The longest value; above, the pool would not be random enough for its size.
pub const VALUE_SIZE_MAX: usize = 16 << 20;

/// Generation and check, four bytes each.
const HEAD: usize = 8;
/// Where in the pool a value's bytes can begin.
const STARTS: usize = 1 << 20;
const PRESENT: u8 = b'0';
const ABSENT: u8 = b'5';

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It has not the size that all have.
    Size(usize),
    /// Its head is not that of this entry.
    Head,
    /// This byte of it is not what was written.
    Byte(usize),
}

/// The entries of a run.
#[derive(Debug)]
pub struct Entries {
    seed: u64,
    key_size: usize,
    value_size: usize,
    pool: Vec<u8>,
}

impl Entries {
    /// Keys and values of these sizes.
    ///
    /// # Panics
    /// When a size is outside of the limits of this module.
    #[must_use]
    pub fn new(seed: u64, key_size: usize, value_size: usize) -> Self {
        assert!(key_size >= KEY_SIZE_MIN, "keys of {key_size} bytes");
        assert!((VALUE_SIZE_MIN..=VALUE_SIZE_MAX).contains(&value_size), "{value_size} bytes");
        let mut pool = vec![0; STARTS + value_size];
        Random::seeded(seed).fill_bytes(&mut pool);
        Self { seed, key_size, value_size, pool }
    }

    /// Bytes of a key and a value.
    #[must_use]
    pub fn entry_size(&self) -> u64 {
        (self.key_size + self.value_size) as u64
    }

    /// The key of an entry.
    pub fn key(&self, number: u64, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(&number.to_be_bytes());
        into.resize(self.key_size, PRESENT);
    }

    /// A key that no entry has, between those of this entry and the next.
    pub fn absent_key(&self, number: u64, into: &mut Vec<u8>) {
        self.key(number, into);
        into[self.key_size - 1] = ABSENT;
    }

    /// The number of a key, if it is one of an entry.
    #[must_use]
    pub fn number(&self, key: &[u8]) -> Option<u64> {
        let (number, fill) = key.split_first_chunk::<8>()?;
        let whole = key.len() == self.key_size && fill.iter().all(|byte| *byte == PRESENT);
        whole.then(|| u64::from_be_bytes(*number))
    }

    /// The value that an entry has in a generation.
    pub fn value(&self, number: u64, generation: u32, into: &mut Vec<u8>) {
        let mixed = self.mix(number, generation);
        into.clear();
        into.extend_from_slice(&generation.to_le_bytes());
        into.extend_from_slice(&check(mixed));
        into.extend_from_slice(self.body(mixed));
    }

    /// Verifies a value, and tells its generation.
    pub fn verify(&self, number: u64, value: &[u8]) -> Result<u32, Wrong> {
        if value.len() != self.value_size {
            return Err(Wrong::Size(value.len()));
        }
        let (head, found) = value.split_at(HEAD);
        let generation = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let mixed = self.mix(number, generation);
        if head[4..] != check(mixed) {
            return Err(Wrong::Head);
        }
        let expected = self.body(mixed);
        if found == expected {
            return Ok(generation);
        }
        let at = found.iter().zip(expected).position(|(found, expected)| found != expected);
        Err(Wrong::Byte(HEAD + at.unwrap_or(0)))
    }

    fn body(&self, mixed: u64) -> &[u8] {
        let start = mixed as usize % STARTS;
        &self.pool[start..start + self.value_size - HEAD]
    }

    /// SplitMix64's finish over all that a value is told by.
    fn mix(&self, number: u64, generation: u32) -> u64 {
        let mut word = self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = word.wrapping_add(u64::from(generation).wrapping_mul(0xd1b5_4a32_d192_ed03));
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// The upper half; the lower one says where in the pool the bytes begin.
fn check(mixed: u64) -> [u8; 4] {
    ((mixed >> 32) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_verifies_as_what_it_is_and_as_nothing_else() {
        let entries = Entries::new(1, 16, 128);
        let mut value = Vec::new();
        for (number, generation) in [(0, 1), (0, 2), (7, 1), (u64::MAX, u32::MAX)] {
            entries.value(number, generation, &mut value);
            assert_eq!(value.len(), 128);
            assert_eq!(entries.verify(number, &value), Ok(generation));
            assert_eq!(entries.verify(number ^ 1, &value), Err(Wrong::Head));
        }
        assert_eq!(Entries::new(2, 16, 128).verify(u64::MAX, &value), Err(Wrong::Head));
    }

    #[test]
    fn every_corrupted_byte_is_noticed() {
        let entries = Entries::new(1, 16, 100);
        let mut value = Vec::new();
        entries.value(5, 3, &mut value);
        for at in 0..value.len() {
            value[at] ^= 0x10;
            let expected = if at < HEAD { Wrong::Head } else { Wrong::Byte(at) };
            assert_eq!(entries.verify(5, &value), Err(expected), "byte {at}");
            value[at] ^= 0x10;
        }
        assert_eq!(entries.verify(5, &value[..99]), Err(Wrong::Size(99)));
        assert_eq!(entries.verify(5, &[]), Err(Wrong::Size(0)));
    }

    #[test]
    fn keys_sort_like_their_numbers_and_absent_ones_lie_between() {
        let entries = Entries::new(1, KEY_SIZE_MIN, VALUE_SIZE_MIN);
        let (mut low, mut between, mut high) = (Vec::new(), Vec::new(), Vec::new());
        for number in [0, 1, 255, 256, 70_000] {
            entries.key(number, &mut low);
            entries.absent_key(number, &mut between);
            entries.key(number + 1, &mut high);
            assert!(low < between && between < high, "{number}");
            assert_eq!(entries.number(&low), Some(number));
            assert_eq!(entries.number(&between), None);
        }
        assert_eq!(entries.number(b"short"), None);
    }
}
