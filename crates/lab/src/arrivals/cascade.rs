//! The b-model: self-similar arrivals by a multiplicative cascade (Pitchumani's thesis, section
//! 4.1.2 and figure 4.1; Wang and others, "Data Mining Meets Performance Evaluation: Fast
//! Algorithms for Modeling Bursty Traffic", ICDE 2002).
//!
//! 1. Each span of time has the same number of arrivals, at least one.
//! 2. One half of the span gets the share `bias` of them, the other half the rest. A coin tells
//!    which half gets more. The share is rounded up or down by chance, so that it is right on
//!    average.
//! 3. Each half that has several arrivals is divided likewise. A part with one arrival has it
//!    anywhere in the part, with even chance. A part of one nanosecond has all of its arrivals
//!    together.
//! 4. When the span is over, the next span begins with another cascade.
//!
//! With a bias of 0.5 the traffic is nearly even; the nearer the bias is to 1, the more it comes in
//! bursts. Parts that are still to be divided are on a stack. It stays short, because a span of
//! 64-bit nanoseconds can be halved 64 times at most.

use terrace_env::random::{Random, Rng};

/// The instants of the b-model.
#[derive(Clone, Debug)]
pub(super) struct Cascade {
    bias: f64,
    span_nanos: u64,
    per_span: u64,
    /// Where the next span begins.
    next_span: u64,
    /// Parts that are to be divided; the earliest is the last.
    parts: Vec<Part>,
}

/// A part of time with arrivals in it.
#[derive(Clone, Copy, Debug)]
struct Part {
    from: u64,
    nanos: u64,
    arrivals: u64,
}

impl Cascade {
    /// `per_span` arrivals, at least one, in each span.
    pub(super) fn new(bias: f64, span_nanos: u64, per_span: u64) -> Self {
        Self { bias, span_nanos, per_span, next_span: 0, parts: Vec::new() }
    }

    /// The next instant, in nanoseconds.
    pub(super) fn next(&mut self, random: &mut Random) -> u64 {
        loop {
            let Some(part) = self.parts.pop() else {
                let (from, nanos, arrivals) = (self.next_span, self.span_nanos, self.per_span);
                self.parts.push(Part { from, nanos, arrivals });
                // The last span lasts for ever: over 500 years have gone by.
                self.next_span = self.next_span.saturating_add(nanos);
                continue;
            };
            match part {
                Part { arrivals: 0, .. } => {}
                Part { from, nanos, arrivals: 1 } => {
                    return from.saturating_add(random.random_range(0..nanos));
                }
                Part { from, nanos: 1, arrivals } => {
                    self.parts.push(Part { from, nanos: 1, arrivals: arrivals - 1 });
                    return from;
                }
                part => self.divide(part, random),
            }
        }
    }

    fn divide(&mut self, part: Part, random: &mut Random) {
        let share = self.bias * part.arrivals as f64;
        let up = random.random::<f64>() < share.fract();
        let more = (share as u64 + u64::from(up)).min(part.arrivals);
        let less = part.arrivals - more;
        let (first, second) = if random.random() { (more, less) } else { (less, more) };
        let (from, half) = (part.from, part.nanos / 2);
        let middle = from.saturating_add(half);
        self.parts.push(Part { from: middle, nanos: part.nanos - half, arrivals: second });
        self.parts.push(Part { from, nanos: half, arrivals: first });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_span_has_its_number_and_each_halving_its_shares() {
        let (span, count) = (1_000_000_000, 100_000);
        let mut cascade = Cascade::new(0.75, span, count);
        let mut random = Random::seeded(1);
        let all: Vec<u64> = (0..2 * count).map(|_| cascade.next(&mut random)).collect();
        assert!(all.is_sorted());
        let between = |from: u64, to: u64| {
            all.partition_point(|at| *at < to) - all.partition_point(|at| *at < from)
        };
        for from in [0, span] {
            assert_eq!(between(from, from + span), count as usize);
            let half = between(from, from + span / 2);
            assert!([25_000, 75_000].contains(&half), "{half}");
            let quarter = between(from, from + span / 4) as f64 / half as f64;
            assert!((quarter - 0.25).abs() < 1e-4 || (quarter - 0.75).abs() < 1e-4, "{quarter}");
        }
    }

    #[test]
    fn spans_that_reach_beyond_all_time_end_there() {
        let mut cascade = Cascade::new(0.75, u64::MAX / 3, 2);
        let mut random = Random::seeded(1);
        let all: Vec<u64> = (0..20).map(|_| cascade.next(&mut random)).collect();
        assert!(all.is_sorted() && all[19] == u64::MAX, "{all:?}");
    }

    #[test]
    fn an_even_bias_is_even_and_a_bias_of_one_is_all_at_once() {
        let mut random = Random::seeded(1);
        let mut even = Cascade::new(0.5, 1 << 30, 1 << 10);
        let bins: Vec<u64> = (0..1 << 10).map(|_| even.next(&mut random) >> 20).collect();
        assert_eq!(bins, (0..1 << 10).collect::<Vec<_>>());
        let mut burst = Cascade::new(1.0, 1 << 30, 1 << 10);
        let all: Vec<u64> = (0..1 << 10).map(|_| burst.next(&mut random)).collect();
        assert_eq!(all.first(), all.last());
    }
}
