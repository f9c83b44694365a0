//! The seam where an emulated drive gets its times from.

use std::time::Duration;

use terrace_env::Time;
use terrace_env::random::{Random, Rng};

use crate::Request;

/// Decides when requests complete. A drive without one completes everything at once.
///
/// It is asked once for each request, in the order of submission, and says nothing about what a
/// request does: that is decided when it is submitted.
pub trait Timing: Send {
    /// When a request submitted `now` completes; not before `now`.
    fn schedule(&mut self, now: Time, request: &Request) -> Time;
}

/// Each request takes a random time of its own, whatever else is under way: for simulations that
/// want actors to interleave in many ways, not for figures.
#[derive(Clone, Debug)]
pub struct RandomLatency {
    min: Duration,
    max: Duration,
    random: Random,
}

impl RandomLatency {
    /// Latencies uniform between `min` and `max`.
    ///
    /// # Panics
    /// When `min` is more than `max`.
    #[must_use]
    pub fn new(min: Duration, max: Duration, seed: u64) -> Self {
        assert!(min <= max, "a latency of at least {min:?} and at most {max:?}");
        Self { min, max, random: Random::seeded(seed) }
    }
}

impl Timing for RandomLatency {
    fn schedule(&mut self, now: Time, _: &Request) -> Time {
        now + self.random.random_range(self.min..=self.max)
    }
}
