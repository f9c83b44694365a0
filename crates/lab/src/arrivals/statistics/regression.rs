//! The straight line that fits points best, by weighted least squares.
//!
//! There is no line if its slope, or the error of the slope, would not be a finite number. Points
//! of equal `x` have none, unless rounding makes `x` differ from its mean. [`fit_logarithms`] fits
//! the logarithms of points, and leaves out points that are not positive. [`sizes`] gives block
//! sizes that are about evenly spaced on a logarithmic axis.

/// A line through points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// How much it rises.
    pub(super) slope: f64,
    /// The standard error of that, if the weights are inverse variances.
    pub(super) slope_error: f64,
}

/// Fits a line to points `(x, y, weight)`; `None` for fewer than two places.
pub(super) fn fit(points: &[(f64, f64, f64)]) -> Option<Fit> {
    let (mut s, mut sx, mut sy) = (0.0, 0.0, 0.0);
    for (x, y, weight) in points {
        (s, sx, sy) = (s + weight, sx + weight * x, sy + weight * y);
    }
    let (mean_x, mean_y) = (sx / s, sy / s);
    let (mut sxx, mut sxy) = (0.0, 0.0);
    for (x, y, weight) in points {
        sxx += weight * (x - mean_x).powi(2);
        sxy += weight * (x - mean_x) * (y - mean_y);
    }
    let (slope, slope_error) = (sxy / sxx, sxx.recip().sqrt());
    (slope.is_finite() && slope_error.is_finite()).then_some(Fit { slope, slope_error })
}

/// Fits a line to the logarithms of points that count alike.
pub(super) fn fit_logarithms(points: impl Iterator<Item = (f64, f64)>) -> Option<Fit> {
    let logarithms = points.filter(|(x, y)| *x > 0.0 && *y > 0.0);
    fit(&logarithms.map(|(x, y)| (x.ln(), y.ln(), 1.0)).collect::<Vec<_>>())
}

/// Sizes from `least` to `most`, about a fifth larger from one to the next.
pub(super) fn sizes(least: usize, most: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = Vec::new();
    let mut size = least as f64;
    while size <= most as f64 {
        sizes.push(size as usize);
        size *= 1.2;
    }
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_a_single_place_is_none() {
        let points: Vec<_> =
            (0..10).map(|x| (f64::from(x), 3.0 - 0.5 * f64::from(x), 1.0)).collect();
        assert!((fit(&points).unwrap().slope + 0.5).abs() < 1e-12);
        // A point without weight changes nothing.
        let with = [&points[..], &[(5.0, 99.0, 0.0)]].concat();
        assert!((fit(&with).unwrap().slope + 0.5).abs() < 1e-12);
        assert!(fit(&points[..1]).is_none() && fit(&[]).is_none());
        let power = (1..20).map(|x| (f64::from(x), f64::from(x).powf(1.7)));
        assert!((fit_logarithms(power).unwrap().slope - 1.7).abs() < 1e-9);
    }
}
