//! [`Claim`]: a value that a paper states, and the [`Quantity`] of our runs that is compared with
//! it.
//!
//! A quantity is taken from a phase of a run: a metric, a series at the end of the phase, a series
//! when another series reaches a value, or a share of zones. The first two can also be compared
//! with those of another run. This file reads claims and does not evaluate them.

use std::fmt;

use serde::Deserialize;

use super::NamedRun;

/// Claim of a paper.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim in words.
    pub text: String,
    /// The value that the paper states.
    pub published: f64,
    /// Our value that is compared with it.
    pub quantity: Quantity,
    /// Why ours differs, where it does by more than 15 % and a measurement has told.
    pub explanation: Option<String>,
    /// The run that shows the cause. Without one, the explanation is in words only.
    pub shown_by: Option<NamedRun>,
    /// The experiment, this or another, that has the same claim of the paper: a report on both
    /// counts it there. Such a claim tells the value under other settings.
    pub repeats: Option<String>,
}

impl Claim {
    /// Whether the claim is about a run under this variant.
    #[must_use]
    pub fn is_about(&self, variant: &str) -> bool {
        let other = match &self.quantity.measure {
            Measure::Metric { than, .. } | Measure::End { than, .. } => {
                than.as_ref().map(Than::whose)
            }
            Measure::Series { .. } | Measure::Zones { .. } => None,
        };
        self.quantity.variant.as_deref() == Some(variant)
            || other.is_some_and(|it| it == variant || it.ends_with(&format!(", {variant}")))
    }
}

/// A metric of ours: of which run, and how it is taken from there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Fields")]
pub struct Quantity {
    /// The system, as the experiment has it.
    pub system: String,
    /// The phase; `None` where there is only one that is measured.
    pub phase: Option<String>,
    /// The variant; `None` where the experiment has none.
    pub variant: Option<String>,
    /// Measure taken from the run.
    pub measure: Measure,
}

/// How a metric is taken from a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// `metric`, and `over` or `minus`: a metric of the run, or its ratio to, or its difference
    /// from, the same metric of another system, or of the same system under another variant, or of
    /// another under another.
    Metric {
        /// Its name in the JSON.
        metric: String,
        /// The other side, if it is compared.
        than: Option<Than>,
    },
    /// `series`, and `over` or `minus`: its value at the end, likewise.
    End {
        /// The series.
        series: String,
        /// The other side, if it is compared.
        than: Option<Than>,
    },
    /// `series`, `when` and `reaches`: the value of a series when another has come to a value for
    /// the first time.
    Series {
        /// The series.
        series: String,
        /// The other series.
        when: String,
        /// The value that the other series reaches.
        reaches: f64,
    },
    /// `zones_between`: the share of occupied zones whose valid share, at the end, is between two
    /// values.
    Zones {
        /// The two values.
        between: (f64, f64),
    },
}

/// The other side of a comparison: the system, or the variant; or both, as `SYSTEM, VARIANT`.
#[derive(Clone, Debug, PartialEq)]
pub enum Than {
    /// `over`: the metric is divided by the other's.
    Over(String),
    /// `minus`: the other's is taken off the metric.
    Minus(String),
}

impl Than {
    /// Whose metric it is.
    #[must_use]
    pub fn whose(&self) -> &str {
        let (Self::Over(whose) | Self::Minus(whose)) = self;
        whose
    }

    /// The field that it is written in.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Over(_) => "over",
            Self::Minus(_) => "minus",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system, phase, variant, measure } = self;
        let of = [Some(system), variant.as_ref(), phase.as_ref()].into_iter().flatten();
        let of: Vec<&str> = of.map(String::as_str).collect();
        write!(f, "{} of {}", measure, of.join(", "))
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let than = |f: &mut fmt::Formatter<'_>, than: &Option<Than>| match than {
            Some(than) => write!(f, " {} {}", than.field(), than.whose()),
            None => Ok(()),
        };
        match self {
            Self::Metric { metric, than: other } => {
                f.write_str(metric)?;
                than(f, other)
            }
            Self::End { series, than: other } => {
                write!(f, "{series} at the end")?;
                than(f, other)
            }
            Self::Series { series, when, reaches } => {
                write!(f, "{series} when {when} reaches {reaches}")
            }
            Self::Zones { between: (least, most) } => {
                write!(f, "zones between {least} and {most}")
            }
        }
    }
}

/// A [`Quantity`] as it is written: the present fields decide the quantity.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    system: String,
    phase: Option<String>,
    variant: Option<String>,
    metric: Option<String>,
    over: Option<String>,
    minus: Option<String>,
    series: Option<String>,
    when: Option<String>,
    reaches: Option<f64>,
    zones_between: Option<(f64, f64)>,
}

/// Fields that do not make a quantity.
#[derive(Debug, thiserror::Error)]
#[error(
    "expected one of `metric` or `series` (and `over` or `minus`), `series`, `when` and `reaches`, \
     or `zones_between`, found {}",
    if found.is_empty() { "none of them".to_owned() } else { found.join(", ") }
)]
struct NoQuantity {
    found: Vec<&'static str>,
}

impl TryFrom<Fields> for Quantity {
    type Error = NoQuantity;

    fn try_from(fields: Fields) -> Result<Self, NoQuantity> {
        let found = fields.found();
        let Fields { system, phase, variant, .. } = fields;
        let Fields { metric, over, minus, series, when, reaches, zones_between, .. } = fields;
        let than = match (over, minus) {
            (Some(_), Some(_)) => return Err(NoQuantity { found }),
            (over, minus) => over.map(Than::Over).or(minus.map(Than::Minus)),
        };
        let measure = match (metric, than, series, when, reaches, zones_between) {
            (Some(metric), than, None, None, None, None) => Measure::Metric { metric, than },
            (None, None, Some(series), Some(when), Some(reaches), None) => {
                Measure::Series { series, when, reaches }
            }
            (None, than, Some(series), None, None, None) => Measure::End { series, than },
            (None, None, None, None, None, Some(between)) => Measure::Zones { between },
            _ => return Err(NoQuantity { found }),
        };
        Ok(Self { system, phase, variant, measure })
    }
}

impl Fields {
    /// The names of the present fields that decide the quantity.
    fn found(&self) -> Vec<&'static str> {
        let fields = [
            ("metric", self.metric.is_some()),
            ("over", self.over.is_some()),
            ("minus", self.minus.is_some()),
            ("series", self.series.is_some()),
            ("when", self.when.is_some()),
            ("reaches", self.reaches.is_some()),
            ("zones_between", self.zones_between.is_some()),
        ];
        fields.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect()
    }
}
