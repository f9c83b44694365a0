//! Plot of series over time, or over the share of a phase's operations that are done.
//!
//! With several systems there is a panel for each series and setting, and a line for each system.
//! With one system a line is a series: neighbouring series with the same unit share a panel in each
//! setting, as in BlueFS's figure 12. Without outcomes there is an empty panel for each series.
//!
//! Three or more lines over each other are hard to follow where values jump. So in a
//! panel of three or more systems, a line of more than 60 points is drawn by averages, one for each
//! 60th of the axis. Lines of one system are drawn as they are.

use super::arrangement::{Arrangement, Setting};
use super::axis::Axis;
use super::label::Label;
use super::legend::{Legend, Mark};
use super::panels::{Line, Panel, Panels};
use super::svg::{Failed, Svg};
use crate::experiment::Over;
use crate::run::Outcome;

/// The height of a panel.
const HEIGHT: f64 = 112.0;

/// Lines in a panel from which on they are smoothed.
const CROWD: usize = 3;
/// Averages of a smoothed line.
const AVERAGES: usize = 60;

/// Draws the series of all outcomes.
pub(super) fn paint(
    title: &str,
    arrangement: &Arrangement<'_>,
    series: &[String],
    over: Over,
) -> Result<Svg, Failed> {
    let present = arrangement.present();
    let samples = || arrangement.outcomes().flat_map(|outcome| &outcome.samples);
    let x = match over {
        Over::Time => Axis::time(samples().map(|sample| sample.seconds).fold(0.0, f64::max)),
        Over::Progress => Axis::progress(),
    };
    let shown = Shown { series, over, x };
    let mut words = Vec::new();
    let panels = match present.as_slice() {
        [] => series.iter().map(|name| shown.empty(name)).collect(),
        [_] => shown.by_unit(arrangement, &mut words),
        _ => shown.by_series(arrangement, &mut words),
    };
    let names: Vec<_> = present.iter().map(|(place, name)| (*place, (*name).to_owned())).collect();
    let several = present.len() > 1;
    let legend = if several { Legend::of(Mark::Line, &names) } else { Legend::default() };
    let systems: Vec<_> = names.into_iter().map(|(_, name)| name).collect();
    let over = match over {
        Over::Time => "time",
        Over::Progress => "the operations that are done",
    };
    let systems = systems.join(", ");
    let description =
        format!("Series over {over}, for {systems}. On average: {}.", words.join("; "));
    Panels { legend, panels, height: HEIGHT }.paint(title, description)
}

/// Common settings of all outcomes in the picture.
struct Shown<'a> {
    series: &'a [String],
    over: Over,
    x: Axis,
}

