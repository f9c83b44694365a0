//! [`Entries`]: the keys and values of records, by number.
//!
//! A *key* begins with eight bytes, most significant first: the record's number, or the number
//! scattered ([`KeyOrder`]). It is padded with `0`, as in RocksDB's `db_bench`. An *absent* key is
//! one that is never written and comes right after a record's key.
//!
//! A *value* follows from the seed, the record, its generation and the size. It has a head with the
//! generation and a check of all four, and then bytes from a pool of random bytes. So making or
//! verifying a value is one copy or comparison. Values hardly compress, unless they are [made
//! to](Entries::compressible_to).
//!
//! Sizes outside of this module's limits panic: those of keys, and the largest of values, when
//! [`Entries`] are made, that of a value when it is made. Verifying a value never panics.

use terrace_env::random::{Random, RngCore};

use super::sizes::Sizes;

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
/// Bytes of which the first ones are repeated, where values can be compressed: `db_bench`'s.
const PIECE: usize = 100;
const PRESENT: u8 = b'0';
const ABSENT: u8 = b'5';

/// Fault of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The value is shorter or longer than any can be.
    Size(usize),
    /// The head of the value is not that of this record in this size.
    Head,
    /// This byte of the value differs from the written one.
    Byte(usize),
}

/// Where in the order of keys records lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// In the order of their numbers: those of `db_bench`.
    Numbered,
    /// As though by chance, so that records that are inserted one after the other lie apart: YCSB's
    /// `insertorder=hashed`, its default. No two share a place.
    Hashed,
}

impl KeyOrder {
    /// Both orders.
    pub const ALL: [Self; 2] = [Self::Numbered, Self::Hashed];

    /// The order's name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Numbered => "numbered",
            Self::Hashed => "hashed",
        }
    }

    /// Where a record lies.
    #[must_use]
    pub fn place(self, number: u64) -> u64 {
        match self {
            Self::Numbered => number,
            Self::Hashed => scatter(number),
        }
    }

    /// The record that lies there.
    #[must_use]
    pub fn number(self, place: u64) -> u64 {
        match self {
            Self::Numbered => place,
            Self::Hashed => gather(place),
        }
    }
}

/// The records of a run.
#[derive(Debug)]
pub struct Entries {
    seed: u64,
    keys: Sizes,
    order: KeyOrder,
    value_size_max: usize,
    pool: Vec<u8>,
}

impl Entries {
    /// Keys of these sizes, and values of up to `value_size_max` bytes. The size of a record's key
    /// is drawn once and for all, that of a value anew for each write.
    ///
    /// # Panics
    /// When a size is outside of the limits of this module.
    #[must_use]
    pub fn new(seed: u64, keys: Sizes, order: KeyOrder, value_size_max: usize) -> Self {
        assert!(keys.min() as usize >= KEY_SIZE_MIN, "keys of {keys} bytes");
        assert!((VALUE_SIZE_MIN..=VALUE_SIZE_MAX).contains(&value_size_max), "{value_size_max}");
        let mut pool = vec![0; STARTS + value_size_max];
        Random::seeded(seed).fill_bytes(&mut pool);
        Self { seed, keys, order, value_size_max, pool }
    }

    /// These entries with values that can be compressed to about this percentage of their bytes, as
    /// those of `db_bench` are: each piece of 100 bytes repeats its beginning.
    ///
    /// # Panics
    /// When the percentage is not 1 to 100.
    #[must_use]
    pub fn compressible_to(mut self, percent: u8) -> Self {
        assert!((1..=100).contains(&percent), "values of {percent} %");
        for piece in self.pool.chunks_mut(PIECE) {
            let fresh = (PIECE * usize::from(percent) / 100).max(1);
            for at in fresh..piece.len() {
                piece[at] = piece[at - fresh];
            }
        }
        self
    }

    /// Where in the order of keys records lie.
    #[must_use]
    pub fn order(&self) -> KeyOrder {
        self.order
    }

    /// The sizes that values can have.
    #[must_use]
    pub fn value_sizes(&self) -> std::ops::RangeInclusive<usize> {
        VALUE_SIZE_MIN..=self.value_size_max
    }

