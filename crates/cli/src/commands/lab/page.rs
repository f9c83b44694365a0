//! Writes the results of a series as a page in Markdown. A file that exists is written over.
//!
//! A run that failed is shown as missing. If the findings have no claims, because only a part of
//! each experiment was run, the page has none either.

use std::path::Path;

use terrace_lab::experiment::Experiment;
use terrace_lab::report::{Chapter, Report, RunStanding, Standing};
use terrace_zone::timing::Scale;

use super::findings::Findings;
use crate::failure::Failure;

/// Writes the page. `names`: the experiments as they were asked for.
pub(super) fn write(
    path: &Path,
    findings: &Findings<'_>,
    names: &[String],
    scale: Scale,
    seed: u64,
) -> Result<(), Failure> {
    let report = Report {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        scale: scale.to_string(),
        seed,
        names: names.to_vec(),
        chapters: findings.experiments.iter().map(|it| chapter(findings, it, scale)).collect(),
    };
    std::fs::write(path, report.markdown(None)).map_err(|error| Failure::path(path, &error))
}

fn chapter(findings: &Findings<'_>, experiment: &Experiment, asked: Scale) -> Chapter {
    let own = findings.outcomes.iter().filter(|outcome| outcome.experiment == experiment.name);
    let flops = findings.flops.iter().filter(|flop| flop.experiment == experiment.name);
    let runs = flops.map(|flop| RunStanding {
        system: flop.system.clone(),
        variant: flop.variant.clone(),
        standing: Standing::Missing,
    });
    let (mut experiment, runs) = (experiment.clone(), runs.collect());
    // A part of a run answers no claim.
    if findings.claims.is_empty() {
        experiment.claims.clear();
    }
    let own_scale = experiment.scale(asked);
    let scale = (own_scale != asked).then_some(own_scale);
    Chapter { experiment, outcomes: own.cloned().collect(), runs, scale }
}