impl Shown<'_> {
    fn points(&self, outcome: &Outcome, series: &str) -> Vec<(f64, f64)> {
        let all = outcome.samples.last().map_or(1, |last| last.operations).max(1);
        let values = outcome.samples.iter().filter_map(|sample| {
            let value = sample.values.get(series).copied().filter(|value| value.is_finite())?;
            let x = match self.over {
                Over::Time => sample.seconds,
                Over::Progress => sample.operations as f64 / all as f64,
            };
            Some((x, value))
        });
        values.collect()
    }

    fn empty(&self, name: &str) -> Panel {
        let y = Axis::from_zero(&Label::of(name), std::iter::empty());
        Panel::new(self.x.clone(), y)
    }

    /// A panel for each series and setting.
    fn by_series(&self, arrangement: &Arrangement<'_>, words: &mut Vec<String>) -> Vec<Panel> {
        let mut panels = Vec::new();
        let crowded = arrangement.settings.iter().any(|it| it.outcomes.len() >= CROWD);
        let end = self.x.to / self.x.factor;
        for name in self.series {
            let label = Label::of(name);
            let long = |outcome| self.points(outcome, name).len() > AVERAGES;
            let smooth = crowded && arrangement.outcomes().any(long);
            let drawn = |outcome| match self.points(outcome, name) {
                points if smooth => smoothed(&points, end),
                points => points,
            };
            // All settings of a series have the same scale, or they could not be compared.
            let values = arrangement.outcomes().flat_map(drawn);
            let mut y = Axis::from_zero(&label, values.map(|(_, value)| value));
            if smooth {
                y.title += &format!(", averages of 1/{AVERAGES} of the axis");
            }
            for setting in &arrangement.settings {
                let lines = setting.outcomes.iter().map(|(place, outcome)| {
                    let points = self.points(outcome, name);
                    words.extend(average(&label, &outcome.system, setting, &points));
                    Line { series: *place, points: drawn(outcome), marks: None }
                });
                let (name, lines) = (setting.name.clone(), lines.collect());
                panels.push(Panel { name, lines, ..Panel::new(self.x.clone(), y.clone()) });
            }
        }
        panels
    }

    /// A panel for each unit and setting.
    fn by_unit(&self, arrangement: &Arrangement<'_>, words: &mut Vec<String>) -> Vec<Panel> {
        let labels: Vec<(&str, Label)> =
            self.series.iter().map(|name| (name.as_str(), Label::of(name))).collect();
        let mut panels = Vec::new();
        for group in labels.chunk_by(|(_, one), (_, other)| one.unit == other.unit) {
            for setting in &arrangement.settings {
                let Some((_, outcome)) = setting.outcomes.first() else { continue };
                let mut lines = Vec::new();
                for (at, (name, label)) in group.iter().enumerate() {
                    let points = self.points(outcome, name);
                    words.extend(average(label, &label.text, setting, &points));
                    lines.push(Line { series: at, points, marks: None });
                }
                let all = lines.iter().flat_map(|line| &line.points).map(|(_, value)| *value);
                let (legend, label) = match group {
                    [(_, label)] => (Legend::default(), label.clone()),
                    several => {
                        let names = several.iter().map(|(_, label)| label.text.clone());
                        let names: Vec<_> = names.enumerate().collect();
                        let unit = several[0].1.unit;
                        let text = unit.together().to_owned();
                        (Legend::of(Mark::Line, &names), Label { text, unit })
                    }
                };
                let y = Axis::from_zero(&label, all);
                let name = setting.name.clone();
                panels.push(Panel { legend, name, lines, ..Panel::new(self.x.clone(), y) });
            }
        }
        panels
    }
}

/// The averages of a line's points, one for each part of an axis from 0 to `end`, at the middle of
/// the points that it is of. A line of few points stays as it is.
fn smoothed(points: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
    if points.len() <= AVERAGES || end <= 0.0 {
        return points.to_vec();
    }
    let part = |(x, _): &(f64, f64)| ((x / end * AVERAGES as f64) as usize).min(AVERAGES - 1);
    let parts = points.chunk_by(|one, other| part(one) == part(other));
    let mean = |points: &[(f64, f64)]| {
        let (x, y) = points.iter().fold((0.0, 0.0), |sum, at| (sum.0 + at.0, sum.1 + at.1));
        (x / points.len() as f64, y / points.len() as f64)
    };
    parts.map(mean).collect()
}

/// The average of a line, in words.
fn average(
    label: &Label,
    whose: &str,
    setting: &Setting<'_>,
    points: &[(f64, f64)],
) -> Option<String> {
    let sum: f64 = points.iter().map(|(_, value)| value).sum();
    let mean = (!points.is_empty()).then(|| label.unit.show(sum / points.len() as f64))?;
    let of = if whose == label.text { String::new() } else { format!(" of {whose}") };
    let name = &setting.name;
    let setting = if name.is_empty() { String::new() } else { format!(" ({name})") };
    Some(format!("{}{of}{setting} {mean}", label.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_becomes_its_averages_and_a_short_one_stays() {
        let jumping = |n: u32| -> Vec<(f64, f64)> {
            (0..n).map(|at| (f64::from(at), f64::from(at % 2) * 10.0)).collect()
        };
        let smooth = smoothed(&jumping(6000), 6000.0);
        assert_eq!(smooth.len(), AVERAGES);
        assert!(smooth.iter().all(|(_, value)| *value == 5.0), "{smooth:?}");
        assert_eq!(smooth[1].0, 149.5);
        assert!(smooth.is_sorted_by(|a, b| a.0 < b.0));
        // The last point is on the end of the axis, in the last part.
        assert_eq!(smoothed(&jumping(6001), 6000.0).len(), AVERAGES);
        assert_eq!(smoothed(&jumping(60), 60.0), jumping(60));
        assert_eq!(smoothed(&[], 0.0), []);
    }
}
