//! [`Envelope`]: a rate of arrivals that changes with time in steps, and begins again after its
//! last step (Pitchumani's thesis, section 4.1.3).
//!
//! It turns the gap before the next arrival, given as a multiple of the mean gap, into an instant:
//!
//! 1. A second at the rate `r` uses up `r` mean gaps. The part of the gap that a step does not use
//!    up is left for the next step.
//! 2. The arrival is where the gap is used up. If the gap uses up whole rounds of the
//!    envelope, these are passed at once, not step by step.
//!
//! With exponential gaps this is the Poisson process whose rate is the envelope. A gap that begins
//! where the rate is low can end in a later step where the rate is high.

use std::time::Duration;

/// Rates of arrivals, one after the other, over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    rates: Vec<f64>,
    step: Duration,
    /// Per second, on average.
    rate: f64,
}

/// A place along an envelope.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    at: usize,
    /// Where the step begins, in nanoseconds since the beginning.
    step_start: u64,
    /// Nanoseconds since the step began.
    spent: f64,
}

impl Envelope {
    /// Rates per second, each for the same time. `None` unless they are finite, at least one is
    /// above 0 and none below, and the time is at least a nanosecond.
    #[must_use]
    pub fn new(rates: Vec<f64>, step: Duration) -> Option<Self> {
        let valid = rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0);
        let some = rates.iter().any(|rate| *rate > 0.0);
        let rate = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        (valid && some && !step.is_zero()).then_some(Self { rates, step, rate })
    }

    /// A wave around a rate: `rate * (1 + amplitude * sin(2 pi t / period))`, in the middle of each
    /// step; the steps are the period's equal parts, of about this length.
    #[must_use]
    pub fn sine(rate: f64, amplitude: f64, period: Duration, step: Duration) -> Option<Self> {
        let steps = (period.as_secs_f64() / step.as_secs_f64()).round().max(2.0);
        let step = period.div_f64(steps);
        let wave = |number: u64| {
            let turn = (number as f64 + 0.5) / steps * std::f64::consts::TAU;
            (rate * (1.0 + amplitude * turn.sin())).max(0.0)
        };
        Self::new((0..steps as u64).map(wave).collect(), step)
    }

    /// The rates per second.
    #[must_use]
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// How long each of them lasts.
    #[must_use]
    pub fn step(&self) -> Duration {
        self.step
    }

    /// Arrivals per second on average.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn start(&self) -> Progress {
        Progress { at: 0, step_start: 0, spent: 0.0 }
    }

    /// Spends a gap; the nanosecond at which it is spent.
    pub(super) fn spend(&self, progress: &mut Progress, mut gap: f64) -> u64 {
        let (step, count) = (self.step.as_nanos() as f64, self.rates.len() as f64);
        let round = self.rate() * self.step.as_secs_f64() * count;
        let rounds = (gap / round).floor();
        if rounds > 0.0 {
            gap -= rounds * round;
            let passed = (rounds * step * count) as u64;
            progress.step_start = progress.step_start.saturating_add(passed);
        }
        loop {
            let per_nano = self.rates[progress.at] / 1e9;
            let room = (step - progress.spent) * per_nano;
            if gap < room {
                progress.spent += gap / per_nano;
                return progress.step_start.saturating_add(progress.spent as u64);
            }
            gap -= room;
            progress.at = (progress.at + 1) % self.rates.len();
            progress.step_start = progress.step_start.saturating_add(self.step.as_nanos() as u64);
            progress.spent = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_spent_at_the_rates_of_the_steps_that_it_passes() {
        let envelope = Envelope::new(vec![1.0, 0.0, 4.0], Duration::from_secs(1)).unwrap();
        let mut progress = envelope.start();
        // The third second spends four mean gaps; the fourth is like the first.
        for (gap, at) in [(0.5, 0.5), (0.25, 0.75), (0.75, 2.125), (4.0, 3.5), (50.0, 33.5)] {
            let seconds = envelope.spend(&mut progress, gap) as f64 / 1e9;
            assert!((seconds - at).abs() < 1e-8, "{gap}: {seconds}");
        }
        assert!((envelope.rate() - 5.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_sine_goes_round_its_rate() {
        let second = Duration::from_secs(1);
        let sine = Envelope::sine(100.0, 0.5, 60 * second, second).unwrap();
        assert_eq!((sine.rates().len(), sine.step()), (60, second));
        assert!((sine.rate() - 100.0).abs() < 1e-9);
        let most = sine.rates().iter().copied().fold(0.0, f64::max);
        assert!((most - 150.0).abs() < 0.2 && sine.rates()[44] < 51.0);
    }

    #[test]
    fn rates_without_arrivals_are_no_envelope() {
        let second = Duration::from_secs(1);
        for rates in [vec![], vec![0.0], vec![1.0, -1.0], vec![f64::NAN]] {
            assert_eq!(Envelope::new(rates, second), None);
        }
        assert_eq!(Envelope::new(vec![1.0], Duration::ZERO), None);
    }
}
