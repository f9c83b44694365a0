//! Estimator of the Hurst parameter `H` by rescaled range, R/S (Pitchumani's thesis, section 4.3.3;
//! Taqqu and others 1995, section 3.5).
//!
//! 1. In a block of values, the deviations from the block's mean are summed up one after the other.
//!    The range of these sums, 0 included, divided by the block's standard deviation, is the
//!    rescaled range. Blocks without any variance have none.
//! 2. This is done for blocks of many sizes. The mean of the rescaled range grows as `size^H`, so a
//!    line through the logarithms has the slope `H`.
//!
//! Blocks have 64 values or more, and there are 8 or more of each size. Small blocks bias the
//! estimate.

use super::regression::{fit_logarithms, sizes};
use super::series::moments;

const BLOCK_MIN: usize = 64;
const BLOCKS_MIN: usize = 8;

pub(super) fn estimate(series: &[f64]) -> Option<f64> {
    let ranges = sizes(BLOCK_MIN, series.len() / BLOCKS_MIN).into_iter().map(|size| {
        let ranges: Vec<f64> = series.chunks_exact(size).filter_map(rescaled_range).collect();
        (size as f64, moments(&ranges).0)
    });
    Some(fit_logarithms(ranges)?.slope)
}

/// Rescaled range of one block; `None` where all of its values are alike.
fn rescaled_range(block: &[f64]) -> Option<f64> {
    let (mean, variance) = moments(block);
    let (mut sum, mut least, mut most) = (0.0_f64, 0.0_f64, 0.0_f64);
    for value in block {
        sum += value - mean;
        (least, most) = (least.min(sum), most.max(sum));
    }
    let range = (most - least) / variance.sqrt();
    (variance > 0.0 && range.is_finite()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_the_range_of_its_sums_over_its_deviation() {
        // About the mean of 2.5 the sums are -1.5, -2, -1.5 and 0; the variance is 1.25.
        let found = rescaled_range(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((found - 2.0 / 1.25_f64.sqrt()).abs() < 1e-12, "{found}");
        assert_eq!(rescaled_range(&[3.0; 8]), None);
    }
}
