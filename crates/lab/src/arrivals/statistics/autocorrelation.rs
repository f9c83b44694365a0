//! The autocorrelation function (Pitchumani's thesis, section 4.1): how much a series is like
//! itself, shifted by some values.
//!
//! A series of fewer than two values, or of values that are alike except for rounding, has none.
//!
//! At lag `k` it is `1 / (n - k) * sum((x[i] - mean) * (x[i + k] - mean)) / variance`. At lag 0 it
//! is 1. At other lags it stays near 0 if values are independent, falls slowly if they depend on
//! each other over long times, and oscillates if there is a period. A Fourier transform of the
//! series, padded with zeros, gives the sums of all lags together.

use realfft::RealFftPlanner;

use super::series::{is_even, moments};

/// The autocorrelation at lags 0 to `lag_max`, or to one less than the length. Empty where the
/// values are all alike.
#[must_use]
pub fn autocorrelation(series: &[f64], lag_max: usize) -> Vec<f64> {
    let (mean, variance) = moments(series);
    if series.len() < 2 || is_even(series) {
        return Vec::new();
    }
    let length = (2 * series.len()).next_power_of_two();
    let mut planner = RealFftPlanner::<f64>::new();
    let (forward, inverse) = (planner.plan_fft_forward(length), planner.plan_fft_inverse(length));
    let mut values: Vec<f64> = series.iter().map(|value| value - mean).collect();
    values.resize(length, 0.0);
    let mut spectrum = forward.make_output_vec();
    forward.process(&mut values, &mut spectrum).expect("buffers of the planned lengths");
    for value in &mut spectrum {
        *value = (*value * value.conj()).re.into();
    }
    inverse.process(&mut spectrum, &mut values).expect("buffers of the planned lengths");
    let lags = 0..=lag_max.min(series.len() - 1);
    let scaled = |lag: usize| values[lag] / length as f64 / (series.len() - lag) as f64 / variance;
    lags.map(scaled).collect()
}

#[cfg(test)]
mod tests {
    use terrace_env::random::{Random, Rng};

    use super::*;

    #[test]
    fn it_is_that_of_the_definition() {
        let mut random = Random::seeded(1);
        let series: Vec<f64> =
            (0..100).map(|i| random.random::<f64>() + f64::from(i % 7)).collect();
        let found = autocorrelation(&series, 1_000);
        assert_eq!(found.len(), 100);
        let (mean, variance) = moments(&series);
        for (lag, found) in found.iter().enumerate() {
            let pairs = series.iter().zip(&series[lag..]);
            let sum: f64 = pairs.map(|(one, other)| (one - mean) * (other - mean)).sum();
            let expected = sum / (100 - lag) as f64 / variance;
            assert!((found - expected).abs() < 1e-9, "{lag}: {found}, {expected}");
        }
        assert!(found[7] > 0.8 && found[3] < 0.0);
        assert!(autocorrelation(&[3.0; 10], 5).is_empty() && autocorrelation(&[], 5).is_empty());
    }
}
