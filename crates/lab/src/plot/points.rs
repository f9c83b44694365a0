//! Plot of one metric over another: a point for each outcome that has both.
//!
//! A line joins the outcomes of systems that differ at most in their parameters, such as `bluefs`
//! with several values of one, in all settings and in the order of the experiment. A setting in
//! which several of these systems ran has a line of its own.

use super::arrangement::{Arrangement, row};
use super::axis::Axis;
use super::label::Label;
use super::legend::{Legend, Mark};
use super::panels::{Line, Panel, Panels};
use super::svg::{Failed, Svg};
use crate::run::Outcome;

/// The height of the chart.
const HEIGHT: f64 = 210.0;

/// Runs that are joined.
struct Joined<'a> {
    name: String,
    runs: Vec<Run<'a>>,
}

/// A run, with its differences from those that it is joined with.
struct Run<'a> {
    outcome: &'a Outcome,
    parameters: &'a str,
    setting: &'a str,
}

/// Draws `y` over `x` for all outcomes.
pub(super) fn paint(
    title: &str,
    arrangement: &Arrangement<'_>,
    x: &str,
    y: &str,
) -> Result<Svg, Failed> {
    let joined = join(arrangement);
    let (across, upwards) = (Label::of(x), Label::of(y));
    let mut words = Vec::new();
    let (mut lines, mut names) = (Vec::new(), Vec::new());
    for (series, Joined { name, runs }) in joined.iter().enumerate() {
        let value = |run: &Run<'_>, name: &str| {
            run.outcome.metrics.value(name).filter(|value| value.is_finite())
        };
        let there = runs.iter().filter_map(|run| Some((run, value(run, x)?, value(run, y)?)));
        let there: Vec<_> = there.collect();
        let (common, marks) = marks(there.iter().map(|(run, ..)| *run));
        for ((_, x, y), mark) in there.iter().zip(&marks) {
            let (x, y) = (across.unit.show(*x), upwards.unit.show(*y));
            let run = format!("{name} {mark}");
            words.push(format!("{}: {y} at {x}", run.trim_end()));
        }
        let points = there.iter().map(|(_, x, y)| (*x, *y)).collect();
        lines.push(Line { series, points, marks: Some(marks) });
        let by = common.map_or(String::new(), |parameter| format!(", by {parameter}"));
        names.push((series, format!("{name}{by}")));
    }
    let all = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        lines.iter().flat_map(|line| &line.points).map(of).collect()
    };
    let (x, y) = (Axis::around(&across, &all(|it| it.0)), Axis::around(&upwards, &all(|it| it.1)));
    let description = format!("{} over {}. {}.", y.title, x.title, words.join("; "));
    let panel = Panel { lines, ..Panel::new(x, y) };
    let legend = Legend::of(Mark::Point, &names);
    Panels { legend, panels: vec![panel], height: HEIGHT }.paint(title, description)
}

/// Runs by row; and by setting too, where a row has several systems in one.
fn join<'a>(arrangement: &'a Arrangement<'a>) -> Vec<Joined<'a>> {
    let mut joined: Vec<Joined<'a>> = Vec::new();
    for setting in &arrangement.settings {
        for (_, outcome) in &setting.outcomes {
            let (name, parameters) = row(&outcome.system);
            let mut here = setting.outcomes.iter().map(|(_, other)| row(&other.system).0);
            let several = here.by_ref().filter(|other| *other == name).nth(1).is_some();
            let (name, rest) = match several && !setting.name.is_empty() {
                true => (format!("{name}, {}", setting.name), ""),
                false => (name.to_owned(), setting.name.as_str()),
            };
            let run = Run { outcome, parameters, setting: rest };
            match joined.iter_mut().find(|other| other.name == name) {
                Some(joined) => joined.runs.push(run),
                None => joined.push(Joined { name, runs: vec![run] }),
            }
        }
    }
    joined
}

/// Marks of runs that are joined: the parameters in which the systems differ, or only their values
/// and the parameter they are of, if all differ in one.
fn marks<'a>(runs: impl Iterator<Item = &'a Run<'a>>) -> (Option<&'a str>, Vec<String>) {
    let runs: Vec<&Run<'_>> = runs.collect();
    let one = |run: &Run<'a>| {
        let (parameter, value) = run.parameters.split_once('=')?;
        (!value.contains(',')).then_some((parameter, value))
    };
    let mut parameters = runs.iter().map(|run| one(run).map(|(parameter, _)| parameter));
    let first = parameters.next().flatten();
    let common = first.filter(|first| parameters.all(|parameter| parameter == Some(first)));
    let common = common.filter(|_| runs.len() > 1);
    let mark = |run: &&Run<'a>| {
        let value = common.and_then(|_| one(run)).map_or(run.parameters, |(_, value)| value);
        let parts = [value, run.setting];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    };
    (common, runs.iter().map(mark).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::run::{Cost, Metrics};

    fn joined(runs: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>, Vec<String>)> {
        let text = "title = ''\nsource = ''\nabout = ''\ndrive = ''\nphase = []\nsystems = []\n\
                    sample_every = '1 s'";
        let experiment: Experiment = toml::from_str(text).unwrap();
        let outcomes: Vec<Outcome> = runs
            .iter()
            .map(|(system, variant)| Outcome {
                experiment: String::new(),
                system: (*system).to_owned(),
                variant: variant.map(str::to_owned),
                phase: "fillrandom".into(),
                scale: "1/64".into(),
                seed: 1,
                metrics: Metrics::default(),
                samples: Vec::new(),
                merges: Vec::new(),
                zones: Vec::new(),
                addresses: crate::run::Addresses::default(),
                cost: Cost::default(),
            })
            .collect();
        let arrangement = Arrangement::of(&experiment, &outcomes);
        let joined = join(&arrangement).into_iter().map(|Joined { name, runs }| {
            let (common, marks) = marks(runs.iter());
            (name, common.map(str::to_owned), marks)
        });
        joined.collect()
    }

    #[test]
    fn runs_are_joined_by_row_and_marked_by_what_they_differ_in() {
        let found = joined(&[("a:x=1", None), ("b", None), ("a:x=2", None)]);
        let by_x = ("a".to_owned(), Some("x".to_owned()), vec!["1".into(), "2".into()]);
        assert_eq!(found, [by_x, ("b".to_owned(), None, vec![String::new()])]);
        let found = joined(&[("a:x=1", None), ("a", None), ("a:x=1,y=2", None)]);
        let marks = vec!["x=1".into(), String::new(), "x=1,y=2".into()];
        assert_eq!(found, [("a".to_owned(), None, marks)]);
    }

    #[test]
    fn settings_are_joined_unless_a_row_has_several_systems_in_each() {
        let found = joined(&[("a", Some("20 GB")), ("a", Some("40 GB"))]);
        assert_eq!(found, [("a".to_owned(), None, vec!["20 GB".into(), "40 GB".into()])]);
        let found = joined(&[("a:x=1", Some("20 GB")), ("a:x=2", Some("20 GB")), ("b", None)]);
        assert_eq!((found[0].0.as_str(), found[1].0.as_str()), ("a, 20 GB", "b"));
    }
}
