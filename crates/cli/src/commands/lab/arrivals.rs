//! `terrace lab arrivals`: generates the arrivals of a process (the moments at which operations are
//! to be carried out), or reads them from a file, and describes them by statistics. One of these is
//! the Hurst parameter, which tells how much arrivals burst at all scales of time. Instead,
//! `--thesis` compares estimates of this parameter for several processes with published ones, and
//! `--validate` tries the estimators on noise whose Hurst parameter is known.
//!
//! Arrivals of a process are generated anew for each use: for the file of `--out`, for the
//! statistics and for the plot. Arrivals of a file are read once and held in memory.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ArgGroup;
use serde::Serialize;
use terrace_lab::arrivals::statistics::Analysis;
use terrace_lab::arrivals::{Process, ProcessError, read_instants, write_instants};
use terrace_lab::plot::draw_arrivals;

use super::super::duration::duration;
use super::estimates::{Thesis, Validation};
use super::findings_of_arrivals as findings;
use crate::escape::{Visible, shown};
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Arrivals per second, unless an option says otherwise.
const RATE: f64 = 10_000.0;
/// Time that is generated, unless an option says otherwise.
const DURATION: Duration = Duration::from_secs(600);
/// Time of the runs of published estimates.
const DURATION_OF_THESIS: Duration = Duration::from_secs(3_600);
const BIN: Duration = Duration::from_millis(100);
/// More bins than this are a slip of the hand.
const BINS_MAX: u128 = 1 << 24;

/// Generate the arrivals of a process or read them, and describe them by statistics.
///
/// Statistics are of the arrivals in each bin of time, and of the gaps between the first 65,536
/// arrivals: autocorrelation, and the Hurst parameter by five estimators, which is 0.5 for
/// independent arrivals and near 1 for arrivals that burst at all scales of time.
#[derive(clap::Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["process", "analyse", "thesis", "validate"]),
    after_help = "\
Examples:
  terrace lab arrivals --process poisson:5000
  terrace lab arrivals --process self-similar --bias 0.75 --plot bursts.svg
  terrace lab arrivals --process sine:1700,period=60,gaps=pareto,shape=1.5 --out arrivals.txt
  terrace lab arrivals --analyse arrivals.txt --bin 1s
  terrace lab arrivals --validate"
)]
pub(crate) struct Arrivals {
    /// The process: constant:RATE, poisson:RATE, b-model:RATE,bias=0.75 (or self-similar),
    /// sine:RATE,amplitude=0.5,period=60,gaps=pareto,shape=1.5 (or diurnal), or
    /// curve:FILE,step=1; without `:RATE`, the rate is that of --rate
    #[arg(long)]
    process: Option<String>,
    /// Arrivals per second of a process that does not say it [default: 10000]
    #[arg(long, requires = "process")]
    rate: Option<f64>,
    /// The bias of the b-model, from 0.5 to 1
    #[arg(long, requires = "process")]
    bias: Option<f64>,
    /// Describe the arrivals in this file: nanoseconds, an arrival a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "out"])]
    analyse: Option<PathBuf>,
    /// Hold the processes of the thesis against the estimates in its table 4.2
    #[arg(long)]
    thesis: bool,
    /// Hold the estimators against fractional Gaussian noise of known Hurst parameters
    #[arg(long, conflicts_with_all = ["duration", "bin", "seed"])]
    validate: bool,
    /// How long arrivals are generated, such as 90s or 2h [default: 10 minutes; an hour with
    /// --thesis; to the last arrival of a file]
    #[arg(long, value_parser = duration)]
    duration: Option<Duration>,
    /// Time in which arrivals are counted [default: 100ms; a second with --thesis]
    #[arg(long, value_parser = duration)]
    bin: Option<Duration>,
    /// The seed of the arrivals
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the arrivals to this file, in nanoseconds, an arrival a line
    #[arg(long, value_name = "FILE", requires = "process")]
    out: Option<PathBuf>,
    /// Write a plot of arrivals over time and of their autocorrelation to this file, as SVG
    #[arg(long, value_name = "FILE", conflicts_with_all = ["thesis", "validate"])]
    plot: Option<PathBuf>,
}

/// Statistics of arrivals, in JSON.
#[derive(Serialize)]
struct Answer {
    /// The process, or the file.
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(flatten)]
    analysis: Analysis,
    files: Vec<PathBuf>,
}

