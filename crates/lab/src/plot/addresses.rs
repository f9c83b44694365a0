//! Plots of addresses on a device without zones: the tables that each merge wrote (SEALDB's figures
//! 2 and 11), and the free runs at the end that count as fragments, because they are too short for
//! a usual write (its figure 13).
//!
//! A merge is drawn as vertical lines over its number, one for each piece that it wrote; pieces too
//! short to be seen are drawn longer. A free run is a vertical line over its address, as high as
//! the run is long. The panels of a plot have the same axes. Merges whose pieces the outcome does
//! not hold are not drawn.

use super::arrangement::Arrangement;
use super::axis::Axis;
use super::label::{Label, Unit, number};
use super::legend::Legend;
use super::panels::{Line, Panel, Panels};
use super::svg::{Failed, Svg};
use crate::run::{Addresses, Outcome, Stretch};

/// The height of a panel.
const HEIGHT: f64 = 132.0;
/// Share of it that the shortest piece takes: less could not be seen.
const SEEN: f64 = 1.0 / HEIGHT;
const GIB: f64 = 1024.0;

/// Draws the tables that merges wrote, a panel for each outcome.
pub(super) fn paint_merges(title: &str, arrangement: &Arrangement<'_>) -> Result<Svg, Failed> {
    let most = arrangement.outcomes().map(|it| it.addresses.merges).max().unwrap_or(0);
    let ends = arrangement.outcomes().flat_map(|it| it.addresses.pieces.iter());
    let y = Axis::from_zero(&count("address, GiB"), ends.map(|it| it.at.end() / GIB));
    let x = Axis::from_zero(&count("merges"), std::iter::once(f64::from(most)));
    let x = Axis { to: f64::from(most.max(1)), ..x };
    let least = y.to * SEEN;
    let lines = |addresses: &Addresses| {
        let piece = |(merge, at): (u32, Stretch)| {
            let (x, from) = (f64::from(merge), at.start / GIB);
            upright(x, from, from + (at.mib / GIB).max(least))
        };
        addresses.pieces.iter().map(|it| piece((it.merge, it.at))).collect()
    };
    let words = |addresses: &Addresses| {
        let merges = addresses.pieces.chunk_by(|one, other| one.merge == other.merge).count();
        let mib: f64 = addresses.pieces.iter().map(|piece| piece.at.mib).sum();
        let (pieces, merges) = (addresses.pieces.len() as f64, merges.max(1) as f64);
        format!(
            "{} merges, each in {} pieces of {} MiB on average; {} GiB of the device are in use",
            addresses.merges,
            number(pieces / merges),
            number(mib / pieces.max(1.0)),
            number(addresses.end / GIB)
        )
    };
    paint(title, "Where merges wrote", arrangement, (&x, &y), lines, words)
}

/// Draws free runs that are too short for a usual write, a panel for each outcome.
pub(super) fn paint_free_runs(title: &str, arrangement: &Arrangement<'_>) -> Result<Svg, Failed> {
    let all = || arrangement.outcomes().flat_map(|outcome| fragments(&outcome.addresses));
    let x = Axis::from_zero(&count("address, GiB"), all().map(|run| run.start / GIB));
    let y = Axis::from_zero(&count("free run, MiB"), all().map(|run| run.mib));
    let lines = |addresses: &Addresses| {
        fragments(addresses).map(|run| upright(run.start / GIB, 0.0, run.mib)).collect()
    };
    let words = |addresses: &Addresses| {
        let (count, mib) =
            fragments(addresses).fold((0_u32, 0.0), |(count, mib), run| (count + 1, mib + run.mib));
        let mean = mib / f64::from(count.max(1));
        format!(
            "{count} runs of {} MiB on average; {} GiB of the device are in use",
            number(mean),
            number(addresses.end / GIB)
        )
    };
    paint(title, "Free runs shorter than a set", arrangement, (&x, &y), lines, words)
}

/// The free runs that are shorter than a usual write.
fn fragments(addresses: &Addresses) -> impl Iterator<Item = &Stretch> {
    addresses.free.iter().filter(|run| run.mib < addresses.fragment)
}

fn count(text: &str) -> Label {
    Label { text: text.to_owned(), unit: Unit::Count }
}

fn upright(x: f64, from: f64, to: f64) -> Line {
    Line { series: 0, points: vec![(x, from), (x, to)], marks: None }
}

fn paint(
    title: &str,
    what: &str,
    arrangement: &Arrangement<'_>,
    (x, y): (&Axis, &Axis),
    lines: impl Fn(&Addresses) -> Vec<Line>,
    words: impl Fn(&Addresses) -> String,
) -> Result<Svg, Failed> {
    let (mut panels, mut told) = (Vec::new(), Vec::new());
    for setting in &arrangement.settings {
        for (_, outcome) in &setting.outcomes {
            let name = name(outcome, &setting.name);
            let lines = lines(&outcome.addresses);
            if !lines.is_empty() {
                told.push(format!("{name}: {}", words(&outcome.addresses)));
            }
            panels.push(Panel { name, lines, ..Panel::new(x.clone(), y.clone()) });
        }
    }
    if panels.is_empty() {
        panels.push(Panel::new(x.clone(), y.clone()));
    }
    let description = format!("{what}. {}.", told.join("; "));
    Panels { legend: Legend::default(), panels, height: HEIGHT }.paint(title, description)
}

fn name(outcome: &Outcome, setting: &str) -> String {
    match setting {
        "" => outcome.system.clone(),
        setting => format!("{}, {setting}", outcome.system),
    }
}
