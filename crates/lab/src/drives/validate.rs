//! Published figures, measured again on the models.

use terrace_zone::timing::{Drive, Figure, Published};

use super::{MeasureError, measure};

/// How far a model may be off a published figure: a tenth of it.
pub const DEVIATION_MAX: f64 = 0.1;

/// A published figure and the model's.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The drive.
    pub drive: String,
    /// The published figure.
    pub published: Published,
    /// Figure of the model.
    pub model: Figure,
}

impl Comparison {
    /// The model's figure over the published one.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        match (self.model, self.published.figure) {
            (Figure::Rate(model), Figure::Rate(real)) => model.0 as f64 / real.0 as f64,
            (Figure::PerSecond(model), Figure::PerSecond(real)) => model / real,
            (Figure::Latency(model), Figure::Latency(real)) => model.0 as f64 / real.0 as f64,
            (model, real) => unreachable!("{model} is not like {real}"),
        }
    }

    /// Whether the model is close enough.
    #[must_use]
    pub fn holds(&self) -> bool {
        (self.ratio() - 1.0).abs() <= DEVIATION_MAX
    }
}

/// Measures again what has been published of a drive.
pub fn validate(drive: &Drive) -> Result<Vec<Comparison>, MeasureError> {
    let compare = |published: &Published| {
        let model = measure(drive, &published.job)?.like(&published.figure);
        Ok(Comparison { drive: drive.name().to_owned(), published: published.clone(), model })
    };
    drive.published().iter().map(compare).collect()
}
