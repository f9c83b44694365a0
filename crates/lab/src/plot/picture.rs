//! [`draw`]: draws a [`Plot`] of an experiment with the function for its kind. [`findings`]: the
//! sentences that belong below a plot of ratios; other plots have none.
//!
//! Outcomes of other experiments are left out. To draw a series or metric whose name does not exist
//! is an error. A run without an outcome is no error: it is missing in the drawing.

use super::arrangement::Arrangement;
use super::ratio::Ratio;
use super::zones::Order;
use super::{PlotError, Svg, addresses, bars, merges, points, timeline, zones};
use crate::experiment::{Experiment, Plot};
use crate::run::{Metrics, Outcome, Sample};

/// Draws a picture of an experiment, of those outcomes that are its own. Where there are none it is
/// a picture that says so.
pub fn draw(plot: &Plot, experiment: &Experiment, outcomes: &[Outcome]) -> Result<Svg, PlotError> {
    check(plot, experiment)?;
    let arrangement = Arrangement::of(experiment, outcomes);
    let title = plot.title();
    let drawn = match plot {
        Plot::Timeline { series, over, .. } => timeline::paint(title, &arrangement, series, *over),
        Plot::ZonesSorted { .. } => zones::paint(title, &arrangement, Order::Sorted),
        Plot::ZonesCumulative { .. } => zones::paint(title, &arrangement, Order::Cumulative),
        Plot::Merges { .. } => merges::paint(title, &arrangement),
        Plot::Addresses { .. } => addresses::paint_merges(title, &arrangement),
        Plot::FreeRuns { .. } => addresses::paint_free_runs(title, &arrangement),
        Plot::Points { x, y, .. } => points::paint(title, &arrangement, x, y),
        Plot::Bars { metrics, .. } => bars::paint(title, &arrangement, metrics),
        Plot::Ratio { .. } => Ratio::of(plot, &arrangement).paint(title),
    };
    let problem = |error: super::svg::Failed| error.to_string();
    drawn.map_err(|error| PlotError::Drawing { title: title.to_owned(), problem: problem(error) })
}

/// Findings of a picture, in sentences to stand below it; none where it speaks for itself.
#[must_use]
pub fn findings(plot: &Plot, experiment: &Experiment, outcomes: &[Outcome]) -> Vec<String> {
    match plot {
        Plot::Ratio { .. } => Ratio::of(plot, &Arrangement::of(experiment, outcomes)).findings(),
        _ => Vec::new(),
    }
}

/// Whether there is everything that is asked for.
fn check(plot: &Plot, experiment: &Experiment) -> Result<(), PlotError> {
    let (kind, choices, asked) = match plot {
        Plot::Timeline { series, .. } => ("series", Sample::names(), series.clone()),
        Plot::Points { x, y, .. } => ("metric", Metrics::names(), vec![x.clone(), y.clone()]),
        Plot::Bars { metrics, .. } => ("metric", Metrics::names(), metrics.clone()),
        Plot::Ratio { metric, .. } => ("metric", Metrics::names(), vec![metric.clone()]),
        Plot::ZonesSorted { .. }
        | Plot::ZonesCumulative { .. }
        | Plot::Merges { .. }
        | Plot::Addresses { .. }
        | Plot::FreeRuns { .. } => return Ok(()),
    };
    match asked.into_iter().find(|name| !choices.contains(name)) {
        None => Ok(()),
        Some(got) => Err(PlotError::Unknown {
            experiment: experiment.name.clone(),
            title: plot.title().to_owned(),
            kind,
            choices,
            got,
        }),
    }
}
