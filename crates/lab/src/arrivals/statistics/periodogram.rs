//! Estimator of the Hurst parameter `H` by the periodogram (Pitchumani's thesis, section 4.3.3;
//! Taqqu and others 1995, section 3.6; Geweke and Porter-Hudak 1983).
//!
//! If a series depends on itself over long times, its spectrum near frequency 0 goes as
//! `frequency^(1 - 2H)`. So a line through the logarithms of the periodogram has the slope `1 - 2H`
//! there. The lowest tenth of the frequencies counts; there is no estimate if these are fewer than
//! 8. Short-time dependence can reach into the lowest tenth, and then changes the estimate.

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
