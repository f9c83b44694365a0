//! Plans the runs of an experiment: one for each variant and each system that is run under it;
//! without variants, one for each system.
//!
//! The caller may name systems to be run instead.

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
    let own = |variant| match systems {
        [] => experiment.systems_of(variant),
        others => others,
    };
    let none = experiment.variants.is_empty().then_some(None);
    let mut plans = Vec::new();
    for variant in experiment.variants.iter().map(Some).chain(none) {
        for system in own(variant) {
            let variant = variant.map(|variant| variant.name.as_str());
            let choice = RunChoice { system, variant, scale, seed };
            plans.push(RunPlan::new(experiment, choice)?);
        }
    }
    Ok(plans)
}
