//! [`fn@validate`]: repeats the published measurements of a drive on its model, and compares.
//!
//! A comparison holds if the model is off by at most [`DEVIATION_MAX`] of the published value. A
//! model that is farther off is no error: ask [`Comparison::holds`].

use terrace_zone::timing::{Drive, Metric, Published};

use super::{MeasureError, measure};

/// How far a model may be off a published metric: a tenth of it.
pub const DEVIATION_MAX: f64 = 0.1;

/// A published metric and the model's.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The drive.
    pub drive: String,
    /// The published metric.
    pub published: Published,
    /// Metric of the model.
    pub model: Metric,
}

impl Comparison {
    /// The model's metric over the published one.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        match (self.model, self.published.metric) {
            (Metric::Rate(model), Metric::Rate(real)) => model.0 as f64 / real.0 as f64,
            (Metric::PerSecond(model), Metric::PerSecond(real)) => model / real,
            (Metric::Latency(model), Metric::Latency(real)) => model.0 as f64 / real.0 as f64,
            (model, real) => unreachable!("{model} is not like {real}"),
        }
    }

    /// Whether the model is close enough.
    #[must_use]
    pub fn holds(&self) -> bool {
        (self.ratio() - 1.0).abs() <= DEVIATION_MAX
    }
}

/// Repeats the published measurements of a drive on its model.
pub fn validate(drive: &Drive) -> Result<Vec<Comparison>, MeasureError> {
    let compare = |published: &Published| {
        let model = measure(drive, &published.job)?.like(&published.metric);
        Ok(Comparison { drive: drive.name().to_owned(), published: published.clone(), model })
    };
    drive.published().iter().map(compare).collect()
}
