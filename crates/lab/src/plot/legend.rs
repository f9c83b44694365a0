//! [`Legend`]: the meaning of the lines, points and areas of a plot.
//!
//! A name that does not fit into a line is cut. [`point`] draws the point of a series, in one of
//! five shapes, for legends and plots.

use plotters::element::{PathElement, Polygon, Rectangle};
use plotters::style::Color;
use plotters::style::text_anchor::HPos;

use super::ink::Ink;
use super::lettering::{self, LINE, SIZE};
use super::svg::{Area, Failed, WIDTH, fine};

/// Mark before a name in the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A piece of a line.
    Line,
    /// A point.
    Point,
    /// A piece of an area.
    Area,
}

/// Names, each with its mark.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Legend {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    mark: Mark,
    series: usize,
    name: String,
    /// The place where the mark begins, and its line.
    at: (f64, usize),
}

/// The room of a mark with the gap after it, and between two names.
const MARK: f64 = 30.0;
const GAP: f64 = 14.0;
const MARGIN: f64 = 8.0;

impl Legend {
    /// Names in lines, as many to each as there is room for.
    pub(super) fn of(mark: Mark, names: &[(usize, String)]) -> Self {
        let (mut x, mut line) = (MARGIN, 0);
        let mut entries = Vec::new();
        for (series, name) in names {
            let name = lettering::fit(name, SIZE, WIDTH - 2.0 * MARGIN - MARK);
            let width = MARK + lettering::width(&name, SIZE);
            if x > MARGIN && x + width > WIDTH - MARGIN {
                (x, line) = (MARGIN, line + 1);
            }
            entries.push(Entry { mark, series: *series, name, at: (x, line) });
            x += width + GAP;
        }
        Self { entries }
    }

    /// How high it is.
    pub(super) fn height(&self) -> f64 {
        self.entries.last().map_or(0.0, |last| (last.at.1 + 1) as f64 * LINE + 4.0)
    }

    /// Draws it, its upper edge at `top`.
    pub(super) fn paint(&self, area: &Area<'_>, top: f64) -> Result<(), Failed> {
        let style = lettering::style(Ink::Text, SIZE, HPos::Left);
        for Entry { mark, series, name, at: (x, line) } in &self.entries {
            let y = top + *line as f64 * LINE + LINE / 2.0;
            let (from, to) = (*x, x + MARK - 8.0);
            match mark {
                Mark::Line => {
                    let stroke = Ink::Line(*series).colour().stroke_width(fine(2.0) as u32);
                    let ends = vec![(fine(from), fine(y)), (fine(to), fine(y))];
                    area.draw(&PathElement::new(ends, stroke))?;
                }
                Mark::Point => point(area, (fine((from + to) / 2.0), fine(y)), *series)?,
                Mark::Area => {
                    let corners = [(fine(from), fine(y - 5.0)), (fine(to), fine(y + 5.0))];
                    area.draw(&Rectangle::new(corners, Ink::Fill(*series).colour().filled()))?;
                    area.draw(&Rectangle::new(corners, Ink::Hatch(*series).colour().filled()))?;
                }
            }
            lettering::letter(area, name, (x + MARK, y), &style)?;
        }
        Ok(())
    }
}

/// The corners of a point around its middle, in tenths of a unit: each series has its shape.
const SHAPES: [&[(i32, i32)]; 5] = [
    &[(-17, -41), (17, -41), (41, -17), (41, 17), (17, 41), (-17, 41), (-41, 17), (-41, -17)],
    &[(0, -48), (44, 36), (-44, 36)],
    &[(-36, -36), (36, -36), (36, 36), (-36, 36)],
    &[(0, -52), (40, 0), (0, 52), (-40, 0)],
    &[(0, 48), (44, -36), (-44, -36)],
];

/// Draws the point of a series.
pub(super) fn point(area: &Area<'_>, (x, y): (i32, i32), series: usize) -> Result<(), Failed> {
    let corners = SHAPES[series % SHAPES.len()].iter();
    let tenth = |n: i32| fine(f64::from(n) / 10.0);
    let corners: Vec<_> = corners.map(|(dx, dy)| (x + tenth(*dx), y + tenth(*dy))).collect();
    area.draw(&Polygon::new(corners, Ink::Fill(series).colour()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_on_in_the_next_line_where_there_is_no_room() {
        assert_eq!(Legend::default().height(), 0.0);
        let names = |names: &[&str]| -> Vec<(usize, String)> {
            names.iter().map(|name| (*name).to_owned()).enumerate().collect()
        };
        let one = Legend::of(Mark::Line, &names(&["bluefs", "geardb"]));
        let two = Legend::of(
            Mark::Line,
            &names(&["leveldb-greedy:free_min=20", "leveldb-greedy", "leveldb-greedy:factor=4"]),
        );
        assert_eq!((one.height(), two.height()), (LINE + 4.0, 2.0 * LINE + 4.0));
        let long =
            "leveldb-greedy:factor=4,free_min=7,gain_min=20,level1_size=3MiB,table_size=4MiB";
        let long = Legend::of(Mark::Line, &names(&[long]));
        assert!(long.entries[0].name.ends_with('…'), "{long:?}");
    }
}
