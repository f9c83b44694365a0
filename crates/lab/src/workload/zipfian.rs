//! [`Zipfian`]: Zipf's distribution. The item of rank `r` is drawn in proportion to `1 / r^theta`,
//! for a `theta` above 0 and below 1.
//!
//! The method is that of Gray and others ("Quickly generating billion-record synthetic databases",
//! SIGMOD 1994, section 3.2), as in YCSB's `ZipfianGenerator`: sum the terms of all ranks once,
//! then each draw takes constant time. It is approximate except for the first two ranks. When the
//! number of items grows, the new terms are added; the number cannot shrink.
//!
//! [`ScrambledZipfian`] scatters the popular items over all items, as YCSB's
//! `ScrambledZipfianGenerator` does: it draws one of ten billion ranks, and hashes it to an item.
//! The sum of its terms is a constant from YCSB.

use terrace_env::random::{Random, Rng};

/// Item 0 is the most popular, then 1, and so on.
#[derive(Clone, Debug)]
pub struct Zipfian {
    items: u64,
    theta: f64,
    /// The sum of `1 / r^theta` over all ranks.
    sum: f64,
    alpha: f64,
    eta: f64,
}

impl Zipfian {
    /// YCSB's constant.
    pub const THETA: f64 = 0.99;

    /// A distribution over `items` items.
    ///
    /// # Panics
    /// When there are none, or `theta` is not between 0 and 1.
    #[must_use]
    pub fn new(items: u64, theta: f64) -> Self {
        assert!(items > 0 && theta > 0.0 && theta < 1.0, "{items} items, theta {theta}");
        Self::with_sum(items, theta, partial_sum(0, items, theta))
    }

    fn with_sum(items: u64, theta: f64, sum: f64) -> Self {
        let of_two = partial_sum(0, 2, theta);
        let eta = (1.0 - (2.0 / items as f64).powf(1.0 - theta)) / (1.0 - of_two / sum);
        Self { items, theta, sum, alpha: 1.0 / (1.0 - theta), eta }
    }

    /// There are `items` now, not fewer than before.
    pub fn grow(&mut self, items: u64) {
        if items > self.items {
            let sum = self.sum + partial_sum(self.items, items, self.theta);
            *self = Self::with_sum(items, self.theta, sum);
        }
    }

    /// Draws an item.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let uniform: f64 = random.random();
        let scaled = uniform * self.sum;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5f64.powf(self.theta) {
            return 1.min(self.items - 1);
        }
        let rank = self.items as f64 * (self.eta * uniform - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.items - 1)
    }
}

/// The sum of `1 / r^theta` over the ranks after `from` up to `to`.
fn partial_sum(from: u64, to: u64, theta: f64) -> f64 {
    (from..to).map(|rank| 1.0 / ((rank + 1) as f64).powf(theta)).sum()
}

/// The same popularity, scattered over the items instead of falling from the first to the last:
/// YCSB's `ScrambledZipfianGenerator`, which draws from ten billion ranks and hashes the rank into
/// the items. So nothing is computed anew when there are more items.
#[derive(Clone, Debug)]
pub struct ScrambledZipfian {
    ranks: Zipfian,
}

impl ScrambledZipfian {
    const RANKS: u64 = 10_000_000_000;
    /// The sum over all ranks at YCSB's theta, as its source has it; too long to compute.
    const SUM: f64 = 26.469_028_201_783_02;

    /// At YCSB's theta.
    #[must_use]
    pub fn new() -> Self {
        Self { ranks: Zipfian::with_sum(Self::RANKS, Zipfian::THETA, Self::SUM) }
    }

    /// Draws one of `items` items.
    pub fn draw(&self, items: u64, random: &mut Random) -> u64 {
        fnv(self.ranks.draw(random)) % items
    }
}

impl Default for ScrambledZipfian {
    fn default() -> Self {
        Self::new()
    }
}

/// FNV-1a over the eight bytes, least significant first, made positive, as YCSB's `Utils.hash`.
fn fnv(mut word: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for _ in 0..8 {
        hash = (hash ^ (word & 0xff)).wrapping_mul(1_099_511_628_211);
        word >>= 8;
    }
    (hash as i64).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each item is drawn.
    fn counts(items: u64, draws: u64, mut draw: impl FnMut(&mut Random) -> u64) -> Vec<u64> {
        let (mut counts, random) = (vec![0; items as usize], &mut Random::seeded(1));
        for _ in 0..draws {
            counts[draw(random) as usize] += 1;
        }
        counts
    }

    #[test]
    fn items_are_drawn_in_proportion_to_their_rank() {
        let (items, draws) = (1_000, 400_000);
        let zipfian = Zipfian::new(items, Zipfian::THETA);
        let counts = counts(items, draws, |random| zipfian.draw(random));
        let sum = partial_sum(0, items, Zipfian::THETA);
        // The method is exact for the first two ranks, and approximates the others.
        for (rank, tolerance) in [(0, 0.03), (1, 0.03), (9, 0.25), (99, 0.25)] {
            let expected = draws as f64 / ((rank + 1) as f64).powf(Zipfian::THETA) / sum;
            let ratio = counts[rank] as f64 / expected;
            assert!((ratio - 1.0).abs() < tolerance, "rank {rank}: {ratio}");
        }
        let head: u64 = counts[..100].iter().sum();
        assert!((0.6..0.75).contains(&(head as f64 / draws as f64)), "{head}");
    }

    #[test]
    fn growing_is_the_same_as_beginning_with_more() {
        let mut grown = Zipfian::new(10, 0.5);
        grown.grow(1_000);
        let whole = Zipfian::new(1_000, 0.5);
        assert!((grown.sum - whole.sum).abs() < 1e-9 && (grown.eta - whole.eta).abs() < 1e-9);
        let mut random = Random::seeded(1);
        assert!((0..10_000).all(|_| grown.draw(&mut random) < 1_000));
        for items in 1..4 {
            let few = Zipfian::new(items, 0.99);
            assert!((0..1_000).all(|_| few.draw(&mut random) < items), "{items} items");
        }
    }

    #[test]
    fn scrambled_items_are_as_skewed_but_scattered() {
        let zipfian = ScrambledZipfian::new();
        let mut counts = counts(1_000, 400_000, |random| zipfian.draw(1_000, random));
        let first_ten: u64 = counts[..10].iter().sum();
        assert!(first_ten < 100_000, "the first items are not the popular ones: {first_ten}");
        counts.sort_unstable();
        // Rank 1 alone has a share of 1 / 26.47.
        let share = counts[999] as f64 / 400_000.0;
        assert!((0.036..0.05).contains(&share), "{share}");
    }

    #[test]
    fn the_hash_is_that_of_ycsb() {
        // FNV-1a of eight zero bytes, by hand.
        let zeros = (0..8).fold(0xcbf2_9ce4_8422_2325u64, |h, _| h.wrapping_mul(1_099_511_628_211));
        assert_eq!(fnv(0), (zeros as i64).unsigned_abs());
        assert_ne!(fnv(1), fnv(256));
    }
}
