//! Whittle's estimator of the Hurst parameter `H` (Pitchumani's thesis, section 4.3.3; Beran,
//! "Statistics for Long-Memory Processes", 1994, section 6.1).
//!
//! The estimate is the `H` of the fractional Gaussian noise under which the periodogram `I` of the
//! series is most likely. With the spectrum `f` of that noise, and the best scale of it, this `H`
//! has the least `ln(mean(I / f)) + mean(ln f)` over the frequencies of the periodogram. A
//! golden-section search between 0.01 and 0.99 finds the minimum, to about 0.0001; it takes for
//! granted that there is one minimum. There is no estimate with fewer than 32 frequencies.
//!
//! For a series that is no such noise the estimate is that of the nearest noise: short-time
//! dependence counts like long-time dependence.

use super::spectrum::{log_spectrum, periodogram};

const LEAST: f64 = 0.01;
const MOST: f64 = 0.99;
const PRECISION: f64 = 1e-4;
const FREQUENCIES_MIN: usize = 32;

/// The estimate, and its standard error if the series is fractional Gaussian noise.
pub(super) fn estimate(series: &[f64]) -> Option<(f64, f64)> {
    let observed = periodogram(series);
    let power: f64 = observed.iter().map(|(_, power)| power).sum();
    if observed.len() < FREQUENCIES_MIN || power <= 0.0 {
        return None;
    }
    let hurst = minimum(|hurst| unlikelihood(&observed, hurst));
    Some((hurst, error(&observed, hurst)))
}

fn unlikelihood(observed: &[(f64, f64)], hurst: f64) -> f64 {
    let (mut ratios, mut logarithms) = (0.0, 0.0);
    for (frequency, power) in observed {
        let logarithm = log_spectrum(*frequency, hurst);
        ratios += power * (-logarithm).exp();
        logarithms += logarithm;
    }
    let count = observed.len() as f64;
    (ratios / count).ln() + logarithms / count
}

/// The place of the only minimum, by golden section.
fn minimum(of: impl Fn(f64) -> f64) -> f64 {
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (LEAST, MOST);
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (of(left), of(right));
    while high - low > PRECISION {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = of(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = of(right);
        }
    }
    (low + high) / 2.0
}

/// From Fisher's information: the variance over frequencies of how the logarithm of the spectrum
/// changes with `H`, times the number of frequencies.
fn error(observed: &[(f64, f64)], hurst: f64) -> f64 {
    let step = 1e-4;
    let change = |frequency: f64| {
        let (more, less) = (hurst + step, hurst - step);
        (log_spectrum(frequency, more) - log_spectrum(frequency, less)) / (2.0 * step)
    };
    let changes: Vec<f64> = observed.iter().map(|(frequency, _)| change(*frequency)).collect();
    let (_, variance) = super::series::moments(&changes);
    (variance * observed.len() as f64).sqrt().recip()
}
