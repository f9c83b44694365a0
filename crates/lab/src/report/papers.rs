//! [`Papers`]: the publications, each with its claims and our answers to them by kept results.
//!
//! A claim that repeats the claim of another experiment is left out, so each claim counts once. A
//! claim without a kept value is not measured; older values never stand in.

use serde::Serialize;

use super::chapter::slug;
use super::kept::group;
use super::{Answer, KeptResults, Measured, Verdict};
use crate::experiment::{Claim, Experiment, ExperimentError};

/// The publications, in the order of their names in [`Papers`].
const PAPERS: [(&str, &str, &str); 7] = [
    ("geardb", "GearDB", "FAST '19"),
    ("sealdb", "SEALDB", "MSST '18"),
    ("bluefs", "BlueFS", "CMU-PDL-19-102"),
    ("smrdb", "SMRDB", "Pitchumani's thesis, chapter 3"),
    ("arrivals", "Arrivals", "Pitchumani's thesis, chapter 4"),
    ("offload", "Offloading", "Pitchumani's thesis, chapter 5"),
    ("lifetime", "LL-compaction", "HotStorage '22, slides"),
];

/// Publications with the answers to their claims.
#[derive(Clone, Debug, Serialize)]
pub struct Papers {
    /// Those with claims.
    pub papers: Vec<Paper>,
}

/// A publication.
#[derive(Clone, Debug, Serialize)]
pub struct Paper {
    /// The group of its experiments: `geardb`.
    pub group: String,
    /// The name of its system or subject.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// Its claims, in the order of the experiments.
    pub claims: Vec<Compared>,
}

/// A claim with our answer, and the runs that the answer is from.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The name of the claim in addresses: `geardb-fig10a-1`.
    pub anchor: String,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// Difference of our value from the published one, in percent of the latter.
    pub difference: Option<f64>,
    /// The value of the same claim in the run that shows the cause, as it is shown.
    pub there: Option<String>,
    /// The runs, if there is a value.
    pub measured: Option<Measured>,
}

impl Papers {
    /// The claims of the experiments that the names stand for, by these kept results.
    pub fn compare(kept: &KeptResults, names: &[String]) -> Result<Self, ExperimentError> {
        let mut experiments: Vec<Experiment> = Vec::new();
        for name in names {
            for found in Experiment::find(name)? {
                if experiments.iter().all(|known| known.name != found.name) {
                    experiments.push(found);
                }
            }
        }
        let paper = |(name, title, source): &(&str, &str, &str)| Paper {
            group: (*name).to_owned(),
            title: (*title).to_owned(),
            source: (*source).to_owned(),
            claims: experiments
                .iter()
                .filter(|experiment| group(&experiment.name) == *name)
                .flat_map(|experiment| compared(kept, experiment))
                .collect(),
        };
        let papers = PAPERS.iter().map(paper).filter(|paper| !paper.claims.is_empty());
        Ok(Self { papers: papers.collect() })
    }

    /// All claims by the results that come with the program.
    #[must_use]
    pub fn of_this_program() -> Self {
        let all = ["all".to_owned()];
        Self::compare(&KeptResults::of_this_program(), &all).expect("the library can be read")
    }

    /// Only the claims with one of these verdicts.
    #[must_use]
    pub fn with(mut self, verdicts: &[Verdict]) -> Self {
        for paper in &mut self.papers {
            paper.claims.retain(|claim| verdicts.contains(&claim.answer.verdict));
        }
        self.papers.retain(|paper| !paper.claims.is_empty());
        self
    }

    /// All claims.
    pub fn claims(&self) -> impl Iterator<Item = &Compared> {
        self.papers.iter().flat_map(|paper| &paper.claims)
    }
}

impl Paper {
    /// How many of its claims have a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.answer.verdict == verdict).count()
    }
}

impl Compared {
    /// The difference as it is shown, such as `+4 %`; empty without a value.
    #[must_use]
    pub fn difference(&self) -> String {
        let Some(difference) = self.difference else { return String::new() };
        let sign = if difference < 0.0 { "−" } else { "+" };
        format!("{sign}{:.0} %", difference.abs())
    }
}

fn compared(kept: &KeptResults, experiment: &Experiment) -> Vec<Compared> {
    let slug = slug(&experiment.name);
    let claims = experiment.claims.iter().zip(1..).filter(|(claim, _)| claim.repeats.is_none());
    let compared = claims.map(|(claim, number)| {
        let answer = kept.answer(experiment, claim);
        Compared {
            anchor: format!("{slug}-{number}"),
            difference: answer.ratio.map(|ratio| (ratio - 1.0) * 100.0),
            there: there(kept, experiment, claim).filter(|_| answer.shown_by.is_some()),
            measured: kept.value(&experiment.name, claim).map(|(_, measured)| measured.clone()),
            answer,
        }
    });
    compared.collect()
}

/// The value of the same claim of the paper in the experiment that shows the cause.
fn there(kept: &KeptResults, experiment: &Experiment, claim: &Claim) -> Option<String> {
    let named = Experiment::find(&claim.shown_by.as_ref()?.experiment).ok()?.remove(0);
    let is_same = |it: &&Claim| {
        it.repeats.as_ref() == Some(&experiment.name) && it.published == claim.published
    };
    let mut same = named.claims.iter().filter(is_same).map(|it| kept.answer(&named, it));
    let [_, ours, _] = same.find(|answer| answer.ours.is_some())?.shown();
    Some(ours)
}
