//! Plot of a metric of one system, divided by that of others, over a constant that a paper leaves
//! open. The published ratio is marked, and the published constant if it is known. So the plot
//! shows at which value of the constant our runs reach the ratio; between two runs it assumes a
//! straight line. Its findings say the same in sentences.
//!
//! The constant is one of two things: a parameter in the text of the other systems, such as
//! `free_min` in `leveldb-greedy:free_min=20`, or the number at the beginning of a variant's name.
//!
//! Runs of the other systems without the constant are left out. So are runs whose metric is missing
//! or not finite, runs of the other systems whose metric is zero, and settings in which the one
//! system has no such run.

use super::arrangement::{Arrangement, Setting, row};
use super::axis::{Axis, tick};
use super::label::{Label, Unit, number};
use super::legend::{Legend, Mark};
use super::panels::{Along, Line, Panel, Panels, Rule};
use super::svg::{Failed, Svg};
use crate::experiment::{Plot, SETTING, leading_number, parameter_of};
use crate::run::Outcome;

/// The height of the chart.
const HEIGHT: f64 = 210.0;

/// A plot of ratios.
pub(super) struct Ratio<'a> {
    /// Whose metric is divided.
    system: &'a str,
    metric: &'a str,
    by: &'a str,
    published: f64,
    published_at: Option<f64>,
    curves: Vec<Curve>,
}

/// The ratio to one system over the constant, ascending.
struct Curve {
    over: String,
    points: Vec<(f64, f64)>,
}

impl<'a> Ratio<'a> {
    /// Curves of the outcomes. `plot` is one of a ratio.
    pub(super) fn of(plot: &'a Plot, arrangement: &Arrangement<'_>) -> Self {
        let Plot::Ratio { system, metric, by, published, published_at, .. } = plot else {
            unreachable!("expected the plot of a ratio, found {plot:?}");
        };
        let (published, published_at) = (*published, *published_at);
        let mut ratio = Self { system, metric, by, published, published_at, curves: Vec::new() };
        for setting in &arrangement.settings {
            ratio.add(setting, arrangement);
        }
        for curve in &mut ratio.curves {
            curve.points.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        ratio
    }

    fn add(&mut self, setting: &Setting<'_>, arrangement: &Arrangement<'_>) {
        let value = |outcome: &Outcome| {
            outcome.metrics.value(self.metric).filter(|value| value.is_finite())
        };
        let own = setting.outcomes.iter().find(|(_, outcome)| outcome.system == self.system);
        let Some(own) = own.and_then(|(_, outcome)| value(outcome)) else { return };
        let several = arrangement.outcomes().any(|it| it.phase != setting.outcomes[0].1.phase);
        for (_, outcome) in setting.outcomes.iter().filter(|(_, it)| it.system != self.system) {
            let (x, over, place) = if self.by == SETTING {
                let number = outcome.variant.as_deref().and_then(leading_number);
                let phase = if several { outcome.phase.as_str() } else { "" };
                (number, outcome.system.clone(), phase)
            } else {
                let without = without(&outcome.system, self.by);
                (parameter_of(&outcome.system, self.by), without, setting.name.as_str())
            };
            let other = value(outcome).filter(|other| *other != 0.0);
            let (Some(x), Some(other)) = (x, other) else { continue };
            let over = if place.is_empty() { over } else { format!("{over}, {place}") };
            let point = (x, own / other);
            match self.curves.iter_mut().find(|curve| curve.over == over) {
                Some(curve) => curve.points.push(point),
                None => self.curves.push(Curve { over, points: vec![point] }),
            }
        }
    }

    /// Findings of the curves compared with the published values, a sentence for each.
    pub(super) fn findings(&self) -> Vec<String> {
        self.curves.iter().map(|curve| self.finding(curve)).collect()
    }

    fn finding(&self, curve: &Curve) -> String {
        let published = number(self.published);
        let mut said = match curve.reaches(self.published) {
            Some(x) => {
                let x = tick((x * 10.0).round() / 10.0);
                format!("is {published}, as published, at a {} of {x}", self.by)
            }
            None => {
                let values = curve.points.iter().map(|(_, ratio)| *ratio);
                let least = number(values.clone().fold(f64::INFINITY, f64::min));
                let most = number(values.fold(f64::NEG_INFINITY, f64::max));
                format!("is nowhere {published}, as published, but from {least} to {most}")
            }
        };
        if let Some(at) = self.published_at
            && let Some(ratio) = curve.at(at)
        {
            said += &format!("; at the published {} it is {}", tick(at), number(ratio));
        }
        format!("Over {}, {}'s ratio {said}.", curve.over, self.system)
    }

    /// Draws the ratio.
    pub(super) fn paint(&self, title: &str) -> Result<Svg, Failed> {
        let label = Label::of(self.metric);
        let text = format!("{}: {}, ratio to the others'", self.system, label.text);
        let upwards = Label { text, unit: Unit::Factor };
        let across = Label { text: self.by.to_owned(), unit: Unit::Count };
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let marked = |mark: Option<f64>| mark.filter(|_| points().next().is_some());
        let xs: Vec<f64> = points().map(|it| it.0).chain(marked(self.published_at)).collect();
        let ys: Vec<f64> = points().map(|it| it.1).chain(marked(Some(self.published))).collect();
        let (x, y) = (Axis::around(&across, &xs), Axis::around(&upwards, &ys));
        let lines = self.curves.iter().enumerate().map(|(series, curve)| {
            let marks = curve.points.iter().map(|(_, ratio)| number(*ratio)).collect();
            Line { series, points: curve.points.clone(), marks: Some(marks) }
        });
        let rule = |at, text| Rule { at, text: format!("published: {text}") };
        let level = marked(Some(self.published)).map(|y| rule(Along::Y(y), number(y)));
        let upright = marked(self.published_at).map(|x| rule(Along::X(x), tick(x)));
        let rules = level.into_iter().chain(upright).collect();
        let names = self.curves.iter().map(|curve| format!("over {}", curve.over));
        let legend = Legend::of(Mark::Point, &names.enumerate().collect::<Vec<_>>());
        let description = format!("{} over {}. {}", y.title, x.title, self.findings().join(" "));
        let panel = Panel { lines: lines.collect(), rules, ..Panel::new(x, y) };
        Panels { legend, panels: vec![panel], height: HEIGHT }.paint(title, description)
    }
}

impl Curve {
    /// The ratio at a constant, where it is among those that were run or between them.
    fn at(&self, x: f64) -> Option<f64> {
        if let Some((_, ratio)) = self.points.iter().find(|point| point.0 == x) {
            return Some(*ratio);
        }
        let around = self.points.windows(2).find(|pair| pair[0].0 < x && x < pair[1].0)?;
        Some(between(around[0], around[1], x))
    }

