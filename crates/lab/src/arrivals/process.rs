//! [`Process`]: an arrival process by its parameters.
//!
//! | process | gaps between arrivals | section of Pitchumani's thesis |
//! |---|---|---|
//! | constant | equal, before rounding to nanoseconds | 4.2, table 4.1 |
//! | Poisson | exponential, independent | 4.1.1 |
//! | b-model | self-similar: see `cascade` | 4.1.2 |
//! | sine, curve | exponential or Pareto's, along an envelope: see [`Envelope`] | 4.1.3 |
//!
//! The same process, seed and span give the same instants on machines whose floating-point
//! functions, such as the logarithm and the sine, round in the same way.

use std::time::Duration;

use super::{Envelope, Gaps, Instants};

/// The span of the b-model where no duration is given.
const SPAN: Duration = Duration::from_secs(600);

/// When requests arrive. Rates are per second, finite and above 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    /// One after the other at even times.
    Constant {
        /// Arrivals per second.
        rate: f64,
    },
    /// Independent of each other.
    Poisson {
        /// Arrivals per second.
        rate: f64,
    },
    /// Self-similar, by the b-model.
    SelfSimilar {
        /// Arrivals per second, on average over a span.
        rate: f64,
        /// The share of the half that has more, from 0.5 to 1.
        bias: f64,
        /// Time that one cascade divides; `None`: as long as the arrivals are to last.
        span: Option<Duration>,
    },
    /// Guided by a sine wave.
    Sine {
        /// Arrivals per second, on average over a period.
        rate: f64,
        /// How far the rate goes up and down, as a share of it, from 0 to 1.
        amplitude: f64,
        /// Time of a wave.
        period: Duration,
        /// Time for which the rate stays; `None`: a second, but at most a hundredth of the period
        /// and at least a 100,000th.
        step: Option<Duration>,
        /// The secondary distribution.
        gaps: Gaps,
    },
    /// Guided by a curve.
    Curve {
        /// The rates.
        envelope: Envelope,
        /// The secondary distribution.
        gaps: Gaps,
    },
}

impl Process {
    /// Arrivals per second, on average.
    #[must_use]
    pub fn rate(&self) -> f64 {
        match self {
            Self::Constant { rate }
            | Self::Poisson { rate }
            | Self::SelfSimilar { rate, .. }
            | Self::Sine { rate, .. } => *rate,
            Self::Curve { envelope, .. } => envelope.rate(),
        }
    }

    /// The arrivals of the process from time 0 on, without end. `span`: how long they are to last,
    /// as far as is known; a b-model without a span of its own divides this time, and then as much
    /// again.
    #[must_use]
    pub fn instants(&self, seed: u64, span: Option<Duration>) -> Instants {
        match self {
            Self::Constant { rate } => Instants::constant(*rate),
            Self::Poisson { rate } => {
                // A constant envelope would do too, and lose precision at its steps.
                Instants::renewal(*rate, Gaps::Exponential, seed)
            }
            Self::SelfSimilar { rate, bias, span: own } => {
                Instants::cascade(*rate, *bias, own.or(span).unwrap_or(SPAN), seed)
            }
            Self::Sine { rate, amplitude, period, step, gaps } => {
                let step = step.unwrap_or_else(|| usual_step(*period));
                let envelope = Envelope::sine(*rate, *amplitude, *period, step);
                let envelope = envelope.expect("a rate above 0, as the text demands");
                Instants::guided(envelope, *gaps, seed)
            }
            Self::Curve { envelope, gaps } => Instants::guided(envelope.clone(), *gaps, seed),
        }
    }

    /// The same where time goes `factor` times as fast: times are divided by it, but stay at 100 ns
    /// or more, and rates are as before. So runs of a scaled drive are, where a second stands for
    /// several.
    #[must_use]
    pub fn hastened(&self, factor: u64) -> Self {
        let shorter = |time: Duration| (time.div_f64(factor as f64)).max(Duration::from_nanos(100));
        match self.clone() {
            Self::SelfSimilar { rate, bias, span } => {
                Self::SelfSimilar { rate, bias, span: span.map(shorter) }
            }
            Self::Sine { rate, amplitude, period, step, gaps } => {
                // The usual step is written down, so that a wave keeps its number of steps.
                let step = step.unwrap_or_else(|| usual_step(period));
                let (period, step) = (shorter(period), Some(shorter(step)));
                Self::Sine { rate, amplitude, period, step, gaps }
            }
            Self::Curve { envelope, gaps } => {
                let (rates, step) = (envelope.rates().to_vec(), shorter(envelope.step()));
                let envelope = Envelope::new(rates, step).expect("rates that it had before");
                Self::Curve { envelope, gaps }
            }
            alike @ (Self::Constant { .. } | Self::Poisson { .. }) => alike,
        }
    }
}

/// A second, but for short and for very long periods.
fn usual_step(period: Duration) -> Duration {
    Duration::from_secs(1).min(period / 100).max(period / 100_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(text: &str) -> Process {
        text.parse().unwrap()
    }

    #[test]
    fn every_process_rises_repeats_and_has_its_rate() {
        for (text, tolerance) in [
            ("constant:1000", 1e-3),
            ("poisson:1000", 0.02),
            ("b-model:1000,bias=0.75", 1e-3),
            ("b-model:1000,bias=0.65,span=7", 0.02),
            ("sine:1000,amplitude=0.8,period=10", 0.02),
            ("sine:1000,amplitude=0.8,period=10,gaps=pareto,shape=1.9", 0.1),
            ("curve:500/1500,step=5", 0.02),
        ] {
            let process = process(text);
            let span = Duration::from_secs(100);
            let all = |seed| -> Vec<Duration> {
                process.instants(seed, Some(span)).take_while(|at| *at < span).collect()
            };
            let found = all(1);
            assert!(found.is_sorted(), "{text}");
            assert_eq!(found, all(1), "{text}");
            let same = text.starts_with("constant");
            assert_eq!(found == all(2), same, "{text}");
            let rate = found.len() as f64 / 100.0;
            assert!((rate / process.rate() - 1.0).abs() <= tolerance, "{text}: {rate}");
            assert!((process.rate() - 1000.0).abs() < 1e-9);
        }
    }

    #[test]
    fn constant_arrivals_do_not_drift() {
        let nth = process("constant:3").instants(1, None).nth(3_000_000);
        assert_eq!(nth, Some(Duration::from_secs(1_000_000)));
    }

    #[test]
    fn hastened_arrivals_have_their_rate_and_the_waves_of_a_shorter_time() {
        let (slow, fast) =
            (process("sine:1000,period=64"), process("sine:1000,period=64").hastened(64));
        assert_eq!(fast.to_string(), "sine:1000,amplitude=0.5,period=1,step=0.01,gaps=exponential");
        let first_half = |process: &Process, seconds: f64| {
            let half = Duration::from_secs_f64(seconds / 2.0);
            process.instants(1, None).take_while(|at| *at < half).count() as f64 / seconds
        };
        assert!((first_half(&slow, 64.0) / 659.0 - 1.0).abs() < 0.02);
        assert!((first_half(&fast, 1.0) / 659.0 - 1.0).abs() < 0.1);
    }
}
