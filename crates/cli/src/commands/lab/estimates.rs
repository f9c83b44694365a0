//! Estimates of the Hurst parameter, which tells how much arrivals burst at all scales of time, as
//! tables or JSON. [`Thesis`] has our estimates for several arrival processes, next to those of
//! table 4.2 of Pitchumani's thesis. [`Validation`] has the estimates for fractional Gaussian
//! noise, next to the parameter with which the noise was made.
//!
//! The numbers are printed and not judged. Estimates are in the order of [`Estimator::ALL`].

use std::io::{self, Write};
use std::time::Duration;

use comfy_table::{Table, presets};
use serde::Serialize;
use terrace_lab::arrivals::statistics::{Analysis, Estimator, PUBLISHED, Series, fractional_noise};
use terrace_lab::arrivals::{Process, ProcessError};

use crate::failure::{Failure, Kind};

/// Hurst parameters of the noise that estimators are held against.
const KNOWN: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];
/// Values of such a noise, and how often each is made.
const LENGTH: usize = 1 << 16;
const SEEDS: u64 = 4;

/// Our estimates next to those of the thesis.
#[derive(Serialize)]
pub(super) struct Thesis {
    seconds: f64,
    seed: u64,
    rows: Vec<Row>,
}

/// A series of a process; estimates are in the order of [`Estimator::ALL`].
#[derive(Serialize)]
struct Row {
    process: &'static str,
    series: &'static str,
    ours: Vec<Option<f64>>,
    published: [f64; 5],
}

impl Thesis {
    pub(super) fn compare(duration: Duration, bin: Duration, seed: u64) -> Result<Self, Failure> {
        let mut rows = Vec::new();
        for row in PUBLISHED {
            let wrong = |error: ProcessError| Failure::new(Kind::Failed, error.to_string());
            let process: Process = row.process.parse().map_err(wrong)?;
            let instants = || process.instants(seed, Some(duration));
            let analysis = Analysis::of(instants, duration, bin);
            let ours = |series: &Series| series.hurst.iter().map(|it| it.value).collect();
            let (gaps, counts) = (ours(&analysis.gaps), ours(&analysis.counts));
            let process = row.process;
            rows.push(Row { process, series: "gaps", ours: gaps, published: row.gaps });
            let published = row.counts;
            rows.push(Row { process, series: "arrivals per bin", ours: counts, published });
        }
        Ok(Self { seconds: duration.as_secs_f64(), seed, rows })
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "Hurst parameters: ours, and in brackets those of the thesis's table 4.2\n")?;
        let mut table = headed(&["process", "series"]);
        for row in &self.rows {
            let estimates = row.ours.iter().enumerate().map(|(at, ours)| {
                let ours = ours.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
                format!("{ours} ({:.2})", row.published[at])
            });
            let names = [row.process, row.series].map(str::to_owned);
            table.add_row(names.into_iter().chain(estimates));
        }
        writeln!(out, "{table}")
    }
}

/// Estimates of noise whose parameter is known.
#[derive(Serialize)]
pub(super) struct Validation {
    length: usize,
    seeds: u64,
    noise: Vec<Noise>,
}

/// Noise of a parameter.
#[derive(Serialize)]
struct Noise {
    hurst: f64,
    /// By estimator: the mean over the seeds, and how far off the worst was.
    estimates: Vec<(f64, f64)>,
}

impl Validation {
    pub(super) fn make() -> Self {
        let noise = KNOWN.into_iter().map(|hurst| {
            let series: Vec<Vec<f64>> =
                (1..=SEEDS).map(|seed| fractional_noise(hurst, LENGTH, seed)).collect();
            let estimates = Estimator::ALL.map(|estimator| {
                let found = series.iter().filter_map(|noise| estimator.estimate(noise));
                let found: Vec<f64> = found.collect();
                let off = found.iter().map(|value| (value - hurst).abs()).fold(0.0, f64::max);
                (found.iter().sum::<f64>() / found.len() as f64, off)
            });
            Noise { hurst, estimates: estimates.to_vec() }
        });
        Self { length: LENGTH, seeds: SEEDS, noise: noise.collect() }
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { length, seeds, noise } = self;
        writeln!(
            out,
            "Fractional Gaussian noise of {length} values, {seeds} seeds: the mean estimate of the \
             Hurst parameter, and how far off the worst was\n"
        )?;
        let mut table = headed(&["true"]);
        for Noise { hurst, estimates } in noise {
            let shown = estimates.iter().map(|(mean, off)| format!("{mean:.3} ({off:.3})"));
            table.add_row(std::iter::once(format!("{hurst}")).chain(shown));
        }
        writeln!(out, "{table}")
    }
}

/// A table with these columns before one for each estimator.
fn headed(first: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let names = Estimator::ALL.map(|estimator| estimator.name().replace('_', " "));
    table.set_header(first.iter().map(|name| (*name).to_owned()).chain(names));
    table
}
