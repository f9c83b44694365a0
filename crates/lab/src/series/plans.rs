//! Which runs an experiment consists of.

use terrace_zone::timing::Scale;

use crate::experiment::Experiment;
use crate::run::{PlanError, RunChoice, RunPlan};

/// The runs of an experiment: every system under every variant, one variant after the other.
/// `systems`: instead of the experiment's, where there are any.
pub fn plans(
    experiment: &Experiment,
    systems: &[String],
    scale: Scale,
    seed: u64,
) -> Result<Vec<RunPlan>, PlanError> {
    let systems = if systems.is_empty() { &experiment.systems } else { systems };
    let variants: Vec<Option<&str>> = match experiment.variants.as_slice() {
        [] => vec![None],
        variants => variants.iter().map(|variant| Some(variant.name.as_str())).collect(),
    };
    let mut plans = Vec::new();
    for variant in variants {
        for system in systems {
            let choice = RunChoice { system, variant, scale, seed };
            plans.push(RunPlan::new(experiment, choice)?);
        }
    }
    Ok(plans)
}
