//! Plot of the valid share of each zone of a device at the end of a phase: the zones sorted by it,
//! or its cumulative distribution. Each setting has a panel, and each system a line.
//!
//! The zones are those that an outcome lists: zones of tables that held anything.

use super::arrangement::Arrangement;
use super::axis::Axis;
use super::label::{Label, Unit};
use super::legend::{Legend, Mark};
use super::panels::{Line, Panel, Panels};
use super::svg::{Failed, Svg};
use crate::run::Outcome;

/// The height of a panel.
const HEIGHT: f64 = 170.0;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// One zone next to the other, by valid share.
    Sorted,
    /// The share of zones up to a valid share.
    Cumulative,
}

/// Draws the zones of all outcomes, a panel for each setting.
pub(super) fn paint(
    title: &str,
    arrangement: &Arrangement<'_>,
    order: Order,
) -> Result<Svg, Failed> {
    let valid = Label { text: "valid share of a zone".into(), unit: Unit::Share };
    let zones = Label { text: "zones".into(), unit: Unit::Count };
    let share = Label { text: "share of zones, up to a valid share".into(), unit: Unit::Share };
    let whole = |label: &Label| Axis::from_zero(label, std::iter::once(1.0));
    let most = arrangement.outcomes().map(|outcome| outcome.zones.len()).max().unwrap_or(0);
    let (x, y) = match order {
        Order::Sorted => {
            let count = Axis::from_zero(&zones, std::iter::once(most as f64));
            (Axis { to: (most as f64).max(1.0), ..count }, whole(&valid))
        }
        Order::Cumulative => (whole(&valid), whole(&share)),
    };
    let mut words = Vec::new();
    let mut panels: Vec<Panel> = Vec::new();
    for setting in &arrangement.settings {
        let lines = setting.outcomes.iter().map(|(place, outcome)| {
            let shares = shares(outcome);
            words.extend(average(outcome, &setting.name, &shares));
            let points = match order {
                Order::Sorted => sorted(&shares),
                Order::Cumulative => cumulative(&shares),
            };
            Line { series: *place, points, marks: None }
        });
        let (lines, name) = (lines.collect(), setting.name.clone());
        panels.push(Panel { name, lines, ..Panel::new(x.clone(), y.clone()) });
    }
    if panels.is_empty() {
        panels.push(Panel::new(x, y));
    }
    let names: Vec<_> =
        arrangement.present().into_iter().map(|(place, name)| (place, name.to_owned())).collect();
    let legend = Legend::of(Mark::Line, &names);
    let description =
        format!("How much of each zone that holds anything is valid. {}.", words.join("; "));
    Panels { legend, panels, height: HEIGHT }.paint(title, description)
}

/// The valid shares of zones, the least first.
fn shares(outcome: &Outcome) -> Vec<f64> {
    let shares = outcome.zones.iter().map(|zone| zone.valid).filter(|valid| valid.is_finite());
    let mut shares: Vec<f64> = shares.collect();
    shares.sort_by(f64::total_cmp);
    shares
}

fn average(outcome: &Outcome, setting: &str, shares: &[f64]) -> Option<String> {
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let setting = if setting.is_empty() { String::new() } else { format!(" ({setting})") };
    let zones = shares.len();
    let (system, mean) = (&outcome.system, Unit::Share.show(mean));
    (!shares.is_empty()).then(|| format!("{system}{setting}: {zones} zones, {mean} on average"))
}

/// A stair: each zone is as wide as one.
fn sorted(shares: &[f64]) -> Vec<(f64, f64)> {
    let steps = shares.iter().enumerate();
    steps.flat_map(|(at, share)| [(at as f64, *share), ((at + 1) as f64, *share)]).collect()
}

/// A stair: each zone is as high as its share of all.
fn cumulative(shares: &[f64]) -> Vec<(f64, f64)> {
    if shares.is_empty() {
        return Vec::new();
    }
    let part = |count: usize| count as f64 / shares.len() as f64;
    let mut points = vec![(0.0, 0.0)];
    for (at, share) in shares.iter().enumerate() {
        points.extend([(*share, part(at)), (*share, part(at + 1))]);
    }
    points.push((1.0, 1.0));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_have_a_step_for_each_zone() {
        let shares = [0.25, 0.5];
        assert_eq!(sorted(&shares), [(0.0, 0.25), (1.0, 0.25), (1.0, 0.5), (2.0, 0.5)]);
        assert_eq!(
            cumulative(&shares),
            [(0.0, 0.0), (0.25, 0.0), (0.25, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0)]
        );
        assert_eq!(cumulative(&[]), []);
    }
}
