//! Plots of arrivals over time and of their autocorrelation, after figures 4.6 to 4.9 of
//! Pitchumani's thesis, "Data Management for Storage on Shingled Disks".
//!
//! Three panels show the rate over all of the time, over a hundredth of it and over a
//! ten-thousandth. Each has 300 bins, so traffic that looks smooth in one panel can show bursts in
//! another. The two parts begin a quarter into the time, and last 300 ns or more. Two more panels
//! show the autocorrelation that the caller's [`Analysis`] has: of the number of arrivals in a bin
//! of the analysis, and of the gaps.

use std::time::Duration;

use super::axis::Axis;
use super::label::number;
use super::panels::{Along, Line, Panel, Panels, Rule};
use super::{PlotError, Svg};
use crate::arrivals::statistics::{Analysis, Series, bins};

/// The height of a panel.
const HEIGHT: f64 = 84.0;
/// Bins of a panel over time.
const BINS: u32 = 300;
/// How much shorter the time of a panel is than that of all.
const PARTS: [u32; 3] = [1, 100, 10_000];

/// Draws arrivals of the time from 0 to `duration`, and their statistics. `instants` is called for
/// each panel.
pub fn draw_arrivals<I: Iterator<Item = Duration>>(
    title: &str,
    instants: impl Fn() -> I,
    duration: Duration,
    analysis: &Analysis,
) -> Result<Svg, PlotError> {
    let mut panels = Vec::new();
    let mut words = Vec::new();
    for part in PARTS {
        // A panel of less than a nanosecond for each bin shows nothing.
        let length = (duration / part).max(Duration::from_nanos(u64::from(BINS)));
        let from = if part == 1 { Duration::ZERO } else { duration / 4 };
        let within = instants().skip_while(|at| *at < from).map(|at| at - from);
        let bin = length / BINS;
        let counts = bins(within, bin, bin * BINS);
        let (panel, peak) = over_time(part, from, bin, &counts);
        words.push(format!("{} at most {peak} a second", panel.name));
        panels.push(panel);
    }
    let named = [
        (format!("arrivals in {} s", analysis.bin_seconds), &analysis.counts),
        ("gaps".to_owned(), &analysis.gaps),
    ];
    for (name, series) in named {
        words.push(format!("autocorrelation of {name} at lag 1 {}", lag(series, 1)));
        panels.push(autocorrelation(&name, series));
    }
    let description = format!(
        "{} arrivals in {} seconds; {}.",
        analysis.arrivals,
        number(analysis.seconds),
        words.join("; ")
    );
    let drawn = Panels { legend: super::legend::Legend::default(), panels, height: HEIGHT }
        .paint(title, description);
    drawn
        .map_err(|error| PlotError::Drawing { title: title.to_owned(), problem: error.to_string() })
}

/// The rate over a part of the time, and its peak in words.
fn over_time(part: u32, from: Duration, bin: Duration, counts: &[f64]) -> (Panel, String) {
    let (from, seconds) = (from.as_secs_f64(), bin.as_secs_f64());
    let place = |(at, count): (usize, &f64)| (from + (at as f64 + 0.5) * seconds, count / seconds);
    let points: Vec<(f64, f64)> = counts.iter().enumerate().map(place).collect();
    let peak = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let name = match part {
        1 => "all of the time".to_owned(),
        part => format!("1/{} of it", number(f64::from(part))),
    };
    let to = from + seconds * counts.len() as f64;
    let x = Axis { title: "time, s".to_owned(), from, to, factor: 1.0 };
    let top = if peak > 0.0 { peak * 1.08 } else { 1.0 };
    let y = Axis { title: "arrivals per second".to_owned(), from: 0.0, to: top, factor: 1.0 };
    let lines = vec![Line { series: 0, points, marks: None }];
    (Panel { name, lines, ..Panel::new(x, y) }, number(peak))
}

fn autocorrelation(name: &str, series: &Series) -> Panel {
    let points = |(lag, value): (usize, &f64)| (lag as f64, *value);
    let points: Vec<(f64, f64)> = series.autocorrelation.iter().enumerate().map(points).collect();
    let to = points.len().saturating_sub(1).max(1) as f64;
    let least = points.iter().map(|(_, value)| *value).fold(-0.2, f64::min);
    let x = Axis { title: "lag".to_owned(), from: 0.0, to, factor: 1.0 };
    let title = "autocorrelation".to_owned();
    let y = Axis { title, from: (least * 1.08).max(-1.0), to: 1.0, factor: 1.0 };
    let lines = vec![Line { series: 0, points, marks: None }];
    let rules = vec![Rule { at: Along::Y(0.0), text: String::new() }];
    Panel { name: name.to_owned(), lines, rules, ..Panel::new(x, y) }
}

/// The autocorrelation at a lag, in words.
fn lag(series: &Series, lag: usize) -> String {
    series.autocorrelation.get(lag).map_or_else(|| "unknown".to_owned(), |value| number(*value))
}
