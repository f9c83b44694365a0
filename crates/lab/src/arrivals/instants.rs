//! [`Instants`]: the iterator over the instants at which the requests of an arrival process arrive.
//! It has no end. Instants are whole nanoseconds since the beginning; none is before the one that
//! it follows.

use std::time::Duration;

use terrace_env::random::Random;

use super::cascade::Cascade;
use super::envelope::{Envelope, Progress};
use super::gaps::Gaps;

const SECOND: f64 = 1e9;

/// The instants at which requests arrive.
#[derive(Clone, Debug)]
pub struct Instants {
    kind: Kind,
    random: Random,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The number of the next, and nanoseconds from one to the next.
    Constant(u64, f64),
    /// The last, and the mean gap, in nanoseconds.
    Renewal(f64, f64, Gaps),
    Cascade(Cascade),
    Guided(Envelope, Gaps, Progress),
}

impl Instants {
    pub(super) fn constant(rate: f64) -> Self {
        Self { kind: Kind::Constant(0, SECOND / rate), random: Random::seeded(0) }
    }

    pub(super) fn renewal(rate: f64, gaps: Gaps, seed: u64) -> Self {
        let kind = Kind::Renewal(0.0, SECOND / rate, gaps);
        Self { kind, random: Random::seeded(seed) }
    }

    pub(super) fn cascade(rate: f64, bias: f64, span: Duration, seed: u64) -> Self {
        let nanos = (span.as_nanos() as u64).max(1);
        let per_span = (rate * span.as_secs_f64()).round().max(1.0) as u64;
        let kind = Kind::Cascade(Cascade::new(bias, nanos, per_span));
        Self { kind, random: Random::seeded(seed) }
    }

    pub(super) fn guided(envelope: Envelope, gaps: Gaps, seed: u64) -> Self {
        let progress = envelope.start();
        Self { kind: Kind::Guided(envelope, gaps, progress), random: Random::seeded(seed) }
    }
}

impl Iterator for Instants {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let nanos = match &mut self.kind {
            Kind::Constant(number, gap) => {
                *number += 1;
                ((*number - 1) as f64 * *gap).round() as u64
            }
            Kind::Renewal(last, mean, gaps) => {
                *last += gaps.draw(&mut self.random) * *mean;
                *last as u64
            }
            Kind::Cascade(cascade) => cascade.next(&mut self.random),
            Kind::Guided(envelope, gaps, progress) => {
                envelope.spend(progress, gaps.draw(&mut self.random))
            }
        };
        Some(Duration::from_nanos(nanos))
    }
}
