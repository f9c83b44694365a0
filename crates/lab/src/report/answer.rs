//! [`Answer`]: a claim of a paper, the value that our runs have for it, and the verdict.
//!
//! Our value agrees with the published one if it is off by at most [`BAND`] of it. A claim that a
//! run at this scale cannot answer is [`Verdict::Unfit`], however near our value is. The outcomes
//! that are given must be those of the claim's experiment, all at one scale.

use serde::Serialize;

use super::scale::unfit;
use super::table::NONE;
use crate::experiment::{Claim, Experiment, Measure, Than};
use crate::plot::{Label, Unit};
use crate::run::Outcome;

/// How far a metric may be off and still count as the published one.
pub const BAND: f64 = 0.15;

/// Claim of a paper, in numbers, with the answer of our runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The experiment.
    pub experiment: String,
    /// The publication, and the place in it.
    pub source: String,
    /// The claim, in words.
    pub claim: String,
    /// The system whose metric it is; `a / b` for a ratio, `a - b` for a difference.
    pub system: String,
    /// The variant and the phase, where the claim names them.
    pub setting: Option<String>,
    /// The published value.
    pub published: f64,
    /// Ours; `None` where it is missing.
    pub ours: Option<f64>,
    /// Ours over theirs.
    pub ratio: Option<f64>,
    /// Verdict on the claim.
    pub verdict: Verdict,
    /// Why ours differs, where a measurement has told, or why this scale does not answer.
    pub explanation: Option<String>,
    /// The experiment that has the same claim of the paper, if another one has.
    #[serde(skip)]
    pub repeats: Option<String>,
    /// Unit of both values.
    #[serde(skip)]
    pub unit: Unit,
}

/// How a metric of ours stands to a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Our value is within [`BAND`] of the published one.
    Within,
    /// Our value is not within [`BAND`], and the reason is known.
    Explained,
    /// Our value is not within [`BAND`].
    Differs,
    /// A run at this scale does not answer the claim.
    Unfit,
    /// There is no value of ours.
    Missing,
}

impl Answer {
    /// Answer of the outcomes to a claim.
    #[must_use]
    pub fn of(experiment: &Experiment, claim: &Claim, outcomes: &[Outcome]) -> Self {
        let quantity = &claim.quantity;
        let (unit, than) = match &quantity.measure {
            Measure::Metric { metric: name, than } | Measure::End { series: name, than } => {
                (Label::of(name).unit, than.as_ref())
            }
            Measure::Series { series, .. } => (Label::of(series).unit, None),
            Measure::Zones { .. } => (Unit::Share, None),
        };
        let (unit, system) = match than {
            Some(Than::Over(other)) => (Unit::Factor, format!("{} / {other}", quantity.system)),
            Some(Than::Minus(other)) => (unit, format!("{} - {other}", quantity.system)),
            None => (unit, quantity.system.clone()),
        };
        let setting: Vec<&str> = [&quantity.variant, &quantity.phase]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        let ours = claim.evaluate(outcomes).filter(|ours| ours.is_finite());
        let ratio = ours.map(|ours| ours / claim.published).filter(|ratio| ratio.is_finite());
        let scale = outcomes.first().and_then(|outcome| outcome.scale.parse().ok());
        let unfit = scale.and_then(|scale| unfit(experiment, claim, scale));
        let verdict = match (ours, ratio) {
            (None, _) => Verdict::Missing,
            _ if unfit.is_some() => Verdict::Unfit,
            (_, Some(ratio)) if (ratio - 1.0).abs() <= BAND => Verdict::Within,
            (Some(ours), None) if ours == claim.published => Verdict::Within,
            _ if claim.explanation.is_some() => Verdict::Explained,
            _ => Verdict::Differs,
        };
        Self {
            experiment: experiment.name.clone(),
            source: experiment.source.clone(),
            claim: claim.text.clone(),
            system,
            setting: (!setting.is_empty()).then(|| setting.join(", ")),
            published: claim.published,
            ours,
            ratio,
            verdict,
            explanation: unfit.or_else(|| claim.explanation.clone()),
            repeats: claim.repeats.clone(),
            unit,
        }
    }
}

impl Answer {
    /// Theirs, ours and the ratio, as they are shown.
    #[must_use]
    pub fn shown(&self) -> [String; 3] {
        let ours = self.ours.map_or(NONE.to_owned(), |ours| self.unit.show(ours));
        let ratio = self.ratio.map_or(NONE.to_owned(), |ratio| format!("{ratio:.2}"));
        [self.unit.show(self.published), ours, ratio]
    }

    /// How many claims stand how.
    pub(super) fn tally(answers: &[Self]) -> String {
        let count = |verdict| answers.iter().filter(|answer| answer.verdict == verdict).count();
        let parts = [
            (Verdict::Within, "within 15 % of the published value"),
            (Verdict::Explained, "different, with an explanation"),
            (Verdict::Differs, "different"),
            (Verdict::Unfit, "not answered at this scale"),
            (Verdict::Missing, "without a result"),
        ];
        let parts = parts.into_iter().map(|(verdict, words)| (count(verdict), words));
        let parts: Vec<String> =
            parts.filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}")).collect();
        match answers.len() {
            0 => "The experiments hold no claims.".to_owned(),
            all => format!("Of {all} claims: {}.", parts.join("; ")),
        }
    }
}

impl Verdict {
    /// The verdict in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Within => "within 15 %",
            Self::Explained => "differs, explained",
            Self::Differs => "differs",
            Self::Unfit => "not at this scale",
            Self::Missing => "no result",
        }
    }
}
