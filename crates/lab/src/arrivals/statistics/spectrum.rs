//! The periodogram of a series, and the spectrum of fractional Gaussian noise.
//!
//! The periodogram is computed from the series without its mean, and is not smoothed; a series of
//! fewer than four values has none. Of the spectrum there is the logarithm, by an approximation,
//! and without a term that does not depend on the frequency.

use std::f64::consts::{PI, TAU};

use realfft::RealFftPlanner;

use super::series::moments;

/// The periodogram at the frequencies `2 pi j / n`, for `j` from 1 to below `n / 2`, as pairs of
/// frequency and power: the mean of the series is left out.
pub(super) fn periodogram(series: &[f64]) -> Vec<(f64, f64)> {
    let length = series.len();
    if length < 4 {
        return Vec::new();
    }
    let forward = RealFftPlanner::<f64>::new().plan_fft_forward(length);
    let (mean, _) = moments(series);
    let mut values: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let mut spectrum = forward.make_output_vec();
    forward.process(&mut values, &mut spectrum).expect("buffers of the planned lengths");
    let scale = TAU * length as f64;
    let frequencies = 1..length.div_ceil(2);
    frequencies.map(|j| (TAU * j as f64 / length as f64, spectrum[j].norm_sqr() / scale)).collect()
}

/// The logarithm of the spectrum of fractional Gaussian noise, but for a term that does not depend
/// on the frequency.
///
/// The spectrum is `(1 - cos f)` times the sum of `|f + 2 pi k|^(-2H - 1)` over all whole `k`. The
/// sum is cut after three terms on either side, and the rest is an integral: Paxson, "Fast,
/// approximate synthesis of fractional Gaussian noise for generating self-similar network traffic",
/// Computer Communication Review 1997, appendix A.
pub(super) fn log_spectrum(frequency: f64, hurst: f64) -> f64 {
    let power = -2.0 * hurst - 1.0;
    let around = |k: f64| [TAU * k + frequency, TAU * k - frequency];
    let terms = |k: f64, power: f64| -> f64 { around(k).map(|at| at.powf(power)).iter().sum() };
    let near: f64 = [1.0, 2.0, 3.0].map(|k| terms(k, power)).iter().sum();
    let rest = (terms(3.0, power + 1.0) + terms(4.0, power + 1.0)) / (8.0 * PI * hurst);
    ((1.0 - frequency.cos()) * (frequency.powf(power) + near + rest)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_has_its_power_at_its_frequency() {
        for length in [100_usize, 101] {
            let wave = |i: usize| 3.0 + (TAU * 7.0 * i as f64 / length as f64).cos();
            let found = periodogram(&(0..length).map(wave).collect::<Vec<_>>());
            assert_eq!(found.len(), length.div_ceil(2) - 1);
            for (j, (_, power)) in (1..).zip(&found) {
                let expected = if j == 7 { length as f64 / (4.0 * TAU) } else { 0.0 };
                assert!((power - expected).abs() < 1e-9, "{j}: {power}");
            }
        }
    }

    #[test]
    fn the_spectrum_of_independent_values_is_even_and_others_are_near_their_sum() {
        let even: Vec<f64> = (1..32).map(|j| log_spectrum(f64::from(j) * 0.1, 0.5)).collect();
        assert!(even.iter().all(|value| (value - even[0]).abs() < 2e-3), "{even:?}");
        for hurst in [0.6, 0.9] {
            for frequency in [0.1_f64, 1.0, 3.0] {
                let term = |k: i32| (frequency + TAU * f64::from(k)).abs().powf(-2.0 * hurst - 1.0);
                let sum: f64 = (-20_000..=20_000).map(term).sum();
                let exact = ((1.0 - frequency.cos()) * sum).ln();
                let found = log_spectrum(frequency, hurst);
                assert!((found - exact).abs() < 2e-3, "{hurst}, {frequency}: {found}, {exact}");
            }
        }
    }
}
