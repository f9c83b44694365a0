//! Gathers the kept results of the experiments that a report is about. It runs nothing.
//!
//! A run without a result is no error. Nor is a result of another engine, or a damaged one. The
//! report then says so. An experiment is an error if it is unknown, its file is wrong, or it cannot
//! be planned.

use terrace_zone::timing::Scale;

use super::{Chapter, Report, RunStanding, Standing};
use crate::experiment::{Experiment, ExperimentError};
use crate::run::PlanError;
use crate::series::{self, Results};

/// Experiments that cannot be reported on.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// There is no experiment of a name, or its file is wrong.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// An experiment cannot be run as it stands.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Report {
    /// A report on the results in `results` of the experiments that the names stand for. Results of
    /// this engine count; where there are none, results of another engine by the same plan count,
    /// and the report says so.
    pub fn gather(
        program: &str,
        names: &[String],
        scale: Scale,
        seed: u64,
        results: &Results,
    ) -> Result<Self, GatherError> {
        let mut chapters: Vec<Chapter> = Vec::new();
        for name in names {
            for experiment in Experiment::find(name)? {
                if chapters.iter().all(|known| known.experiment.name != experiment.name) {
                    chapters.push(chapter(experiment, scale, seed, results)?);
                }
            }
        }
        let (program, scale) = (program.to_owned(), scale.to_string());
        Ok(Self { program, scale, seed, names: names.to_vec(), chapters })
    }

    /// Whether there is no result at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chapters.iter().all(|chapter| chapter.outcomes.is_empty())
    }
}

fn chapter(
    experiment: Experiment,
    scale: Scale,
    seed: u64,
    results: &Results,
) -> Result<Chapter, PlanError> {
    let (mut outcomes, mut runs) = (Vec::new(), Vec::new());
    for plan in series::plans(&experiment, &[], scale, seed)? {
        let found = match results.find(&plan) {
            Ok(Some(found)) => (found, Standing::Known),
            Ok(None) => match results.find_of_another_engine(&plan) {
                Some(found) => (found, Standing::OtherBuild),
                None => (Vec::new(), Standing::Missing),
            },
            Err(error) => (Vec::new(), Standing::Damaged(error.to_string())),
        };
        outcomes.extend(found.0);
        runs.push(RunStanding { system: plan.system, variant: plan.variant, standing: found.1 });
    }
    let own = experiment.scale(scale);
    Ok(Chapter { experiment, outcomes, runs, scale: (own != scale).then_some(own) })
}