    /// The size of a record's key.
    #[must_use]
    pub fn key_size(&self, number: u64) -> usize {
        let size = match self.keys {
            Sizes::Constant(size) => size,
            drawn => drawn.draw(&mut Random::seeded(self.seed ^ scatter(number))),
        };
        size as usize
    }

    /// The key of a record.
    pub fn key(&self, number: u64, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(&self.order.place(number).to_be_bytes());
        into.resize(self.key_size(number), PRESENT);
    }

    /// A key that no record has, right after that of this one.
    pub fn absent_key(&self, number: u64, into: &mut Vec<u8>) {
        self.key(number, into);
        let last = into.len() - 1;
        into[last] = ABSENT;
    }

    /// The record that a key belongs to, if it is one.
    #[must_use]
    pub fn number(&self, key: &[u8]) -> Option<u64> {
        let (place, fill) = key.split_first_chunk::<8>()?;
        let number = self.order.number(u64::from_be_bytes(*place));
        let whole = key.len() == self.key_size(number) && fill.iter().all(|byte| *byte == PRESENT);
        whole.then_some(number)
    }

    /// The value of `size` bytes that a record has in a generation.
    ///
    /// # Panics
    /// When values cannot have this size: see [`Entries::value_sizes`].
    pub fn value(&self, number: u64, generation: u32, size: usize, into: &mut Vec<u8>) {
        assert!(self.value_sizes().contains(&size), "a value of {size} bytes");
        let mixed = self.mix(number, generation, size);
        into.clear();
        into.extend_from_slice(&generation.to_le_bytes());
        into.extend_from_slice(&check(mixed));
        into.extend_from_slice(self.body(mixed, size));
    }

    /// Verifies a value, and tells its generation.
    pub fn verify(&self, number: u64, value: &[u8]) -> Result<u32, Wrong> {
        if !self.value_sizes().contains(&value.len()) {
            return Err(Wrong::Size(value.len()));
        }
        let (head, found) = value.split_at(HEAD);
        let generation = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let mixed = self.mix(number, generation, value.len());
        if head[4..] != check(mixed) {
            return Err(Wrong::Head);
        }
        let expected = self.body(mixed, value.len());
        if found == expected {
            return Ok(generation);
        }
        let at = found.iter().zip(expected).position(|(found, expected)| found != expected);
        Err(Wrong::Byte(HEAD + at.unwrap_or(0)))
    }

    fn body(&self, mixed: u64, size: usize) -> &[u8] {
        let start = mixed as usize % STARTS;
        &self.pool[start..start + size - HEAD]
    }

    fn mix(&self, number: u64, generation: u32, size: usize) -> u64 {
        let mut word = self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = word.wrapping_add(u64::from(generation).wrapping_mul(0xd1b5_4a32_d192_ed03));
        scatter(word.wrapping_add((size as u64).wrapping_mul(0x8cb9_2ba7_2f3d_8dd7)))
    }
}

