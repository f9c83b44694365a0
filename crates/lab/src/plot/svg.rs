//! [`Svg`]: a drawing in SVG. It names colours by classes, so that a style sheet decides them.
//!
//! [`Svg::inline`] is a part of a page: the page must have the style sheet and the hatches.
//! [`Svg::standalone`] is a whole file: it contains both, and shows the title.

use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::prelude::SVGBackend;

use super::ink::attributes;
use super::lettering::{self, LINE};
use super::palette;

/// The width of every drawing in units. A unit is about a pixel of a telephone's screen held
/// upright, so that letters have the sizes that they state.
pub(super) const WIDTH: f64 = 400.0;

/// The library counts in whole numbers; it gets this many to the unit.
const FINE: f64 = 4.0;

/// Where something is drawn.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Error of the library.
pub(super) type Failed = DrawingAreaErrorKind<std::io::Error>;

/// Units in the numbers of the library.
pub(super) fn fine(units: f64) -> i32 {
    (units * FINE).round() as i32
}

/// A drawing: as wide as its room, in the colours of its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Svg {
    title: String,
    description: String,
    body: String,
    height: i32,
}

impl Svg {
    /// Draws `height` units high.
    pub(super) fn paint(
        title: &str,
        description: String,
        height: f64,
        paint: impl FnOnce(&Area<'_>) -> Result<(), Failed>,
    ) -> Result<Self, Failed> {
        let mut drawn = String::new();
        let size = (fine(WIDTH) as u32, fine(height) as u32);
        {
            let area = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
            paint(&area)?;
            area.present()?;
        }
        // The outermost tag is ours.
        let inner = drawn.split_once(">\n").map_or("", |(_, inner)| inner);
        let inner = inner.trim_end().strip_suffix("</svg>").unwrap_or(inner);
        let (title, body) = (title.to_owned(), attributes(inner));
        Ok(Self { title, description, body, height: fine(height) })
    }

    /// Title of the picture.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// As a part of a page, which gives it the [style sheet](super::style_sheet), the
    /// [hatches](super::hatches) and a caption.
    #[must_use]
    pub fn inline(&self) -> String {
        let view = format!("0 0 {} {}", fine(WIDTH), self.height);
        format!("{}{}</svg>\n", self.head(&view), self.body)
    }

    /// As a file of its own, with its title and its colours.
    #[must_use]
    pub fn standalone(&self) -> String {
        let lines = lettering::wrap(&self.title, WIDTH - 16.0);
        let above = fine(lines.len() as f64 * LINE + 10.0);
        let (width, height) = (fine(WIDTH), self.height + above);
        let mut out = self.head(&format!("0 -{above} {width} {height}"));
        let _ = write!(out, "<style>{}</style>\n{}\n", palette::style_sheet(), palette::hatches());
        let ground = "<rect class=\"surface\" x=\"0\"";
        let _ = writeln!(out, "{ground} y=\"-{above}\" width=\"{width}\" height=\"{height}\"/>");
        for (number, line) in lines.iter().enumerate() {
            let (x, y) = (fine(8.0), fine((number + 1) as f64 * LINE) - above);
            let size = fine(lettering::SIZE);
            let _ = writeln!(
                out,
                "<text class=\"ink\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\" \
                 font-weight=\"bold\">{}</text>",
                escape(line)
            );
        }
        out.push_str(&self.body);
        out.push_str("</svg>\n");
        out
    }

    fn head(&self, view: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{view}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\">\n<title>{}</title>\n<desc>{}</desc>\n",
            escape(&self.title),
            escape(&self.description)
        )
    }
}

/// Text as XML has it.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
