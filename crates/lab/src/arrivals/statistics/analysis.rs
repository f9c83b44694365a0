//! [`Analysis`]: statistics of a sequence of arrivals, as in figure 4.9 and table 4.2 of
//! Pitchumani's thesis: the number of arrivals, their rate, and the statistics of two series. The
//! series are the number of arrivals in each whole bin of time, and the first 65,536 gaps between
//! arrivals.
//!
//! [`Series`]: the statistics of one series: length, mean, deviation, maximum, autocorrelation up
//! to lag 200, and estimates of the Hurst parameter.

use std::time::Duration;

use serde::Serialize;

use super::estimator::Estimator;
use super::series::moments;
use super::{autocorrelation, bins, gaps};

/// Number of gaps that count, from the beginning on. There is a gap for each arrival, and a part of
/// them suffices.
const GAPS_MAX: usize = 1 << 16;
/// The longest lag of autocorrelations.
const LAG_MAX: usize = 200;

/// Statistics of a sequence of arrivals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// How many arrivals.
    pub arrivals: u64,
    /// Seconds that they are counted for.
    pub seconds: f64,
    /// Arrivals per second. `None` if all of them come at the last instant of the time, as those of
    /// a file that has one instant only.
    pub rate: Option<f64>,
    /// Seconds of a bin.
    pub bin_seconds: f64,
    /// Arrivals in each bin.
    pub counts: Series,
    /// Seconds from one arrival to the next, of the first 65,536.
    pub gaps: Series,
}

/// Statistics of a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// How many values.
    pub length: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The largest; 0 if all are negative.
    pub max: f64,
    /// Autocorrelation, from lag 0 on; empty where all values are alike.
    pub autocorrelation: Vec<f64>,
    /// Estimates of the Hurst parameter, by each estimator.
    pub hurst: Vec<Estimate>,
}

/// An estimate of the Hurst parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The name of the estimator.
    pub estimator: &'static str,
    /// The estimate; `None` where the series is too short, or all values are alike.
    pub value: Option<f64>,
    /// Its standard error, of an estimator that has one.
    pub error: Option<f64>,
}

impl Analysis {
    /// Analyses the arrivals of the time from 0 to `duration`. They are gone through as often as
    /// `instants` is called, which is three times, and once for the first.
    ///
    /// # Panics
    /// When the bin is no time at all.
    #[must_use]
    pub fn of<I: Iterator<Item = Duration>>(
        instants: impl Fn() -> I,
        duration: Duration,
        bin: Duration,
    ) -> Self {
        let within = || instants().take_while(|at| *at < duration);
        let arrivals = within().count() as u64;
        let counts = bins(within(), bin, duration);
        let seconds = duration.as_secs_f64();
        let before_last = |at| duration - at > Duration::from_nanos(1);
        let has_rate = within().next().map_or(seconds > 0.0, before_last);
        Self {
            arrivals,
            seconds,
            rate: has_rate.then(|| arrivals as f64 / seconds),
            bin_seconds: bin.as_secs_f64(),
            counts: Series::of(&counts),
            gaps: Series::of(&gaps(within().take(GAPS_MAX + 1))),
        }
    }
}

impl Series {
    /// Analyses a series.
    #[must_use]
    pub fn of(series: &[f64]) -> Self {
        let (mean, variance) = moments(series);
        let estimate = |estimator: Estimator| {
            let (value, error) = estimator.with_error(series).unzip();
            Estimate { estimator: estimator.name(), value, error: error.flatten() }
        };
        Self {
            length: series.len(),
            mean,
            deviation: variance.sqrt(),
            max: series.iter().copied().fold(0.0, f64::max),
            autocorrelation: autocorrelation(series, LAG_MAX),
            hurst: Estimator::ALL.map(estimate).to_vec(),
        }
    }

