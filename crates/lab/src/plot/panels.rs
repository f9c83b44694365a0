//! [`Panels`]: charts one below the other, with lines and points in them, and straight lines at
//! values to compare with ([`Rule`]).
//!
//! A line joins its points in the order given. A line of more than 720 points must go from left to
//! right. It is thinned: in each of 360 columns, its least and its greatest point are drawn. Marked
//! points are all drawn, but a text next to a point is left out where there is no space for it. A
//! line of a single point is seen only if its points are marked.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::types::RangedCoordf64;
use plotters::element::PathElement;
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::HPos;
use plotters::style::{Color, TRANSPARENT};

use super::axis::{Axis, tick};
use super::ink::Ink;
use super::legend::{self, Legend};
use super::lettering::{self, LINE, SIZE, SMALL};
use super::svg::{Area, Failed, Svg, WIDTH, fine};

/// Charts one below the other.
pub(super) struct Panels {
    /// Above all of them.
    pub(super) legend: Legend,
    /// Panels, from above.
    pub(super) panels: Vec<Panel>,
    /// How high each is, without its surroundings.
    pub(super) height: f64,
}

/// A chart.
pub(super) struct Panel {
    /// A legend of its own, where the lines are others than in other panels.
    pub(super) legend: Legend,
    /// Name that tells it from other panels, before the title of the upright axis.
    pub(super) name: String,
    /// The axis to the right.
    pub(super) x: Axis,
    /// The axis upwards.
    pub(super) y: Axis,
    /// Lines of the panel.
    pub(super) lines: Vec<Line>,
    /// Values that the lines are compared with.
    pub(super) rules: Vec<Rule>,
}

/// A straight line across a panel, with a text next to it.
pub(super) struct Rule {
    pub(super) at: Along,
    pub(super) text: String,
}

/// The place of a rule, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Along {
    /// Upright, at this place to the right.
    X(f64),
    /// Level, at this height.
    Y(f64),
}

/// A line, in the unit of its values; the axes scale it.
pub(super) struct Line {
    /// Which series, which says how it looks.
    pub(super) series: usize,
    /// Points, from left to right.
    pub(super) points: Vec<(f64, f64)>,
    /// Texts at the points; `None`: the points are not marked.
    pub(super) marks: Option<Vec<String>>,
}

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Below a chart: the labels of its axis, and the axis's title.
const LABELS: f64 = 17.0;
const MARGIN: f64 = 8.0;
const RIGHT: f64 = 14.0;

impl Panels {
    /// Draws the panels.
    pub(super) fn paint(&self, title: &str, description: String) -> Result<Svg, Failed> {
        let titles: Vec<bool> = (0..self.panels.len()).map(|at| self.ends_axis(at)).collect();
        let height = |(panel, titled): (&Panel, &bool)| {
            let title = if *titled { LINE + 2.0 } else { 4.0 };
            LINE + 4.0 + panel.legend.height() + self.height + LABELS + title
        };
        let heights: Vec<f64> = self.panels.iter().zip(&titles).map(height).collect();
        let all = self.legend.height() + heights.iter().sum::<f64>();
        Svg::paint(title, description, all, |area| {
            self.legend.paint(area, 0.0)?;
            let mut top = self.legend.height();
            for ((panel, height), titled) in self.panels.iter().zip(&heights).zip(&titles) {
                panel.paint(area, top, self.height, *titled)?;
                top += height;
            }
            Ok(())
        })
    }

    /// Whether the title of the axis to the right stands below a panel: it is said once for
    /// neighbours that share it.
    fn ends_axis(&self, at: usize) -> bool {
        self.panels.get(at + 1).is_none_or(|next| next.x.title != self.panels[at].x.title)
    }
}

impl Panel {
    /// An empty panel.
    pub(super) fn new(x: Axis, y: Axis) -> Self {
        let (legend, name) = (Legend::default(), String::new());
        Self { legend, name, x, y, lines: Vec::new(), rules: Vec::new() }
    }

