//! [`Ink`]: the colours of a drawing by their meaning, such as "line of series 2".
//!
//! A style sheet chooses the colours of a drawing, light or dark. But the drawing library wants
//! colours as numbers. So each ink is drawn in a number of its own, and [`attributes`] then
//! replaces these numbers by classes of the style sheet. It also removes the attributes `opacity`,
//! `font-family` and `stroke="none"`, and rounds the sizes of letters.
//!
//! There are classes for eight series. Series 8 has the colour, dashes and hatch of series 0 again.

use std::fmt::Write as _;

use plotters::style::RGBColor;

use super::palette;

/// Ink: a colour, and the kind of thing that is drawn in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Titles, and values at bars.
    Text,
    /// Labels of axes.
    Muted,
    /// Lines of the grid.
    Grid,
    /// The line of a series, with its dashes.
    Line(usize),
    /// The points and areas of a series.
    Fill(usize),
    /// Pattern laid over the areas of a series, so that they differ without colour.
    Hatch(usize),
    /// Line of a value that series are compared with.
    Rule,
}

/// Marks the numbers that stand for inks.
const MARK: u8 = 0xA5;

impl Ink {
    /// The number that stands for it in the library's drawing.
    pub(super) fn colour(self) -> RGBColor {
        let (kind, series) = match self {
            Self::Text => (0, 0),
            Self::Muted => (1, 0),
            Self::Grid => (2, 0),
            Self::Line(series) => (3, series),
            Self::Fill(series) => (4, series),
            Self::Hatch(series) => (5, series),
            Self::Rule => (6, 0),
        };
        RGBColor(MARK, kind, (series % palette::SERIES) as u8)
    }

    /// The class of the number `#RRGGBB`, if it stands for an ink.
    fn class(number: &str) -> Option<String> {
        let digits = number.strip_prefix('#')?;
        let part = |at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let (mark, kind, series) = (part(0)?, part(2)?, part(4)?);
        if mark != MARK {
            return None;
        }
        match kind {
            0 => Some("ink".to_owned()),
            1 => Some("muted".to_owned()),
            2 => Some("grid".to_owned()),
            3 => Some(format!("line{series}")),
            4 => Some(format!("fill{series}")),
            5 => Some(format!("hatch{series}")),
            6 => Some("rule".to_owned()),
            _ => None,
        }
    }
}

/// The library's drawing, with classes instead of colours and without attributes that say nothing.
///
/// The library writes a tag or a text per line, and no value of an attribute holds a quotation
/// mark.
pub(super) fn attributes(drawn: &str) -> String {
    let mut out = String::with_capacity(drawn.len());
    for line in drawn.lines() {
        match line.strip_prefix('<').filter(|rest| !rest.starts_with('/')) {
            Some(tag) => write_tag(&mut out, tag),
            None => out.push_str(line),
        }
        // A line break between a text and its tags would be drawn as a space.
        if !line.starts_with("<text") && line.starts_with('<') {
            out.push('\n');
        }
    }
    out
}

fn write_tag(out: &mut String, tag: &str) {
    let (tag, end) = match tag.strip_suffix("/>") {
        Some(tag) => (tag, "/>"),
        None => (tag.trim_end_matches('>'), ">"),
    };
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let (mut kept, mut classes) = (String::new(), Vec::new());
    while let Some((key, (value, tail))) =
        rest.split_once("=\"").and_then(|(key, tail)| Some((key, tail.split_once('"')?)))
    {
        rest = tail.trim_start();
        let drawn = |kept: &mut String, value: &str| {
            let _ = write!(kept, " {key}=\"{}\"", value.trim_end());
        };
        if let Some(class) = Ink::class(value) {
            classes.push(class);
            continue;
        }
        match (key, value) {
            ("opacity" | "font-family", _) | ("stroke", "none") => {}
            ("font-size", size) => {
                let size = size.parse::<f64>().unwrap_or_default().round();
                drawn(&mut kept, &size.to_string());
            }
            _ => drawn(&mut kept, value),
        }
    }
    let _ = write!(out, "<{name} class=\"{}\"{kept}{end}", classes.join(" "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_classes_and_texts_stay() {
        let drawn = "<polyline fill=\"none\" opacity=\"1\" stroke=\"#A50302\" stroke-width=\"6\" \
                     points=\"1,2 3,4 \"/>\n\
                     <text x=\"1\" font-family=\"f\" font-size=\"51.99999\" fill=\"#A50000\">\n\
                     fill=&quot;#A50000&quot; &lt;b\n</text>\n";
        assert_eq!(
            attributes(drawn),
            "<polyline class=\"line2\" fill=\"none\" stroke-width=\"6\" points=\"1,2 3,4\"/>\n\
             <text class=\"ink\" x=\"1\" font-size=\"52\">fill=&quot;#A50000&quot; &lt;b</text>\n"
        );
    }

    #[test]
    fn every_ink_is_found_again() {
        let inks = [
            (Ink::Text, "ink"),
            (Ink::Muted, "muted"),
            (Ink::Grid, "grid"),
            (Ink::Line(1), "line1"),
            (Ink::Fill(7), "fill7"),
            (Ink::Hatch(palette::SERIES + 2), "hatch2"),
            (Ink::Rule, "rule"),
        ];
        for (ink, class) in inks {
            let RGBColor(red, green, blue) = ink.colour();
            let number = format!("#{red:02X}{green:02X}{blue:02X}");
            assert_eq!(Ink::class(&number).as_deref(), Some(class));
        }
        assert_eq!(Ink::class("none"), None);
        assert_eq!(Ink::class("#000000"), None);
    }
}
