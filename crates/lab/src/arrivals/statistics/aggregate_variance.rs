//! Estimator of the Hurst parameter `H` by aggregated variance (Pitchumani's thesis, section 4.3.3;
//! Taqqu and others 1995, section 3.1).
//!
//! 1. The series is cut into blocks of `m` values, and the variance of the blocks' means is taken.
//! 2. This is done for many `m`. The variance falls as `m^(2H - 2)`, so a line through the
//!    logarithms has the slope `2H - 2`.
//!
//! Blocks have 8 values or more, so that short-time dependence counts for little, and there are 64
//! or more of each size. The estimate is too low for large `H`, because the variance is taken about
//! the mean of the same series.

use super::regression::{fit_logarithms, sizes};
use super::series::moments;

const BLOCK_MIN: usize = 8;
const BLOCKS_MIN: usize = 64;

pub(super) fn estimate(series: &[f64]) -> Option<f64> {
    let variances = sizes(BLOCK_MIN, series.len() / BLOCKS_MIN).into_iter().map(|size| {
        let blocks = series.chunks_exact(size);
        let means: Vec<f64> = blocks.map(|block| block.iter().sum::<f64>() / size as f64).collect();
        (size as f64, moments(&means).1)
    });
    Some(1.0 + fit_logarithms(variances)?.slope / 2.0)
}
