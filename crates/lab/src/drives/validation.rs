//! [`Validation`]: comparisons and sweeps of drives, printed as tables in Markdown. A comparison
//! that does not hold is marked `(off)`.

use std::fmt;

use terrace_zone::timing::{Metric, Span};

use super::{Cell, Comparison};

/// All that was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// Published measurements and the models'.
    pub comparisons: Vec<Comparison>,
    /// Measurements without a published counterpart.
    pub cells: Vec<Cell>,
}

impl Validation {
    /// The comparisons that are too far off.
    pub fn failures(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(|comparison| !comparison.holds())
    }
}

/// Writes rows under a heading, columns as wide as their widest cell.
fn table(f: &mut fmt::Formatter<'_>, heading: &[&str], rows: &[Vec<String>]) -> fmt::Result {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |f: &mut fmt::Formatter<'_>, cells: &mut dyn Iterator<Item = &str>| {
        for (cell, width) in cells.zip(&widths) {
            write!(f, "| {cell:width$} ")?;
        }
        writeln!(f, "|")
    };
    line(f, &mut heading.iter().copied())?;
    let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    line(f, &mut rules.iter().map(String::as_str))?;
    rows.iter().try_for_each(|row| line(f, &mut row.iter().map(String::as_str)))
}

impl fmt::Display for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compared = self.comparisons.iter().map(|one| {
            let verdict = if one.holds() { "" } else { " (off)" };
            vec![
                one.drive.clone(),
                one.published.job.to_string(),
                one.model.to_string(),
                one.published.metric.to_string(),
                format!("{:.2}{verdict}", one.ratio()),
                one.published.source.clone(),
            ]
        });
        let heading = ["drive", "job", "model", "published", "ratio", "source"];
        if !self.comparisons.is_empty() {
            table(f, &heading, &compared.collect::<Vec<_>>())?;
        }
        if self.cells.is_empty() {
            return Ok(());
        }
        if !self.comparisons.is_empty() {
            writeln!(f)?;
        }
        let measured = self.cells.iter().map(|cell| {
            let latency = Span(cell.measured.mean_latency().as_nanos() as u64);
            vec![
                cell.drive.clone(),
                cell.job.to_string(),
                cell.measured.rate().to_string(),
                Metric::PerSecond(cell.measured.per_second()).to_string(),
                latency.to_string(),
            ]
        });
        let heading = ["drive", "job", "bandwidth", "requests", "mean latency"];
        table(f, &heading, &measured.collect::<Vec<_>>())
    }
}
