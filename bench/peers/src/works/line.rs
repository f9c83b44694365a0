//! Results of one child process: a [`Line`] for each load, and [`Figure`]s of the process.

use serde::{Deserialize, Serialize};

use crate::measure::{Cost, Latencies};

/// Result of a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) cost: Cost,
    /// Of single calls; none for a load together with its settling.
    pub(crate) latencies: Option<Latencies>,
}

/// Another number, less of which is better.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
}

/// All of a child process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Round {
    pub(crate) version: String,
    pub(crate) lines: Vec<Line>,
    pub(crate) figures: Vec<Figure>,
}

impl Round {
    pub(super) fn figure(&mut self, name: &str, value: f64) {
        self.figures.push(Figure { name: name.to_owned(), value });
    }
}
