//! Fractional Gaussian noise of a known Hurst parameter `H`, to test the estimators with. Its
//! distribution is exact, except for rounding (Davies and Harte, "Tests for Hurst effect",
//! Biometrika 1987).
//!
//! 1. The autocovariance of the noise at lag `k` is `(|k+1|^2H - 2 |k|^2H + |k-1|^2H) / 2`.
//! 2. The autocovariances at the lags from 0 to `n`, and back again to 1, are the first row of a
//!    circulant matrix, where `n` is the length, at least 2, rounded up to a power of two. The
//!    eigenvalues of the matrix are the Fourier transform of the row, and none is negative.
//! 3. Independent Gaussian numbers are multiplied by the roots of the eigenvalues and transformed
//!    back. The first values, up to the requested number, are the noise.

use rand_distr::{Distribution, StandardNormal};
use realfft::RealFftPlanner;
use terrace_env::random::Random;

/// `length` values of mean 0 and variance 1, with `hurst` above 0 and below 1.
///
/// # Panics
/// When `hurst` is not.
#[must_use]
pub fn fractional_noise(hurst: f64, length: usize, seed: u64) -> Vec<f64> {
    assert!(hurst > 0.0 && hurst < 1.0, "a Hurst parameter of {hurst}");
    let half = length.max(2).next_power_of_two();
    let power = |lag: f64| lag.abs().powf(2.0 * hurst);
    let covariance = |lag: usize| {
        let lag = lag as f64;
        (power(lag + 1.0) - 2.0 * power(lag) + power(lag - 1.0)) / 2.0
    };
    let mut row: Vec<f64> = (0..=half).map(covariance).collect();
    row.extend((1..half).rev().map(covariance));
    let mut planner = RealFftPlanner::<f64>::new();
    let (forward, inverse) =
        (planner.plan_fft_forward(2 * half), planner.plan_fft_inverse(2 * half));
    let mut spectrum = forward.make_output_vec();
    forward.process(&mut row, &mut spectrum).expect("buffers of the planned lengths");
    let mut random = Random::seeded(seed);
    let mut draw = || -> f64 { StandardNormal.sample(&mut random) };
    let count = (2 * half) as f64;
    for (place, value) in spectrum.iter_mut().enumerate() {
        let eigenvalue = value.re.max(0.0);
        // Values at both ends are real; others have halves of the variance in each part.
        let ends = place == 0 || place == half;
        let scale = if ends { eigenvalue * count } else { eigenvalue * count / 2.0 }.sqrt();
        value.re = scale * draw();
        value.im = if ends { 0.0 } else { scale * draw() };
    }
    inverse.process(&mut spectrum, &mut row).expect("buffers of the planned lengths");
    row.truncate(length);
    row.iter().map(|value| value / count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_autocovariance_of_its_parameter() {
        for hurst in [0.3_f64, 0.5, 0.7, 0.9] {
            let (lags, count) = ([0_usize, 1, 2, 10], 400_usize);
            let mut sums = [0.0; 4];
            // About a mean that is known to be 0: of itself, a sample's mean hides dependence.
            for seed in 0..count {
                let noise = fractional_noise(hurst, 256, seed as u64);
                for (sum, lag) in sums.iter_mut().zip(lags) {
                    let pairs = noise.iter().zip(&noise[lag..]);
                    *sum += pairs.map(|(a, b)| a * b).sum::<f64>() / (256 - lag) as f64;
                }
            }
            for (sum, lag) in sums.iter().zip(lags) {
                let (found, lag) = (sum / count as f64, lag as f64);
                let power = |lag: f64| lag.abs().powf(2.0 * hurst);
                let expected = (power(lag + 1.0) - 2.0 * power(lag) + power(lag - 1.0)) / 2.0;
                assert!((found - expected).abs() < 0.04, "{hurst}, lag {lag}: {found}, {expected}");
            }
        }
    }
}