    fn paint(&self, area: &Area<'_>, top: f64, height: f64, titled: bool) -> Result<(), Failed> {
        let heading = match (self.name.as_str(), self.y.title.as_str()) {
            ("", title) => title.to_owned(),
            (name, title) => format!("{name}: {title}"),
        };
        let heading = lettering::fit(&heading, SIZE, WIDTH - 2.0 * MARGIN);
        let style = lettering::style(Ink::Text, SIZE, HPos::Left);
        lettering::letter(area, &heading, (MARGIN, top + LINE / 2.0), &style)?;
        self.legend.paint(area, top + LINE + 2.0)?;
        let top = top + LINE + 4.0 + self.legend.height();
        let mut chart = self.frame(area, top, height)?;
        if self.lines.iter().all(|line| line.points.is_empty()) {
            let style = lettering::style(Ink::Muted, SIZE, HPos::Center);
            lettering::letter(area, "no data", (WIDTH / 2.0, top + height / 2.0), &style)?;
        }
        let mut taken = Vec::new();
        for rule in &self.rules {
            self.rule(area, &mut chart, rule, &mut taken)?;
        }
        for line in &self.lines {
            self.line(&mut chart, line)?;
        }
        for line in &self.lines {
            self.marks(area, &chart, line, &mut taken)?;
        }
        if titled {
            let style = lettering::style(Ink::Muted, SMALL, HPos::Right);
            let at = (WIDTH - RIGHT, top + height + LABELS + LINE / 2.0);
            lettering::letter(area, &self.x.title, at, &style)?;
        }
        Ok(())
    }

    /// The axes with their grid.
    fn frame<'a>(&self, area: &Area<'a>, top: f64, height: f64) -> Result<Chart<'a>, Failed> {
        let origin = (0, fine(top));
        let size = (fine(WIDTH - RIGHT) as u32, fine(height + LABELS) as u32);
        let place = area.clone().shrink(origin, size);
        let left = MARGIN + self.label_width();
        let mut chart = ChartBuilder::on(&place)
            .set_label_area_size(plotters::chart::LabelAreaPosition::Left, fine(left))
            .set_label_area_size(plotters::chart::LabelAreaPosition::Bottom, fine(LABELS))
            .build_cartesian_2d(self.x.from..self.x.to, self.y.from..self.y.to)?;
        chart
            .configure_mesh()
            .x_labels(7)
            .y_labels((height / 24.0) as usize)
            .bold_line_style(Ink::Grid.colour().stroke_width(fine(0.5) as u32))
            .light_line_style(TRANSPARENT)
            .axis_style(Ink::Grid.colour().stroke_width(fine(1.0) as u32))
            .x_label_style(lettering::style(Ink::Muted, SMALL, HPos::Center))
            .y_label_style(lettering::style(Ink::Muted, SMALL, HPos::Right))
            .x_label_formatter(&|value| tick(*value))
            .y_label_formatter(&|value| tick(*value))
            .set_all_tick_mark_size(fine(3.0))
            .draw()?;
        Ok(chart)
    }

    /// The room for labels at the upright axis: all as wide as the widest could be.
    fn label_width(&self) -> f64 {
        let ends = [self.y.to, self.y.to / 4.0, self.y.to / 8.0];
        let widest = ends.map(|value| {
            let scale = 10_f64.powf(value.abs().max(1e-9).log10().floor() - 1.0);
            lettering::width(&tick((value / scale).round() * scale), SMALL)
        });
        widest.into_iter().fold(14.0, f64::max) + 6.0
    }

    fn scaled(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (x * self.x.factor, y * self.y.factor)
    }

    fn line(&self, chart: &mut Chart<'_>, line: &Line) -> Result<(), Failed> {
        let points =
            thinned(&line.points, (self.x.from / self.x.factor, self.x.to / self.x.factor));
        let points: Vec<_> = points.into_iter().map(|point| self.scaled(point)).collect();
        if points.len() > 1 {
            let stroke = Ink::Line(line.series).colour().stroke_width(fine(1.5) as u32);
            chart.draw_series([PathElement::new(points, stroke)])?;
        }
        Ok(())
    }

    /// A rule, with its text where it begins: above a level one, and next to an upright one at its
    /// foot, on the side where there is room.
    fn rule(
        &self,
        area: &Area<'_>,
        chart: &mut Chart<'_>,
        rule: &Rule,
        taken: &mut Vec<[f64; 4]>,
    ) -> Result<(), Failed> {
        let ends = match rule.at {
            Along::X(x) => [(x * self.x.factor, self.y.from), (x * self.x.factor, self.y.to)],
            Along::Y(y) => [(self.x.from, y * self.y.factor), (self.x.to, y * self.y.factor)],
        };
        let stroke = Ink::Rule.colour().stroke_width(fine(1.0) as u32);
        chart.draw_series([PathElement::new(ends.to_vec(), stroke)])?;
        let units = |(x, y): (i32, i32)| {
            (f64::from(x) / f64::from(fine(1.0)), f64::from(y) / f64::from(fine(1.0)))
        };
        let from = units(chart.backend_coord(&ends[0]));
        let width = lettering::width(&rule.text, SMALL);
        let (left, middle) = match rule.at {
            Along::Y(_) => (from.0 + 4.0, from.1 - 7.0),
            Along::X(_) if from.0 + 4.0 + width <= WIDTH - RIGHT => (from.0 + 4.0, from.1 - 8.0),
            Along::X(_) => (from.0 - 4.0 - width, from.1 - 8.0),
        };
        taken.push([left, middle - 6.0, left + width, middle + 6.0]);
        let style = lettering::style(Ink::Text, SMALL, HPos::Left);
        lettering::letter(area, &rule.text, (left, middle), &style)
    }

    /// Points, and their texts where there is room.
    fn marks(
        &self,
        area: &Area<'_>,
        chart: &Chart<'_>,
        line: &Line,
        taken: &mut Vec<[f64; 4]>,
    ) -> Result<(), Failed> {
        let Some(names) = &line.marks else { return Ok(()) };
        let at = |point: &(f64, f64)| chart.backend_coord(&self.scaled(*point));
        let units = |fine: i32| f64::from(fine) / f64::from(self::fine(1.0));
        for point in &line.points {
            let (x, y) = at(point);
            legend::point(area, (x, y), line.series)?;
            let (x, y) = (units(x), units(y));
            taken.push([x - 5.0, y - 5.0, x + 5.0, y + 5.0]);
        }
        let style = lettering::style(Ink::Muted, SMALL, HPos::Left);
        for (point, name) in line.points.iter().zip(names).filter(|(_, name)| !name.is_empty()) {
            let (x, y) = (units(at(point).0), units(at(point).1));
            let width = lettering::width(name, SMALL);
            let beside = [
                (x - width / 2.0, y - 12.0),
                (x - width / 2.0, y + 12.0),
                (x + 8.0, y),
                (x - 8.0 - width, y),
            ];
            let room = beside.into_iter().find_map(|(left, middle)| {
                let own = [left, middle - 6.0, left + width, middle + 6.0];
                let inside = own[0] >= MARGIN && own[2] <= WIDTH - 2.0;
                let free = !taken.iter().any(|other| overlap(&own, other));
                (inside && free).then_some((own, (left, middle)))
            });
            if let Some((own, place)) = room {
                taken.push(own);
                lettering::letter(area, name, place, &style)?;
            }
        }
        Ok(())
    }
}

