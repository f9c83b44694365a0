//! [`Plot`]: what is drawn of an experiment.

use serde::Deserialize;

/// A picture. Series and figures are called by the names that they have in the JSON of
/// [`Outcome`](crate::run::Outcome): `write_amplification.total`, `reclaim_share`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Plot {
    /// Series of samples over time, a line for each system and series.
    Timeline {
        /// What it shows.
        title: String,
        /// The series.
        series: Vec<String>,
    },
    /// The share of each occupied zone that is valid, at the end: sorted, as in GearDB's figure
    /// 4a.
    ZonesSorted {
        /// What it shows.
        title: String,
    },
    /// The same as a cumulative distribution: GearDB's figure 4b.
    ZonesCumulative {
        /// What it shows.
        title: String,
    },
    /// One figure over another, a point for each run, joined by row of the system.
    Points {
        /// What it shows.
        title: String,
        /// The figure to the right.
        x: String,
        /// The figure upwards.
        y: String,
    },
    /// Figures as bars, one beside the other by system and setting, stacked where there are
    /// several.
    Bars {
        /// What it shows.
        title: String,
        /// The figures.
        figures: Vec<String>,
    },
}

impl Plot {
    /// What it shows.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Timeline { title, .. }
            | Self::ZonesSorted { title }
            | Self::ZonesCumulative { title }
            | Self::Points { title, .. }
            | Self::Bars { title, .. } => title,
        }
    }
}
