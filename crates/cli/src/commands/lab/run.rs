//! `terrace lab run`: carries out experiments in virtual time, keeps the outcomes, and prints
//! metrics and claims.
//!
//! - A run whose outcome is kept already, by the same engine and undamaged, is not carried out
//!   again, unless `--fresh` is given. So a series that was interrupted can be continued.
//! - A run that fails does not end the others. The command then prints the outcomes of the others,
//!   names the runs that failed, and fails.
//! - `--jobs` says how many runs may go at once; the default is the number of processors. The limit
//!   on memory is nine tenths of the available memory, if the host tells it.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use terrace_lab::experiment::Experiment;
use terrace_lab::run::{Outcome, RunPlan};
use terrace_lab::series::{self, Results, carry_out_all};
use terrace_zone::timing::Scale;

use super::bars::Bars;
use super::findings::{Findings, Flop};
use super::limits::limits;
use super::{page, spreadsheet};
use crate::commands::under::known_system;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Carry out experiments in virtual time.
///
/// The outcome of a run is kept in a directory, under a hash of all that it depends on, and the run
/// is not carried out again: a long series goes on where it was interrupted.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// The experiments: `geardb/fig3`, `geardb/all`, `all`, or the path of a file
    #[arg(value_name = "NAME", required = true)]
    experiments: Vec<String>,
    /// How much smaller everything is made
    #[arg(long, default_value = "1/64")]
    scale: Scale,
    /// Only this share of each phase's operations, as 1/8: to see whether an experiment works.
    /// The claims of the papers are then not compared
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = nth)]
    share: NonZeroU64,
    /// Only the first system of each experiment, under its first variant: to see whether it works.
    /// The claims of the papers are then not compared
    #[arg(long)]
    first: bool,
    /// Seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs at once [default: one for each processor, as far as they fit into memory]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: Option<u64>,
    /// Run these systems instead of the experiment's: `bluefs`, `leveldb-greedy:free_min=5`
    #[arg(long = "system", value_name = "SYSTEM", value_parser = known_system)]
    systems: Vec<String>,
    /// Directory in which the outcomes of runs are kept
    #[arg(long, value_name = "DIRECTORY", default_value = "lab-results")]
    results: PathBuf,
    /// Carry out runs again whose outcomes are known
    #[arg(long)]
    fresh: bool,
    /// Also write the metrics to this file, a row to each phase of a run
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also write the samples to this file, a row to each
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Also write the tables to this file, as a page in Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// The `n` of `1/n`.
pub(super) fn nth(text: &str) -> Result<NonZeroU64, String> {
    let n = match text {
        "1" => Some(NonZeroU64::MIN),
        _ => text.strip_prefix("1/").and_then(|n| n.parse().ok()),
    };
    n.ok_or_else(|| "expected a share such as 1/8, or 1".to_owned())
}

impl Run {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let mut experiments: Vec<Experiment> = Vec::new();
        for name in &self.experiments {
            for found in Experiment::find(name)? {
                if experiments.iter().all(|known| known.name != found.name) {
                    experiments.push(found);
                }
            }
        }
        let mut plans = Vec::new();
        for experiment in &experiments {
            let planned = series::plans(experiment, &self.systems, self.scale, self.seed);
            let planned = planned.map_err(|error| {
                Failure::from(error).while_doing(format_args!("experiment {}", experiment.name))
            })?;
            let most = if self.first { 1 } else { planned.len() };
            plans.extend(planned.into_iter().take(most).map(|plan| self.cut(plan)));
        }
        let results = Results::of_this_engine(&self.results);
        let limits = limits(&plans, self.jobs, self.fresh, output)?;
        if cfg!(debug_assertions) {
            output.note("note: built with debug assertions: slower, with the same numbers");
        }
        let bars = Arc::new(Bars::new(&plans));
        let watch = Arc::clone(&bars);
        let all = carry_out_all(&plans, &results, limits, &{
            Arc::new(move |run: usize, event: series::Event<'_>| watch.notice(run, &event))
        });
        bars.clear();
        let (mut outcomes, mut flops) = (Vec::<Outcome>::new(), Vec::new());
        for (plan, result) in plans.iter().zip(all) {
            match result {
                Ok(found) => outcomes.extend(found),
                Err(error) => flops.push(Flop::new(plan, &error)),
            }
        }
        let whole = self.share == NonZeroU64::MIN && !self.first;
        let findings = Findings::new(&experiments, outcomes, flops, whole);
        self.write_files(&findings)?;
        output.result(&findings, |out| write!(out, "{findings}"))?;
        match findings.flops.as_slice() {
            [] => Ok(()),
            flops => {
                let message = format!("{} of {} runs came to nothing", flops.len(), plans.len());
                Err(Failure::new(Kind::Failed, message))
            }
        }
    }

    /// The plan with only a share of its operations.
    fn cut(&self, mut plan: RunPlan) -> RunPlan {
        for phase in &mut plan.phases {
            let least = u64::from(phase.clients);
            phase.operations = (phase.operations / self.share).max(least);
        }
        plan
    }

    fn write_files(&self, findings: &Findings<'_>) -> Result<(), Failure> {
        let outcomes = &findings.outcomes;
        if let Some(path) = &self.csv {
            spreadsheet::metrics(path, outcomes)?;
        }
        if let Some(path) = &self.samples {
            spreadsheet::samples(path, outcomes)?;
        }
        if let Some(path) = &self.markdown {
            page::write(path, findings, &self.experiments, self.scale, self.seed)?;
        }
        Ok(())
    }
}
