//! Plot of metrics as bars: one bar for each outcome, one below the other, with the name of its
//! system above the bar. Several settings have a heading each.
//!
//! Several metrics are stacked in one bar. They should have the same unit: the value next to the
//! bar is their sum, in the unit of the first. A metric that is missing, negative or not finite
//! counts as zero.

use plotters::chart::{ChartBuilder, LabelAreaPosition};
use plotters::element::Rectangle;
use plotters::style::text_anchor::HPos;
use plotters::style::{Color, TRANSPARENT};

use super::arrangement::Arrangement;
use super::axis::{Axis, tick};
use super::ink::Ink;
use super::label::Label;
use super::legend::{Legend, Mark};
use super::lettering::{self, LINE, SIZE, SMALL};
use super::svg::{Area, Failed, Svg, WIDTH, fine};

/// A bar.
struct Bar {
    /// The text above the bar.
    name: String,
    /// Parts of the bar, from left to right; a metric that the run does not have takes no room.
    parts: Vec<f64>,
}

/// A row of the picture; rows stand one below the other.
enum Row {
    /// The setting of the bars that follow.
    Heading(String),
    Bar(Bar),
}

const BAR: f64 = 14.0;
const MARGIN: f64 = 8.0;
/// Room for the value, to the right of the longest bar.
const VALUE: f64 = 62.0;
const LABELS: f64 = 17.0;

impl Row {
    fn height(&self) -> f64 {
        match self {
            Self::Heading(_) => LINE + 6.0,
            Self::Bar(_) => LINE + BAR + 6.0,
        }
    }
}

/// Draws the metrics of all outcomes; several are stacked.
pub(super) fn paint(
    title: &str,
    arrangement: &Arrangement<'_>,
    metrics: &[String],
) -> Result<Svg, Failed> {
    let (label, names) = names(metrics);
    let mut rows = Vec::new();
    for setting in &arrangement.settings {
        if !setting.name.is_empty() {
            rows.push(Row::Heading(setting.name.clone()));
        }
        for (_, outcome) in &setting.outcomes {
            let value = |name: &String| outcome.metrics.value(name).unwrap_or(0.0);
            let clean = |value: f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
            let parts = metrics.iter().map(|name| clean(value(name))).collect();
            rows.push(Row::Bar(Bar { name: outcome.system.clone(), parts }));
        }
    }
    let total = |row: &Row| match row {
        Row::Bar(bar) => bar.parts.iter().sum(),
        Row::Heading(_) => 0.0,
    };
    let largest = rows.iter().map(total).fold(0.0, f64::max);
    let x = Axis::from_zero(&label, std::iter::once(largest));
    let x = Axis { to: if largest > 0.0 { largest * x.factor } else { x.to }, ..x };
    let legend = match names.as_slice() {
        [_] => Legend::default(),
        several => Legend::of(Mark::Area, several),
    };
    let bars = rows.iter().map(Row::height).sum::<f64>().max(60.0);
    let height = legend.height() + LINE + 4.0 + bars + LABELS + 4.0;
    let description = description(&x.title, &label, &rows, &names);
    Svg::paint(title, description, height, |area| {
        legend.paint(area, 0.0)?;
        let style = lettering::style(Ink::Text, SIZE, HPos::Left);
        let top = legend.height();
        lettering::letter(area, &x.title, (MARGIN, top + LINE / 2.0), &style)?;
        let top = top + LINE + 4.0;
        frame(area, &x, top, bars)?;
        if rows.is_empty() {
            let style = lettering::style(Ink::Muted, SIZE, HPos::Center);
            lettering::letter(area, "no data", (WIDTH / 2.0, top + bars / 2.0), &style)?;
        }
        let mut y = top;
        for row in &rows {
            match row {
                Row::Heading(name) => heading(area, name, y)?,
                Row::Bar(bar) => paint_bar(area, bar, &x, &label, y)?,
            }
            y += row.height();
        }
        Ok(())
    })
}

