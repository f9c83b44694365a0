//! Prints a histogram of latencies as a percentile distribution: the text format that the tools of
//! HdrHistogram plot. The histogram is of nanoseconds; the text shows microseconds.

use std::io::{self, Write};

use hdrhistogram::Histogram;

/// Lines for each halving of the distance to 100 %.
const TICKS: u32 = 5;
const NANOS_PER_MICRO: f64 = 1_000.0;

/// Writes a histogram of nanoseconds down, in microseconds: value, share of operations that took no
/// longer, how many these are, and one in how many took longer.
pub fn write_distribution(histogram: &Histogram<u64>, into: &mut impl Write) -> io::Result<()> {
    writeln!(
        into,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let mut count = 0;
    for step in histogram.iter_quantiles(TICKS) {
        let value = step.value_iterated_to() as f64 / NANOS_PER_MICRO;
        let share = step.quantile_iterated_to();
        count += step.count_since_last_iteration();
        write!(into, "{value:12.3} {share:14.12} {count:10}")?;
        // At the end nothing takes longer.
        if share < 1.0 {
            write!(into, " {:14.2}", 1.0 / (1.0 - share))?;
        }
        writeln!(into)?;
    }
    let (mean, deviation) =
        (histogram.mean() / NANOS_PER_MICRO, histogram.stdev() / NANOS_PER_MICRO);
    let max = histogram.max() as f64 / NANOS_PER_MICRO;
    writeln!(into, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
    writeln!(into, "#[Max     = {max:12.3}, Total count    = {:12}]", histogram.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::latencies;

    #[test]
    fn a_distribution_rises_to_the_longest_and_counts_all() {
        let mut histogram = latencies();
        (1..=10_000u64).for_each(|micros| histogram.record(micros * 1_000).unwrap());
        let mut text = Vec::new();
        write_distribution(&histogram, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
            .collect();
        assert!(rows.is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2]));
        let half = rows.iter().find(|row| row[1] >= 0.5).unwrap();
        assert!((half[0] - 5_000.0).abs() < 10.0 && (half[3] - 2.0).abs() < 0.1, "{half:?}");
        let last = rows.last().unwrap();
        assert!((last[0] - 10_000.0).abs() < 10.0 && last[1] == 1.0 && last[2] == 10_000.0);
        assert!(
            text.contains("#[Max     =    10002.431, Total count    =        10000]"),
            "{text}"
        );
    }
}
