//! [`Random`]: a pseudo-random generator (xoshiro256++) with a seed. The same seed gives the same
//! numbers. It is not for secrets.
//!
//! Parts of a program that draw numbers independently should each have a generator of their own, so
//! that one part which draws more does not shift the numbers of another: see [`Random::fork`]. A
//! first generator comes from a seed, or from [`runner::fork_random`](crate::runner::fork_random).

use rand::SeedableRng;
pub use rand::{Rng, RngCore};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Uuid;

/// The project's random generator. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// A generator that always gives the same sequence for the same seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A generator no other run repeats. Only the real runner may ask for one.
    #[expect(clippy::disallowed_methods, reason = "this is the place chance comes from")]
    pub(crate) fn from_entropy() -> Self {
        Self(Xoshiro256PlusPlus::from_os_rng())
    }

    /// A generator of its own for a named part of a run, so that one part drawing more numbers
    /// does not shift another's.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::seeded(self.next_u64())
    }

    /// A random (version 4) UUID from this generator.
    pub fn uuid(&mut self) -> Uuid {
        let mut bytes = [0; 16];
        self.fill_bytes(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Uuid(bytes)
    }
}

impl RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill_bytes(&mut self, dest: &mut [u8]) {
        self.0.fill_bytes(dest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed names a history: when the generator changes, every recorded seed loses its meaning.
    #[test]
    fn the_sequence_of_a_seed_is_fixed() {
        let mut random = Random::seeded(1);
        assert_eq!(
            [random.next_u64(), random.next_u64()],
            [14_971_601_782_005_023_387, 13_781_649_495_232_077_965]
        );
        assert_eq!(random.random_range(0..1_000_000), 100_150);
    }

    #[test]
    fn what_a_fork_draws_does_not_shift_its_parent() {
        let (mut quiet, mut busy) = (Random::seeded(5), Random::seeded(5));
        let (mut first, mut second) = (quiet.fork(), busy.fork());
        assert_eq!(first.next_u64(), second.next_u64());
        second.next_u64();
        assert_eq!(quiet.next_u64(), busy.next_u64());
    }

    #[test]
    fn a_random_uuid_says_that_it_is_one() {
        let text = Random::seeded(1).uuid().to_string();
        assert_eq!((text.len(), &text[14..15]), (36, "4"), "{text}");
        assert!("89ab".contains(&text[19..20]), "{text}");
    }
}
