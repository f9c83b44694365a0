//! Plot of how long the merges of a phase took, in the order in which they ended (GearDB's figure
//! 15).
//!
//! Each outcome has a panel. The panels have the same axes, so that runs can be compared. Of more
//! than 720 merges, the shortest and the longest in each 360th of the axis are drawn. A single
//! merge is not seen, only told in the description.

use super::arrangement::Arrangement;
use super::axis::Axis;
use super::label::{Label, Unit};
use super::legend::Legend;
use super::panels::{Line, Panel, Panels};
use super::svg::{Failed, Svg};
use crate::run::Outcome;

/// The height of a panel.
const HEIGHT: f64 = 96.0;

/// Draws the merges of all outcomes, a panel for each.
pub(super) fn paint(title: &str, arrangement: &Arrangement<'_>) -> Result<Svg, Failed> {
    let merges = Label { text: "merges".into(), unit: Unit::Count };
    let time = Label { text: "time of a merge".into(), unit: Unit::Seconds };
    let most = arrangement.outcomes().map(|outcome| outcome.merges.len()).max().unwrap_or(0);
    let all = arrangement.outcomes().flat_map(|outcome| outcome.merges.iter().copied());
    let count = Axis::from_zero(&merges, std::iter::once(most as f64));
    let (x, y) = (Axis { to: (most as f64).max(1.0), ..count }, Axis::from_zero(&time, all));
    let (mut panels, mut words) = (Vec::new(), Vec::new());
    for setting in &arrangement.settings {
        for (_, outcome) in &setting.outcomes {
            let name = match setting.name.as_str() {
                "" => outcome.system.clone(),
                setting => format!("{}, {setting}", outcome.system),
            };
            words.extend(summary(outcome, &name));
            let values = outcome.merges.iter().enumerate();
            let points = values.map(|(at, seconds)| (at as f64, *seconds)).collect();
            let lines = vec![Line { series: 0, points, marks: None }];
            panels.push(Panel { name, lines, ..Panel::new(x.clone(), y.clone()) });
        }
    }
    if panels.is_empty() {
        panels.push(Panel::new(x, y));
    }
    let description = format!("How long each merge took. {}.", words.join("; "));
    Panels { legend: Legend::default(), panels, height: HEIGHT }.paint(title, description)
}

/// Number, mean and longest, in words.
fn summary(outcome: &Outcome, name: &str) -> Option<String> {
    let merges = &outcome.merges;
    let longest = merges.iter().copied().max_by(f64::total_cmp)?;
    let mean = merges.iter().sum::<f64>() / merges.len() as f64;
    let [mean, longest] = [mean, longest].map(|seconds| Unit::Seconds.show(seconds));
    Some(format!("{name}: {} merges of {mean} on average, the longest {longest}", merges.len()))
}
