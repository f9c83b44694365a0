//! Turns a sequence of arrivals into a series of numbers: the number of arrivals in each bin of
//! time ([`bins`]), or the gaps between arrivals in seconds ([`gaps`]). Also computes the mean and
//! the variance of a series, and tells whether its values are alike except for rounding.
//!
//! The instants must be in order. Otherwise `gaps` panics, and `bins` may leave arrivals out: it
//! ends at the first one after the last bin.

use std::time::Duration;

/// How many arrivals there are in each whole bin of `duration`; arrivals after the last whole bin
/// are left out.
///
/// # Panics
/// When the bin is no time at all.
#[must_use]
pub fn bins(
    instants: impl IntoIterator<Item = Duration>,
    bin: Duration,
    duration: Duration,
) -> Vec<f64> {
    let width = bin.as_nanos();
    assert!(width > 0, "a bin of no time");
    let mut counts = vec![0.0; (duration.as_nanos() / width) as usize];
    for instant in instants {
        match counts.get_mut((instant.as_nanos() / width) as usize) {
            Some(count) => *count += 1.0,
            None => break,
        }
    }
    counts
}

/// Seconds from each arrival to the next.
#[must_use]
pub fn gaps(instants: impl IntoIterator<Item = Duration>) -> Vec<f64> {
    let mut instants = instants.into_iter();
    let Some(mut last) = instants.next() else { return Vec::new() };
    let gap = |instant| (instant - std::mem::replace(&mut last, instant)).as_secs_f64();
    instants.map(gap).collect()
}

/// The mean and the variance of a series; zero of an empty one.
pub(super) fn moments(series: &[f64]) -> (f64, f64) {
    // The sum of no numbers is -0.0.
    if series.is_empty() {
        return (0.0, 0.0);
    }
    let count = series.len() as f64;
    let mean = series.iter().sum::<f64>() / count;
    (mean, series.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count)
}

/// Whether all values are alike, to a part in 100,000: differences below that come from rounding to
/// nanoseconds.
pub(super) fn is_even(series: &[f64]) -> bool {
    let (mean, variance) = moments(series);
    variance <= 1e-10 * mean * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_counted_by_bin_and_the_last_part_is_left_out() {
        let instants = [0, 1, 10, 11, 12, 35].map(Duration::from_secs);
        let counted = bins(instants, Duration::from_secs(10), Duration::from_secs(39));
        assert_eq!(counted, [2.0, 3.0, 0.0]);
        assert_eq!(gaps(instants), [1.0, 9.0, 1.0, 1.0, 23.0]);
        assert_eq!(moments(&counted).0, 5.0 / 3.0);
        assert_eq!(moments(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), (5.0, 4.0));
        assert!(is_even(&[3.0, 3.0]) && is_even(&[]) && !is_even(&counted));
    }
}