/// Common label of all metrics, and the name of each: `write_amplification.log` is `log` among its
/// like.
fn names(metrics: &[String]) -> (Label, Vec<(usize, String)>) {
    let family = |name: &String| name.split_once('.').map(|(family, _)| family.to_owned());
    let first = metrics.first().and_then(family);
    let alike = metrics.len() > 1 && metrics.iter().all(|name| family(name) == first);
    let named = |name: &String| match (&first, alike) {
        (Some(family), true) => name[family.len() + 1..].replace('_', " "),
        _ => Label::of(name).text,
    };
    let names: Vec<_> = metrics.iter().map(named).enumerate().collect();
    let label = match (first, alike, metrics) {
        (Some(family), true, [one, ..]) => {
            let unit = Label::of(one).unit;
            Label { text: Label::of(&family).text, unit }
        }
        (_, _, [one]) => Label::of(one),
        (_, _, [one, ..]) => {
            let unit = Label::of(one).unit;
            Label { text: unit.together().to_owned(), unit }
        }
        (_, _, []) => Label { text: String::new(), unit: super::Unit::Factor },
    };
    (label, names)
}

/// The grid, and the axis below.
fn frame(area: &Area<'_>, x: &Axis, top: f64, height: f64) -> Result<(), Failed> {
    let origin = (fine(MARGIN), fine(top));
    let size = (fine(WIDTH - MARGIN - VALUE) as u32, fine(height + LABELS) as u32);
    let place = area.clone().shrink(origin, size);
    let mut chart = ChartBuilder::on(&place)
        .set_label_area_size(LabelAreaPosition::Bottom, fine(LABELS))
        .build_cartesian_2d(x.from..x.to, 0.0..1.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_labels(5)
        .y_labels(0)
        .bold_line_style(Ink::Grid.colour().stroke_width(fine(0.5) as u32))
        .light_line_style(TRANSPARENT)
        .axis_style(Ink::Grid.colour().stroke_width(fine(1.0) as u32))
        .x_label_style(lettering::style(Ink::Muted, SMALL, HPos::Center))
        .x_label_formatter(&|value| tick(*value))
        .set_all_tick_mark_size(fine(3.0))
        .draw()
}

fn heading(area: &Area<'_>, name: &str, top: f64) -> Result<(), Failed> {
    let style = lettering::style(Ink::Muted, SIZE, HPos::Left);
    let name = lettering::fit(name, SIZE, WIDTH - 2.0 * MARGIN);
    lettering::letter(area, &name, (MARGIN, top + 6.0 + LINE / 2.0), &style)
}

fn paint_bar(area: &Area<'_>, bar: &Bar, x: &Axis, label: &Label, top: f64) -> Result<(), Failed> {
    let style = lettering::style(Ink::Text, SIZE, HPos::Left);
    let name = lettering::fit(&bar.name, SIZE, WIDTH - 2.0 * MARGIN);
    lettering::letter(area, &name, (MARGIN + 2.0, top + LINE / 2.0), &style)?;
    let unit = (WIDTH - MARGIN - VALUE) / x.to * x.factor;
    let (mut left, upper) = (MARGIN, top + LINE);
    for (series, part) in bar.parts.iter().enumerate() {
        let right = left + part * unit;
        let corners = [(fine(left), fine(upper)), (fine(right), fine(upper + BAR))];
        if corners[0].0 < corners[1].0 {
            area.draw(&Rectangle::new(corners, Ink::Fill(series).colour().filled()))?;
            area.draw(&Rectangle::new(corners, Ink::Hatch(series).colour().filled()))?;
        }
        left = right;
    }
    let value = label.unit.show(bar.parts.iter().sum());
    lettering::letter(area, &value, (left + 4.0, upper + BAR / 2.0), &style)
}

fn description(title: &str, label: &Label, rows: &[Row], names: &[(usize, String)]) -> String {
    let mut setting = String::new();
    let mut words = Vec::new();
    for row in rows {
        match row {
            Row::Heading(name) => setting = format!(" ({name})"),
            Row::Bar(bar) => {
                let parts = bar.parts.iter().zip(names).map(|(value, (_, name))| {
                    let value = label.unit.show(*value);
                    if names.len() > 1 { format!("{name} {value}") } else { value }
                });
                let parts: Vec<_> = parts.collect();
                words.push(format!("{}{setting}: {}", bar.name, parts.join(", ")));
            }
        }
    }
    format!("Bars: {title}. {}.", words.join("; "))
}
