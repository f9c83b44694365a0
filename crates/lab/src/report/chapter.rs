//! [`Chapter`]: the part of a report about one experiment: its description, its outcomes, the
//! standing of each of its runs, and their scale if it is not the requested one.
//!
//! From these it makes the answers to the paper's claims, the plots with their findings, and
//! remarks: on the scale and its effects, and on runs without a result of this engine.

use serde::Serialize;
use terrace_zone::timing::Scale;

use super::{Answer, remarks_on_scale};
use crate::experiment::Experiment;
use crate::plot::{PlotError, Svg, draw, findings};
use crate::run::Outcome;

/// An experiment with its outcomes.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// The experiment.
    pub experiment: Experiment,
    /// Known outcomes.
    pub outcomes: Vec<Outcome>,
    /// The runs that it consists of, each with its standing.
    pub runs: Vec<RunStanding>,
    /// Their scale, if it is not the one that was asked for: at that one the experiment would say
    /// nothing.
    pub scale: Option<Scale>,
}

/// A run, and whether there is a result of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunStanding {
    /// The system.
    pub system: String,
    /// The variant, if the experiment has variants.
    pub variant: Option<String>,
    /// Whether there is a result.
    pub standing: Standing,
}

/// Whether there is a result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// There is an outcome of this very engine.
    Known,
    /// There is an outcome of another engine: its metrics are shown, and may differ from this
    /// engine's.
    OtherBuild,
    /// There is no outcome.
    Missing,
    /// There is an outcome that cannot be trusted, with the reason.
    Damaged(String),
}

impl Chapter {
    /// Whether a run has no result of this engine.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.runs.iter().any(|run| run.standing != Standing::Known)
    }

    /// Answers of our runs to the claims of the paper.
    #[must_use]
    pub fn answers(&self) -> Vec<Answer> {
        // Outcomes of other experiments never answer for this one.
        let own = |outcome: &&Outcome| outcome.experiment == self.experiment.name;
        let own: Vec<Outcome> = self.outcomes.iter().filter(own).cloned().collect();
        let claims = self.experiment.claims.iter();
        claims.map(|claim| Answer::of(&self.experiment, claim, &own)).collect()
    }

    /// The plots, drawn.
    pub fn plots(&self) -> Result<Vec<Svg>, PlotError> {
        let plots = self.experiment.plots.iter();
        plots.map(|plot| draw(plot, &self.experiment, &self.outcomes)).collect()
    }

    /// Findings of each plot, where they are said in words.
    #[must_use]
    pub fn findings(&self) -> Vec<Vec<String>> {
        let plots = self.experiment.plots.iter();
        plots.map(|plot| findings(plot, &self.experiment, &self.outcomes)).collect()
    }

    /// Name for files of the chapter and for addresses within the page.
    #[must_use]
    pub fn slug(&self) -> String {
        slug(&self.experiment.name)
    }

    /// Name of a plot's file; `number` counts from one.
    #[must_use]
    pub fn plot_file(&self, number: usize) -> String {
        format!("{}-{number}.svg", self.slug())
    }

    /// Remarks: on a scale that was not asked for, on effects of the scale, and on runs without a
    /// result of this engine.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let named = |run: &RunStanding| match &run.variant {
            Some(variant) => format!("{} ({variant})", run.system),
            None => run.system.clone(),
        };
        let of = |wanted: &Standing| -> Option<String> {
            let runs = self.runs.iter().filter(|run| run.standing == *wanted);
            let names: Vec<String> = runs.map(named).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let mut remarks = Vec::new();
        remarks.extend(self.scale.map(|scale| {
            format!("Its runs are made at a scale of {scale}: at a smaller one they say nothing.")
        }));
        let scale = self.outcomes.first().and_then(|outcome| outcome.scale.parse().ok());
        remarks.extend(scale.into_iter().flat_map(|it| remarks_on_scale(&self.experiment, it)));
        remarks.extend(of(&Standing::Missing).map(|runs| format!("No result of: {runs}.")));
        remarks.extend(of(&Standing::OtherBuild).map(|runs| {
            format!("By another engine than this program's, so perhaps not its metrics: {runs}.")
        }));
        for run in &self.runs {
            if let Standing::Damaged(why) = &run.standing {
                remarks.push(format!("The result of {} cannot be read: {why}.", named(run)));
            }
        }
        remarks
    }
}

/// An experiment's name in the names of files and in addresses: `geardb-fig3`.
pub(super) fn slug(experiment: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    experiment.chars().map(plain).collect()
}
