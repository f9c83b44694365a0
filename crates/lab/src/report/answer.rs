//! [`Answer`]: a claim of a paper, the value that our runs have for it, and the verdict.
//!
//! Our value agrees with the published one if it is off by at most [`BAND`] of it. A claim that a
//! run at this scale cannot answer is [`Verdict::Unfit`], however near our value is. A value that
//! differs is [`Verdict::Explained`] only if the claim names a run that shows the cause. The
//! outcomes that are given must be those of the claim's experiment, all at one scale.

use serde::Serialize;
use terrace_zone::timing::Scale;

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
    /// The run that shows the cause, if the verdict depends on it.
    pub shown_by: Option<String>,
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
    /// Our value is not within [`BAND`], and a named run shows the cause.
    Explained,
    /// Our value is not within [`BAND`]. A cause is given, but no run that shows it is named.
    InWords,
    /// Our value is not within [`BAND`], and no cause is known.
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
        let scale = outcomes.first().and_then(|outcome| outcome.scale.parse().ok());
        Self::with_value(experiment, claim, claim.evaluate(outcomes), scale)
    }

    /// Answer of a value of ours, if there is one, that was measured at a scale.
    #[must_use]
    pub fn with_value(
        experiment: &Experiment,
        claim: &Claim,
        ours: Option<f64>,
        scale: Option<Scale>,
    ) -> Self {
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
        let ours = ours.filter(|ours| ours.is_finite());
        let ratio = ours.map(|ours| ours / claim.published).filter(|ratio| ratio.is_finite());
        let unfit = scale.and_then(|scale| unfit(experiment, claim, scale));
        let verdict = match (ours, ratio) {
            (None, _) => Verdict::Missing,
            _ if unfit.is_some() => Verdict::Unfit,
            (_, Some(ratio)) if (ratio - 1.0).abs() <= BAND => Verdict::Within,
            (Some(ours), None) if ours == claim.published => Verdict::Within,
            _ if claim.shown_by.is_some() => Verdict::Explained,
            _ if claim.explanation.is_some() => Verdict::InWords,
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
            shown_by: (verdict == Verdict::Explained)
                .then(|| claim.shown_by.as_ref().map(ToString::to_string))
                .flatten(),
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
            (Verdict::Explained, "different, with a run that shows the cause"),
            (Verdict::InWords, "different, with a cause in words only"),
            (Verdict::Differs, "different, not explained"),
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
    /// All verdicts, the best first.
    pub const ALL: [Self; 6] =
        [Self::Within, Self::Explained, Self::InWords, Self::Differs, Self::Unfit, Self::Missing];

    /// The verdict in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Within => "within 15 %",
            Self::Explained => "differs, explained",
            Self::InWords => "differs, cause in words",
            Self::Differs => "differs, unexplained",
            Self::Unfit => "not at this scale",
            Self::Missing => "not measured",
        }
    }
}