impl Arrivals {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        if self.validate {
            let validation = Validation::make();
            return output.result(&validation, |out| validation.print(out));
        }
        if self.thesis {
            let bin = self.bin.unwrap_or(Duration::from_secs(1));
            let duration = self.duration.unwrap_or(DURATION_OF_THESIS);
            self.check_bins(duration, bin)?;
            let thesis = Thesis::compare(duration, bin, self.seed)?;
            return output.result(&thesis, |out| thesis.print(out));
        }
        if let Some(path) = &self.analyse {
            return self.analyse(path, output);
        }
        let process = self.process()?;
        let duration = self.duration.unwrap_or(DURATION);
        let instants =
            || process.instants(self.seed, Some(duration)).take_while(|at| *at < duration);
        let mut files = Vec::new();
        let name = process.to_string();
        if let Some(path) = &self.out {
            let origin = format!("{name}, {duration:?}, seed {}", self.seed);
            let file = File::create(path).map_err(|error| Failure::path(path, &error))?;
            let written = write_instants(BufWriter::new(file), &origin, instants());
            written.map_err(|error| Failure::path(path, &error))?;
            files.push(path.clone());
        }
        self.describe(output, name, Some(self.seed), instants, duration, files)
    }

    fn analyse(&self, path: &Path, output: &Output) -> Result<(), Failure> {
        let file = File::open(path).map_err(|error| Failure::path(path, &error))?;
        let wrong =
            |problem: String| Failure::new(Kind::Failed, format!("{}: {problem}", path.display()));
        let read = read_instants(BufReader::new(file)).map_err(|error| wrong(error.to_string()))?;
        let last = read.last().ok_or_else(|| wrong("expected arrivals, found none".to_owned()))?;
        let duration = self.duration.unwrap_or(*last + Duration::from_nanos(1));
        let instants = || read.iter().copied();
        let name = path.display().to_string();
        self.describe(output, name, None, instants, duration, Vec::new())
    }

    fn describe<I: Iterator<Item = Duration>>(
        &self,
        output: &Output,
        source: String,
        seed: Option<u64>,
        instants: impl Fn() -> I,
        duration: Duration,
        mut files: Vec<PathBuf>,
    ) -> Result<(), Failure> {
        self.check_bins(duration, BIN)?;
        let analysis = Analysis::of(&instants, duration, self.bin.unwrap_or(BIN));
        if let Some(path) = &self.plot {
            let title = format!("Arrivals of {source}");
            let plot = draw_arrivals(&title, &instants, duration, &analysis)?;
            let written = std::fs::write(path, plot.standalone());
            written.map_err(|error| Failure::path(path, &error))?;
            files.push(path.clone());
        }
        let answer = Answer { source, seed, analysis, files };
        output.result(&answer, |out| {
            writeln!(out, "{}", Visible(&answer.source))?;
            findings::print(out, &answer.analysis)?;
            answer.files.iter().try_for_each(|file| writeln!(out, "{}", shown(file)))
        })
    }

    fn check_bins(&self, duration: Duration, usual: Duration) -> Result<(), Failure> {
        let bin = self.bin.unwrap_or(usual);
        let found = duration.as_nanos() / bin.as_nanos();
        if found <= BINS_MAX {
            return Ok(());
        }
        let message =
            format!("--bin {bin:?}: expected up to {BINS_MAX} bins in {duration:?}, found {found}");
        Err(Failure::new(Kind::Usage, message))
    }

    /// The process, with the options that complete its text.
    fn process(&self) -> Result<Process, Failure> {
        let text = self.process.as_deref().unwrap_or_default();
        let rate = self.rate.unwrap_or(RATE);
        if self.rate.is_some() && text.contains(':') {
            let message = format!("--rate: expected a process that says no rate, found `{text}`");
            return Err(Failure::new(Kind::Usage, message));
        }
        let mut whole = match (text.contains(':'), text.split_once(',')) {
            (true, _) => text.to_owned(),
            (false, None) => format!("{text}:{rate}"),
            (false, Some((name, parameters))) => format!("{name}:{rate},{parameters}"),
        };
        if let Some(bias) = self.bias {
            whole += &format!(",bias={bias}");
        }
        let wrong =
            |error: ProcessError| Failure::new(Kind::Usage, format!("--process {whole}: {error}"));
        whole.parse().map_err(wrong)
    }
}