/// The finalizer of SplitMix64: each word once.
fn scatter(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Undoes [`scatter`], from its end: with the inverses of its factors, and each shift repeated
/// until it has gone through the word.
fn gather(mut word: u64) -> u64 {
    word = word ^ (word >> 31) ^ (word >> 62);
    word = word.wrapping_mul(0x3196_42b2_d24d_8ec3);
    word = word ^ (word >> 27) ^ (word >> 54);
    word = word.wrapping_mul(0x96de_1b17_3f11_9089);
    word ^ (word >> 30) ^ (word >> 60)
}

/// The upper half; the lower one says where in the pool the bytes begin.
fn check(mixed: u64) -> [u8; 4] {
    ((mixed >> 32) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(order: KeyOrder) -> Entries {
        Entries::new(1, Sizes::Constant(16), order, 200)
    }

    #[test]
    fn a_value_verifies_as_what_it_is_and_as_nothing_else() {
        let entries = entries(KeyOrder::Numbered);
        let mut value = Vec::new();
        for (number, generation) in [(0, 1), (0, 2), (7, 1), (u64::MAX, u32::MAX)] {
            entries.value(number, generation, 128, &mut value);
            assert_eq!(value.len(), 128);
            assert_eq!(entries.verify(number, &value), Ok(generation));
            assert_eq!(entries.verify(number ^ 1, &value), Err(Wrong::Head));
            assert_eq!(entries.verify(number, &value[..127]), Err(Wrong::Head));
        }
        let other = Entries::new(2, Sizes::Constant(16), KeyOrder::Numbered, 200);
        assert_eq!(other.verify(u64::MAX, &value), Err(Wrong::Head));
    }

    #[test]
    fn every_corrupted_byte_is_noticed() {
        let entries = entries(KeyOrder::Numbered);
        let mut value = Vec::new();
        entries.value(5, 3, 100, &mut value);
        for at in 0..value.len() {
            value[at] ^= 0x10;
            let expected = if at < HEAD { Wrong::Head } else { Wrong::Byte(at) };
            assert_eq!(entries.verify(5, &value), Err(expected), "byte {at}");
            value[at] ^= 0x10;
        }
        assert_eq!(entries.verify(5, &[]), Err(Wrong::Size(0)));
        assert_eq!(entries.verify(5, &[0; 201]), Err(Wrong::Size(201)));
    }

    #[test]
    fn values_repeat_what_was_asked_for_and_still_differ() {
        let [whole, half] = [100, 50].map(|percent| {
            let entries = Entries::new(1, Sizes::Constant(20), KeyOrder::Numbered, 408);
            let entries = entries.compressible_to(percent);
            let (mut repeated, mut value) = (0, Vec::new());
            for number in 0..100 {
                entries.value(number, 1, 408, &mut value);
                assert_eq!(entries.verify(number, &value), Ok(1));
                assert_eq!(entries.verify(number + 1, &value), Err(Wrong::Head));
                let body = &value[HEAD..];
                repeated += (50..400).filter(|at| body[*at] == body[*at - 50]).count();
            }
            repeated as f64 / (100.0 * 350.0)
        });
        assert!(whole < 0.02 && (0.4..0.6).contains(&half), "{whole} and {half}");
    }

    #[test]
    fn a_value_is_the_same_however_large_others_can_be() {
        let (mut small, mut large) = (Vec::new(), Vec::new());
        entries(KeyOrder::Numbered).value(9, 2, 150, &mut small);
        let entries = Entries::new(1, Sizes::Uniform(9, 40), KeyOrder::Hashed, 100_000);
        entries.value(9, 2, 150, &mut large);
        assert_eq!(small, large);
    }

    #[test]
    fn keys_sort_like_their_numbers_and_absent_ones_lie_between() {
        let keys = Sizes::Uniform(KEY_SIZE_MIN as u32, 40);
        let entries = Entries::new(1, keys, KeyOrder::Numbered, VALUE_SIZE_MIN);
        let (mut low, mut between, mut high) = (Vec::new(), Vec::new(), Vec::new());
        for number in [0, 1, 255, 256, 70_000] {
            entries.key(number, &mut low);
            entries.absent_key(number, &mut between);
            entries.key(number + 1, &mut high);
            assert!(low < between && between < high, "{number}");
            assert_eq!(low.len(), entries.key_size(number));
            assert_eq!(entries.number(&low), Some(number));
            assert_eq!(entries.number(&between), None);
            low.push(PRESENT);
            assert_eq!(entries.number(&low), None, "of another size");
        }
        assert_eq!(entries.number(b"short"), None);
    }

    #[test]
    fn scattered_keys_are_found_again_and_lie_apart() {
        let entries = entries(KeyOrder::Hashed);
        let (mut key, mut keys) = (Vec::new(), Vec::new());
        for number in (0..1_000).chain([u64::MAX - 1, u64::MAX]) {
            entries.key(number, &mut key);
            assert_eq!(entries.number(&key), Some(number));
            keys.push(key.clone());
        }
        let rising = keys.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((400..600).contains(&rising), "{rising} of 1000 in order");
    }
}
