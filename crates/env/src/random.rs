//! Seeded randomness: the same seed gives the same sequence on every machine.

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
