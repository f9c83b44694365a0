//! The estimator of Abry and Veitch of the Hurst parameter `H` (Pitchumani's thesis, section 4.3.3;
//! Veitch and Abry, "A Wavelet-Based Joint Estimator of the Parameters of Long-Range Dependence",
//! IEEE Transactions on Information Theory 1999).
//!
//! 1. Daubechies' wavelet with three vanishing moments divides the series into octaves. Octave `j`
//!    has about one coefficient, called a *detail*, for every `2^j` values of the series. Details
//!    that would reach over the end are left out.
//! 2. The mean square of the details of octave `j` grows as `2^(j (2H - 1))`.
//! 3. A line through the logarithms of these means, to base 2, has the slope `2H - 1`. Each
//!    logarithm is corrected by its bias, and weighted by the inverse of its variance. For `k`
//!    details these are about `-1 / (k ln 2)` and `2 / (k ln^2 2)` (section III of the paper, for
//!    large `k`).
//!
//! Octaves from 3 on count, as long as they have 8 details or more, not all zero. With fewer than
//! three such octaves there is no estimate. The first octaves are left out because short-time
//! dependence shows in them. A trend that is a polynomial of degree 2 or less does not change the
//! estimate, except for rounding.

use super::regression::fit;

/// Daubechies' scaling filter with three vanishing moments; its sum is the root of 2.
const FILTER: [f64; 6] = [
    0.332_670_552_950_082_6,
    0.806_891_509_311_092_5,
    0.459_877_502_118_491_4,
    -0.135_011_020_010_254_6,
    -0.085_441_273_882_026_66,
    0.035_226_291_885_709_53,
];

const OCTAVE_MIN: usize = 3;
const DETAILS_MIN: usize = 8;
const OCTAVES_LEAST: usize = 3;

/// The estimate, and its standard error.
pub(super) fn estimate(series: &[f64]) -> Option<(f64, f64)> {
    let ln2 = std::f64::consts::LN_2;
    let mut points = Vec::new();
    let mut approximation = series.to_vec();
    for octave in 1.. {
        let details;
        (approximation, details) = halve(&approximation);
        if details.len() < DETAILS_MIN {
            break;
        }
        let count = details.len() as f64;
        let energy = details.iter().map(|detail| detail * detail).sum::<f64>() / count;
        if octave >= OCTAVE_MIN && energy > 0.0 {
            let unbiased = energy.log2() + 1.0 / (count * ln2);
            points.push((octave as f64, unbiased, count * ln2 * ln2 / 2.0));
        }
    }
    if points.len() < OCTAVES_LEAST {
        return None;
    }
    let fit = fit(&points)?;
    Some(((fit.slope + 1.0) / 2.0, fit.slope_error / 2.0))
}

/// An octave: the next approximation, and the details between the two.
fn halve(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let windows = values.windows(FILTER.len()).step_by(2);
    let pair = |window: &[f64]| {
        let (mut low, mut high, mut sign) = (0.0, 0.0, 1.0);
        for (place, value) in window.iter().enumerate() {
            low += FILTER[place] * value;
            high += sign * FILTER[FILTER.len() - 1 - place] * value;
            sign = -sign;
        }
        (low, high)
    };
    windows.map(pair).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_keeps_energy_and_takes_no_notice_of_a_parabola() {
        let squares: f64 = FILTER.iter().map(|value| value * value).sum();
        let sum: f64 = FILTER.iter().sum();
        assert!((squares - 1.0).abs() < 1e-12 && (sum - 2.0_f64.sqrt()).abs() < 1e-12);
        let parabola: Vec<f64> = (0..64).map(f64::from).map(|x| 5.0 - x + 0.25 * x * x).collect();
        let (_, details) = halve(&parabola);
        assert!(details.iter().all(|detail| detail.abs() < 1e-9), "{details:?}");
    }
}