    /// The variance over the mean: of counts, 1 for a Poisson process.
    #[must_use]
    pub fn dispersion(&self) -> f64 {
        if self.mean > 0.0 { self.deviation.powi(2) / self.mean } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Process;
    use super::*;

    fn analysis(text: &str) -> Analysis {
        let process: Process = text.parse().unwrap();
        let duration = Duration::from_secs(600);
        let instants = || process.instants(1, Some(duration));
        Analysis::of(instants, duration, Duration::from_millis(100))
    }

    fn hurst(series: &Series) -> Vec<f64> {
        series.hurst.iter().map(|estimate| estimate.value.unwrap()).collect()
    }

    #[test]
    fn a_poisson_process_is_independent_and_the_b_model_is_self_similar() {
        let poisson = analysis("poisson:1000");
        assert_eq!(poisson.counts.length, 6_000);
        assert!((poisson.rate.unwrap() / 1000.0 - 1.0).abs() < 0.01);
        assert!((poisson.counts.dispersion() - 1.0).abs() < 0.1);
        assert!((poisson.gaps.deviation / poisson.gaps.mean - 1.0).abs() < 0.05);
        for series in [&poisson.counts, &poisson.gaps] {
            assert!(series.autocorrelation[1..].iter().all(|value| value.abs() < 0.1));
            assert!(hurst(series).iter().all(|hurst| (hurst - 0.5).abs() < 0.12));
        }
        let [mild, strong] = ["b-model:1000,bias=0.65", "b-model:1000,bias=0.75"].map(analysis);
        let mean = hurst(&mild.counts).iter().sum::<f64>() / 5.0;
        assert!(mean > 0.75, "{:?}", mild.counts.hurst);
        assert!(strong.counts.dispersion() > 2.0 * mild.counts.dispersion());
        assert!(mild.counts.autocorrelation[50] > 0.05);
    }

    #[test]
    fn a_sine_swings_and_a_constant_process_has_nothing_to_estimate() {
        let sine = analysis("sine:1000,period=10");
        // A period has 100 bins.
        let lags = &sine.counts.autocorrelation;
        assert!(lags[50] < -0.5 && lags[100] > 0.5 && lags[150] < -0.5);
        let constant = analysis("constant:1700");
        for series in [&constant.gaps, &analysis("constant:1000").counts] {
            assert!(series.hurst.iter().all(|estimate| estimate.value.is_none()));
            assert!(series.autocorrelation.is_empty());
        }
    }

    #[test]
    fn a_series_has_the_moments_of_its_values() {
        let found = Series::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((found.length, found.mean, found.deviation, found.max), (8, 5.0, 2.0, 9.0));
        assert!((found.dispersion() - 0.8).abs() < 1e-12, "{}", found.dispersion());
        assert!((found.autocorrelation[0] - 1.0).abs() < 1e-9, "{:?}", found.autocorrelation);
    }

    #[test]
    fn arrivals_behind_the_last_whole_bin_count_as_well() {
        let instants = || (0..25).map(|tenth| Duration::from_millis(tenth * 100));
        let of =
            |bin| Analysis::of(instants, Duration::from_millis(2500), Duration::from_secs(bin));
        let (short, long) = (of(1), of(9));
        assert_eq!((short.arrivals, short.rate, short.counts.length), (25, Some(10.0), 2));
        assert_eq!((long.arrivals, long.rate, long.counts.length), (25, Some(10.0), 0));
    }

    #[test]
    fn arrivals_at_one_instant_have_no_rate_and_an_empty_series_has_a_mean_of_nothing() {
        for at in [0, 500].map(Duration::from_nanos) {
            let instants = || [at; 3].into_iter();
            let of = |duration| Analysis::of(instants, duration, Duration::from_secs(1));
            let found = of(at + Duration::from_nanos(1));
            assert_eq!((found.arrivals, found.rate, found.counts.length), (3, None, 0));
            let Series { mean, deviation, .. } = found.counts;
            assert!(mean.is_sign_positive() && deviation.is_sign_positive(), "{mean}, {deviation}");
            assert_eq!(of(Duration::from_secs(6)).rate, Some(0.5));
        }
    }
}
