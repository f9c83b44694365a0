//! [`SeekCurve`]: the time of a seek over its distance.
//!
//! In a short seek the arm accelerates half the way and brakes the other half, so the time grows
//! with the square root of the distance. In a long seek it coasts at full speed in between, so the
//! time grows with the distance itself (Ruemmler and Wilkes, "An introduction to disk drive
//! modeling", 1994):
//!
//! ```text
//! t(d) = a + b sqrt(d)        for d <= k
//! t(d) = c + e d              for d >= k, with the same value and slope at k
//! ```
//!
//! Distances are shares of the full stroke. Three published values fix the curve: `a` is the
//! track-to-track time, `t(1)` the full stroke, and `k` is such that the mean over all pairs of
//! cylinders is the published average. The mean grows with `k`, so `k` is found by bisection. It
//! exists if the average is between a third and 8/15 of the way from `a` to `t(1)`. This is not
//! checked here.

/// Steps of the bisection: more than a double can tell apart.
const STEPS: usize = 60;

/// The seek times of a disk, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct SeekCurve {
    settle: f64,
    root: f64,
    knee: f64,
    base: f64,
    slope: f64,
}

impl SeekCurve {
    /// The curve through three values in nanoseconds.
    pub(super) fn new(track_to_track: u64, average: u64, full: u64) -> Self {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..STEPS {
            let middle = (low + high) / 2.0;
            let curve = Self::with_knee(track_to_track as f64, full as f64, middle);
            if curve.mean() < average as f64 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Self::with_knee(track_to_track as f64, full as f64, high)
    }

    fn with_knee(settle: f64, full: f64, knee: f64) -> Self {
        let side = knee.sqrt();
        // From t(1) = settle + root * side / 2 + root / (2 * side).
        let root = (full - settle) / (side / 2.0 + 1.0 / (2.0 * side));
        let slope = root / (2.0 * side);
        Self { settle, root, knee, base: settle + root * side / 2.0, slope }
    }

    /// The mean over all pairs of cylinders, whose distances have the density 2 (1 - d).
    fn mean(&self) -> f64 {
        let Self { settle, root, knee, base, slope } = self;
        let below = |d: f64| {
            let area = 2.0 * d - d * d;
            settle * area + root * (4.0 / 3.0 * d * d.sqrt() - 4.0 / 5.0 * d * d * d.sqrt())
        };
        let beyond = |d: f64| base * (2.0 * d - d * d) + slope * (d * d - 2.0 / 3.0 * d * d * d);
        below(*knee) + beyond(1.0) - beyond(*knee)
    }

    /// The time for a share of the stroke.
    pub(super) fn time(&self, distance: f64) -> u64 {
        let nanos = if distance <= self.knee {
            self.settle + self.root * distance.sqrt()
        } else {
            self.base + self.slope * distance
        };
        nanos as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_meets_the_three_values_it_is_made_from() {
        for (track, average, full) in
            [(500_000, 8_200_000, 17_000_000), (1_000_000, 11_000_000, 22_000_000)]
        {
            let curve = SeekCurve::new(track, average, full);
            assert_eq!(curve.time(0.0), track);
            assert!(curve.time(1.0).abs_diff(full) <= 1, "{}", curve.time(1.0));
            let cylinders = 1000;
            let mut sum = 0.0;
            for from in 0..cylinders {
                for to in 0..cylinders {
                    let distance = f64::from(i32::abs(from - to)) / f64::from(cylinders);
                    sum += curve.time(distance) as f64;
                }
            }
            let mean = sum / f64::from(cylinders) / f64::from(cylinders);
            assert!((mean / average as f64 - 1.0).abs() < 0.01, "{mean}");
        }
    }

    #[test]
    fn longer_seeks_take_longer_and_nothing_jumps_at_the_knee() {
        let curve = SeekCurve::new(300_000, 8_000_000, 18_000_000);
        let times: Vec<u64> = (0..=1000).map(|d| curve.time(f64::from(d) / 1000.0)).collect();
        assert!(times.is_sorted());
        assert!(times.windows(2).skip(10).all(|pair| pair[1] - pair[0] < 200_000));
    }
}