fn overlap(one: &[f64; 4], other: &[f64; 4]) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

/// Number of columns for each of which the least and the greatest point are drawn: the eye sees no
/// more of a line that has more points than the screen.
const COLUMNS: usize = 360;

/// The points that are drawn of a line, on an axis that begins and ends there.
fn thinned(points: &[(f64, f64)], (from, to): (f64, f64)) -> Vec<(f64, f64)> {
    if points.len() <= 2 * COLUMNS || to <= from {
        return points.to_vec();
    }
    let column = |(x, _): &(f64, f64)| ((x - from) / (to - from) * COLUMNS as f64) as usize;
    let mut kept = Vec::new();
    for part in points.chunk_by(|one, other| column(one) == column(other)) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = [part.iter().min_by(by_value), part.iter().max_by(by_value)];
        let mut ends: Vec<(f64, f64)> = ends.into_iter().flatten().copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        kept.extend(ends);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_many_points_keeps_its_peaks_and_its_order() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|i| (f64::from(i), 1.0)).collect();
        points[4321].1 = 9.0;
        points[4325].1 = -3.0;
        let thin = thinned(&points, (0.0, 10_000.0));
        assert!(thin.len() <= 2 * COLUMNS);
        assert!(thin.contains(&(4321.0, 9.0)) && thin.contains(&(4325.0, -3.0)));
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
        // An axis that does not begin at 0 has all columns for itself.
        let far: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x + 1e6, *y)).collect();
        assert_eq!(thinned(&far, (1e6, 1_010_000.0)).len(), thin.len());
        assert_eq!(thinned(&points[..700], (0.0, 700.0)), points[..700]);
    }
}
