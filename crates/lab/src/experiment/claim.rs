//! [`Claim`]: what a paper says, and which of our figures answers.

use serde::Deserialize;

/// What a paper says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// In words.
    pub text: String,
    /// In figures.
    pub published: f64,
    /// Ours.
    pub quantity: Quantity,
    /// Why ours differs, where it does by more than 15 % and a measurement has told.
    pub explanation: Option<String>,
}

/// A figure of ours.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Quantity {
    /// A figure of a run, or its ratio to the same figure of another system.
    Figure {
        /// Its name in the JSON.
        figure: String,
        /// The system, as the experiment has it.
        system: String,
        /// The phase, where there are several.
        phase: Option<String>,
        /// The variant, where there are several.
        variant: Option<String>,
        /// The system that it is divided by.
        over: Option<String>,
    },
    /// What a series shows when another has come to a value for the first time.
    Series {
        /// The series.
        series: String,
        /// The system.
        system: String,
        /// The phase, where there are several.
        phase: Option<String>,
        /// The variant, where there are several.
        variant: Option<String>,
        /// The other series.
        when: String,
        /// Its value.
        reaches: f64,
    },
    /// The share of occupied zones whose valid share, at the end, is between two values.
    Zones {
        /// The two values.
        zones_between: (f64, f64),
        /// The system.
        system: String,
        /// The phase, where there are several.
        phase: Option<String>,
        /// The variant, where there are several.
        variant: Option<String>,
    },
}
