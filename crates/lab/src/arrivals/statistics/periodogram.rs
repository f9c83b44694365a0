//! The Hurst parameter by the periodogram: thesis, section 4.3.3; Taqqu and others 1995, section
//! 3.6; Geweke and Porter-Hudak 1983.
//!
//! Near frequency 0 the spectrum of a series that depends on itself over long times goes as
//! `frequency^(1 - 2H)`: a line through the logarithms of the periodogram, at the lowest tenth of
//! the frequencies, has the slope `1 - 2H`.
//!
//! Bias: hardly any for fractional Gaussian noise. What depends over short times only can reach
//! into the lowest tenth.

use super::regression::fit_logarithms;
use super::spectrum::periodogram;

/// The share of the frequencies, up to half of one per value, that counts.
const LOWEST: f64 = 0.1;
const FREQUENCIES_MIN: usize = 8;

pub(super) fn estimate(series: &[f64]) -> Option<f64> {
    let all = periodogram(series);
    let count = (all.len() as f64 * LOWEST) as usize;
    if count < FREQUENCIES_MIN {
        return None;
    }
    Some((1.0 - fit_logarithms(all.into_iter().take(count))?.slope) / 2.0)
}