    /// A constant at which the ratio is this: the least that was run, or else between two runs.
    fn reaches(&self, ratio: f64) -> Option<f64> {
        if let Some((x, _)) = self.points.iter().find(|point| point.1 == ratio) {
            return Some(*x);
        }
        let crosses = |pair: &&[(f64, f64)]| (pair[0].1 < ratio) != (pair[1].1 < ratio);
        let around = self.points.windows(2).find(crosses)?;
        let turned = |(x, y): (f64, f64)| (y, x);
        Some(between(turned(around[0]), turned(around[1]), ratio))
    }
}

/// The height at `x` of the straight line through two points.
fn between(one: (f64, f64), other: (f64, f64), x: f64) -> f64 {
    one.1 + (other.1 - one.1) * (x - one.0) / (other.0 - one.0)
}

/// A system's text without one of its parameters.
fn without(system: &str, name: &str) -> String {
    let (row, parameters) = row(system);
    let others = parameters.split(',').filter(|parameter| {
        parameter.split_once('=').is_some_and(|(known, _)| known.trim() != name)
    });
    let others: Vec<&str> = others.collect();
    if others.is_empty() { row.to_owned() } else { format!("{row}:{}", others.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    const EXPERIMENT: &str = r#"
title = ''
source = ''
about = ''
drive = ''
phase = []
systems = []
sample_every = '1 s'
[[plot]]
kind = "ratio"
title = "t"
system = "a"
metric = "kv_per_second"
by = "free_min"
published = 1.5
published_at = 10
"#;

    fn findings(by: &str, runs: &[(&str, Option<&str>, f64)]) -> Vec<String> {
        let text = EXPERIMENT.replace("free_min", by);
        let experiment: Experiment = toml::from_str(&text).unwrap();
        let outcomes = runs.iter().map(|(system, variant, kv_per_second)| {
            let mut outcome = Outcome::made_up(system);
            outcome.experiment = String::new();
            outcome.variant = variant.map(str::to_owned);
            outcome.metrics.kv_per_second = *kv_per_second;
            outcome
        });
        let outcomes: Vec<Outcome> = outcomes.collect();
        let arrangement = Arrangement::of(&experiment, &outcomes);
        Ratio::of(&experiment.plots[0], &arrangement).findings()
    }

    #[test]
    fn it_is_told_where_the_published_ratio_falls_and_what_ours_is_at_the_published_constant() {
        let runs = [
            ("a", None, 300.0),
            ("b:x=1,free_min=20", None, 150.0),
            ("b:x=1,free_min=2", None, 300.0),
            ("b:x=1,free_min=5", None, 240.0),
            ("c:free_min=5", None, 250.0),
            ("c:free_min=20", None, 240.0),
            ("d", None, 1.0),
        ];
        assert_eq!(
            findings("free_min", &runs),
            [
                "Over b:x=1, a's ratio is 1.50, as published, at a free_min of 10; at the \
                 published 10 it is 1.50.",
                "Over c, a's ratio is nowhere 1.50, as published, but from 1.20 to 1.25; at the \
                 published 10 it is 1.22.",
            ]
        );
        assert_eq!(findings("free_min", &runs[1..]), [""; 0], "nothing to divide");
    }

    #[test]
    fn settings_are_a_constant_too() {
        let setting = |a: f64, variant| [("a", Some(variant), a), ("b", Some(variant), 100.0)];
        let runs = [setting(300.0, "64 MiB"), setting(100.0, "4 MiB")].concat();
        assert_eq!(
            findings("setting", &runs),
            ["Over b, a's ratio is 1.50, as published, at a setting of 19; at the published 10 \
              it is 1.20."]
        );
    }
}
