//! Text in drawings: its sizes and styles, an estimate of its width, and functions that draw it,
//! cut it to a width, or break it into lines between words.
//!
//! The reader's browser chooses the typeface, so the width can only be estimated. The estimate is
//! meant to be too large rather than too small. Control characters are drawn as spaces.

use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, TextStyle};

use super::ink::Ink;
use super::svg::{Area, Failed, fine};

/// The size of letters, in units.
pub(super) const SIZE: f64 = 12.0;
/// The size of letters at axes.
pub(super) const SMALL: f64 = 11.0;
/// From one line of text to the next.
pub(super) const LINE: f64 = 16.0;

/// The library draws letters smaller than it is told by this.
const LIBRARY: f64 = 1.24;

/// A style of text; `anchor` is the part of the text at the given point: its left, middle or right.
pub(super) fn style(ink: Ink, size: f64, anchor: HPos) -> TextStyle<'static> {
    let size = f64::from(fine(size)) * LIBRARY;
    TextStyle {
        font: FontDesc::new(FontFamily::SansSerif, size, FontStyle::Normal),
        color: ink.colour().to_backend_color(),
        pos: Pos::new(anchor, VPos::Center),
    }
}

/// Draws text in units, its middle at the height `y`.
pub(super) fn letter(
    area: &Area<'_>,
    text: &str,
    (x, y): (f64, f64),
    style: &TextStyle<'_>,
) -> Result<(), Failed> {
    // A control character is nothing that XML knows.
    let text = text.replace(char::is_control, " ");
    area.draw_text(&text, style, (fine(x), fine(y)))
}

/// About how wide a text is, in units.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | '(' | ')' | ' ' => 0.33,
        'f' | 't' | 'r' | '-' | '/' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' => 0.9,
        c if c.is_uppercase() => 0.7,
        c if c.is_ascii() => 0.57,
        // Letters of other scripts may be as wide as they are high.
        _ => 1.0,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// A text in lines of at most `room` units, broken between words. A word that is wider has a line
/// of its own.
pub(super) fn wrap(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, SIZE) + width(word, SIZE) + SIZE / 3.0 <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text that fits into `room` units: as it is, or cut, with an ellipsis.
pub(super) fn fit(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut short = text.to_owned();
    while !short.is_empty() && width(&short, size) + size > room {
        short.pop();
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words_and_cut_where_it_must_be() {
        let lines = wrap("the share of time that a collector takes, by valid data", 120.0);
        assert!(lines.len() > 2, "{lines:?}");
        assert!(lines.iter().all(|line| width(line, SIZE) <= 120.0), "{lines:?}");
        assert_eq!(lines.join(" "), "the share of time that a collector takes, by valid data");
        assert_eq!(wrap("", 100.0), Vec::<String>::new());
        assert_eq!(fit("short", SIZE, 100.0), "short");
        let cut = fit("leveldb-greedy:free_min=20,gain_min=10", SIZE, 100.0);
        assert!(cut.ends_with('…') && width(&cut, SIZE) <= 100.0 + SIZE, "{cut}");
    }
}
