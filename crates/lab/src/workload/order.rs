//! [`Order`]: the numbers below a count, each once, in an order that looks random. It needs no
//! table.
//!
//! 1. A bijection of the numbers below a power of two, at least 2 and not less than the count: add
//!    an offset; then, twice, multiply by an odd factor and xor with the result shifted right.
//!    Offset and factors come from the seed.
//! 2. If the result is not below the count, apply the bijection again, until it is (*cycle
//!    walking*: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002, section 4).

use terrace_env::random::{Random, RngCore};

/// An order of the numbers below a count.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    count: u64,
    bits: u32,
    factors: [u64; 2],
    offset: u64,
}

impl Order {
    /// The order of this seed.
    #[must_use]
    pub fn seeded(seed: u64, count: u64) -> Self {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        let mut random = Random::seeded(seed);
        // With an odd factor, multiplication modulo a power of two loses nothing.
        let factors = [random.next_u64() | 1, random.next_u64() | 1];
        Self { count, bits: bits.max(1), factors, offset: random.next_u64() }
    }

    /// The number at a place of the order.
    ///
    /// # Panics
    /// When the place is not below the count.
    #[must_use]
    pub fn at(&self, place: u64) -> u64 {
        assert!(place < self.count, "place {place} of {}", self.count);
        let mut number = place;
        loop {
            number = self.step(number);
            if number < self.count {
                return number;
            }
        }
    }

    fn step(&self, number: u64) -> u64 {
        let mask = u64::MAX >> (64 - self.bits);
        let shift = self.bits.div_ceil(2);
        let mut word = number.wrapping_add(self.offset) & mask;
        for factor in self.factors {
            word = word.wrapping_mul(factor) & mask;
            // `shift` is at least 1, so this can be undone from the top.
            word ^= word >> shift;
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for count in [1, 2, 3, 5, 64, 65, 1000] {
            let order = Order::seeded(count, count);
            let mut numbers: Vec<_> = (0..count).map(|place| order.at(place)).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn neighbours_are_apart_and_seeds_differ() {
        let (order, other) = (Order::seeded(1, 100_000), Order::seeded(2, 100_000));
        let near = (1..1000).filter(|place| order.at(*place).abs_diff(order.at(place - 1)) < 100);
        assert!(near.count() < 50);
        assert!((0..1000).filter(|place| order.at(*place) == other.at(*place)).count() < 50);
    }
}
