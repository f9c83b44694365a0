//! `terrace lab validate-drives`: compares the timing models of drives with published metrics, in
//! virtual time.
//!
//! If a metric differs from the published one by more than 10 %, the command fails after everything
//! is printed. A grid of access patterns is measured as well, and printed without a comparison,
//! unless `--sweep none` is given.

use serde::Serialize;
use terrace_lab::drives::{self, Comparison, Grid, Validation};
use terrace_zone::timing::{Drive, Job, Metric};

use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::progress::Progress;

/// Hold the timing models of drives against published metrics.
///
/// Each published measurement is measured again on the model, in virtual time; more than 10 % off
/// is a failure. Measurements that were not published are measured over a grid of patterns, sizes,
/// depths and places.
#[derive(clap::Args)]
pub(crate) struct ValidateDrives {
    /// The drives, by name or by the path of a drive file [default: all that come with the program]
    drives: Vec<String>,
    /// Grid to measure in addition to published measurements
    #[arg(long, value_enum, default_value_t = Sweep::Coarse)]
    sweep: Sweep,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sweep {
    /// Nothing
    None,
    /// 4 KiB and 1 MiB, one and 32 at once
    Coarse,
    /// 4 KiB to 1 MiB, one to 32 at once
    Full,
}

/// A measurement in JSON.
#[derive(Serialize)]
struct Line {
    drive: String,
    pattern: &'static str,
    region: &'static str,
    request_bytes: u64,
    depth: u32,
    #[serde(flatten)]
    result: Outcome,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Compared { unit: &'static str, model: f64, published: f64, ratio: f64, source: String },
    Measured { bytes_per_second: u64, requests_per_second: f64, latency_seconds: f64 },
}

#[derive(Serialize)]
struct Validated {
    published: Vec<Line>,
    sweep: Vec<Line>,
    failures: usize,
}

impl ValidateDrives {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let drives = match self.drives.as_slice() {
            [] => Drive::all(),
            names => names.iter().map(|name| Drive::find(name)).collect::<Result<_, _>>()?,
        };
        let progress = Progress::pieces("drives", drives.len() as u64);
        let mut validation = Validation::default();
        for drive in &drives {
            validation.comparisons.extend(drives::validate(drive)?);
            let grid = match self.sweep {
                Sweep::None => None,
                Sweep::Coarse => Some(Grid::coarse()),
                Sweep::Full => Some(Grid::full()),
            };
            if let Some(grid) = grid {
                validation.cells.extend(drives::sweep(drive, &grid)?);
            }
            progress.add(1);
        }
        drop(progress);
        let failures = validation.failures().count();
        output.result(&Validated::of(&validation), |out| write!(out, "{validation}"))?;
        if failures == 0 {
            return Ok(());
        }
        let message = format!(
            "expected every measurement within 10 % of the published one, {failures} are not"
        );
        Err(Failure::new(Kind::Failed, message))
    }
}

impl Validated {
    fn of(validation: &Validation) -> Self {
        let sweep = validation.cells.iter().map(|cell| {
            let result = Outcome::Measured {
                bytes_per_second: cell.measured.rate().0,
                requests_per_second: cell.measured.per_second(),
                latency_seconds: cell.measured.mean_latency().as_secs_f64(),
            };
            line(&cell.drive, &cell.job, result)
        });
        Self {
            published: validation.comparisons.iter().map(compared).collect(),
            sweep: sweep.collect(),
            failures: validation.failures().count(),
        }
    }
}

fn line(drive: &str, job: &Job, result: Outcome) -> Line {
    Line {
        drive: drive.to_owned(),
        pattern: job.pattern.name(),
        region: job.region.name(),
        request_bytes: job.size.0,
        depth: job.depth,
        result,
    }
}

fn compared(comparison: &Comparison) -> Line {
    let value = |metric: &Metric| match metric {
        Metric::Rate(rate) => ("bytes_per_second", rate.0 as f64),
        Metric::PerSecond(requests) => ("requests_per_second", *requests),
        Metric::Latency(span) => ("latency_seconds", span.0 as f64 / 1e9),
    };
    let (unit, model) = value(&comparison.model);
    let (_, published) = value(&comparison.published.metric);
    let source = comparison.published.source.clone();
    let result = Outcome::Compared { unit, model, published, ratio: comparison.ratio(), source };
    line(&comparison.drive, &comparison.published.job, result)
}
