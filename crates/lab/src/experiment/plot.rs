//! [`Plot`]: the kinds of plots that an experiment can ask for. This file does not draw them, and
//! does not check that the series and metrics that they name exist.

use serde::Deserialize;

/// A picture. Series and metrics are called by the names that they have in the JSON of
/// [`Outcome`](crate::run::Outcome): `write_amplification.total`, `reclaim_share`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Plot {
    /// Series of samples over time, a line for each system and series.
    Timeline {
        /// Title of the plot.
        title: String,
        /// The series.
        series: Vec<String>,
        /// Quantity on the horizontal axis.
        #[serde(default)]
        over: Over,
    },
    /// The share of each occupied zone that is valid, at the end: sorted, as in GearDB's figure
    /// 4a.
    ZonesSorted {
        /// Title of the plot.
        title: String,
    },
    /// The same as a cumulative distribution: GearDB's figure 4b.
    ZonesCumulative {
        /// Title of the plot.
        title: String,
    },
    /// How long each merge took, one after the other: GearDB's figure 15.
    Merges {
        /// Title of the plot.
        title: String,
    },
    /// Where each merge wrote, on a device without zones: SEALDB's figures 2 and 11.
    Addresses {
        /// Title of the plot.
        title: String,
    },
    /// Where the free runs lie that are shorter than a usual write, at the end, on a device without
    /// zones: SEALDB's figure 13.
    FreeRuns {
        /// Title of the plot.
        title: String,
    },
    /// One metric over another, a point for each run, joined by row of the system.
    Points {
        /// Title of the plot.
        title: String,
        /// The metric to the right.
        x: String,
        /// The metric upwards.
        y: String,
    },
    /// Metrics as bars, one next to the other by system and setting, stacked where there are
    /// several.
    Bars {
        /// Title of the plot.
        title: String,
        /// The metrics.
        metrics: Vec<String>,
    },
    /// A metric of one system, divided by the same of others, over a constant in which these
    /// others differ and which a publication leaves open: published values are marked.
    Ratio {
        /// Title of the plot.
        title: String,
        /// The system whose metric is divided.
        system: String,
        /// The metric.
        metric: String,
        /// The constant to the right: a parameter of the systems that it is divided by, which they
        /// have in their texts, `free_min` of `leveldb-greedy:free_min=20`; or [`SETTING`], which
        /// is the number that a variant's name begins with.
        by: String,
        /// The ratio that was published.
        published: f64,
        /// The constant at which it was, where that is known.
        published_at: Option<f64>,
    },
}

/// Word for the variants where a constant is named.
pub const SETTING: &str = "setting";

/// Horizontal axis of a timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// Device time.
    #[default]
    Time,
    /// The share of the phase's operations that is done: systems are compared at equal work, not at
    /// equal times.
    Progress,
}

impl Plot {
    /// Title of the plot.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Timeline { title, .. }
            | Self::ZonesSorted { title }
            | Self::ZonesCumulative { title }
            | Self::Merges { title }
            | Self::Addresses { title }
            | Self::FreeRuns { title }
            | Self::Points { title, .. }
            | Self::Bars { title, .. }
            | Self::Ratio { title, .. } => title,
        }
    }
}

/// A parameter of a system, where its text has it and it is a number: 20 is `free_min` of
/// `leveldb-greedy:free_min=20`.
pub(crate) fn parameter_of(system: &str, name: &str) -> Option<f64> {
    let (_, parameters) = system.split_once(':')?;
    let mut parameters = parameters.split(',').filter_map(|parameter| parameter.split_once('='));
    let (_, value) = parameters.find(|(known, _)| known.trim() == name)?;
    value.trim().parse().ok()
}

/// The number that a variant's name begins with: 64 of `64 MiB`.
pub(crate) fn leading_number(name: &str) -> Option<f64> {
    name.split_whitespace().next()?.parse().ok()
}
