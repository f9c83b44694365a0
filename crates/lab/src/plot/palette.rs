//! The colours of drawings and of the page around them: one scheme for light, one for dark. Also
//! the dashes and hatches of series.
//!
//! The colours of series were chosen to be told apart, also by readers with protanopia or
//! deuteranopia. No test checks that. Tests check the contrast of text and series to their ground,
//! and that each series has its own dashes.

use std::fmt::Write as _;

/// How many series there are before colours, dashes and hatches begin anew.
pub(super) const SERIES: usize = 8;

/// Colours that are seen together.
struct Scheme {
    /// The ground.
    surface: &'static str,
    /// The ground of heads of tables and of notes.
    raised: &'static str,
    /// Text.
    ink: &'static str,
    /// Text that stands back.
    muted: &'static str,
    /// Links.
    link: &'static str,
    /// Rules and grids.
    grid: &'static str,
    /// A metric as it was published.
    good: &'static str,
    /// A metric that differs.
    poor: &'static str,
    /// Lines, points and areas.
    series: [&'static str; SERIES],
}

const LIGHT: Scheme = Scheme {
    surface: "#fcfcfa",
    raised: "#f0f0ec",
    ink: "#1a1c1f",
    muted: "#575a60",
    link: "#0b57a4",
    grid: "#d6d6d1",
    good: "#1d6b3a",
    poor: "#9c3d00",
    series: [
        "#1c2584", "#904e08", "#1e91de", "#316e69", "#c87824", "#750424", "#42003c", "#848484",
    ],
};

const DARK: Scheme = Scheme {
    surface: "#15181d",
    raised: "#20242b",
    ink: "#e8e9ea",
    muted: "#a7abb2",
    link: "#86bdf7",
    grid: "#3a3f48",
    good: "#74cf95",
    poor: "#f4a261",
    series: [
        "#5478de", "#db720a", "#54b4f8", "#85fbea", "#fef172", "#e8b49d", "#a06977", "#9a9a9a",
    ],
};

/// Dashes in quarters of a unit of the drawing; the first line is solid.
const DASHES: [&str; SERIES] =
    ["none", "24 12", "6 9", "32 10 6 10", "14 7", "40 14", "24 8 6 8 6 8", "10 16"];

impl Scheme {
    /// Its colours as variables.
    fn variables(&self) -> String {
        let named = [
            ("surface", self.surface),
            ("raised", self.raised),
            ("ink", self.ink),
            ("muted", self.muted),
            ("link", self.link),
            ("grid", self.grid),
            ("good", self.good),
            ("poor", self.poor),
        ];
        let mut css = String::new();
        for (name, colour) in named {
            let _ = write!(css, "--{name}:{colour};");
        }
        for (series, colour) in self.series.iter().enumerate() {
            let _ = write!(css, "--series{series}:{colour};");
        }
        css
    }
}

/// The style sheet of drawings, and the variables that a page around them takes its colours from.
/// Paper is light.
#[must_use]
pub fn style_sheet() -> String {
    let mut css = format!(
        ":root{{color-scheme:light dark;{}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n\
         text{{font-family:system-ui,sans-serif}}\n\
         text.ink,rect.ink{{fill:var(--ink)}}text.muted{{fill:var(--muted)}}\n\
         .grid{{stroke:var(--grid)}}.rule{{stroke:var(--ink);stroke-dasharray:3 5}}\
         .surface{{fill:var(--surface)}}\n",
        LIGHT.variables(),
        DARK.variables(),
    );
    for (series, dashes) in DASHES.iter().enumerate() {
        let _ = writeln!(
            css,
            ".line{series}{{stroke:var(--series{series});stroke-dasharray:{dashes};\
             stroke-linejoin:round}}\
             .fill{series}{{fill:var(--series{series})}}.hatch{series}{{fill:url(#hatch{series})}}"
        );
    }
    css
}

/// Hatches, which every document that has drawings in it holds once.
#[must_use]
pub fn hatches() -> String {
    // Angle and distance of the lines, in degrees and quarters of a unit; the first is plain.
    let lines = [(45, 28), (135, 28), (0, 22), (90, 22), (45, 14), (135, 14), (20, 36)];
    let mut out = String::from("<defs>");
    for (series, (angle, distance)) in (1..SERIES).zip(lines) {
        let _ = write!(
            out,
            "<pattern id=\"hatch{series}\" width=\"{distance}\" height=\"{distance}\" \
             patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate({angle})\">\
             <rect class=\"surface\" width=\"5\" height=\"{distance}\"/></pattern>"
        );
    }
    // Pattern of a plain area: nothing.
    out.push_str("<pattern id=\"hatch0\" width=\"1\" height=\"1\"/></defs>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contrast of two colours as WCAG 2.2 defines it.
    fn contrast(one: &str, other: &str) -> f64 {
        let luminance = |colour: &str| {
            let part = |at: usize| {
                let value = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
                let value = f64::from(value) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        (one / other).max(other / one)
    }

    #[test]
    fn text_can_be_read_and_lines_can_be_seen_by_light_and_by_dark() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.01);
        for scheme in [LIGHT, DARK] {
            for ground in [scheme.surface, scheme.raised] {
                for text in [scheme.ink, scheme.muted, scheme.link, scheme.good, scheme.poor] {
                    assert!(contrast(text, ground) >= 4.5, "{text} on {ground}");
                }
            }
            for series in scheme.series {
                assert!(contrast(series, scheme.surface) >= 3.0, "{series}");
            }
        }
    }

    #[test]
    fn no_two_series_look_alike_without_colour() {
        for (at, dashes) in DASHES.iter().enumerate() {
            assert!(!DASHES[..at].contains(dashes), "{dashes}");
        }
        let hatches = hatches();
        for series in 0..SERIES {
            assert!(hatches.contains(&format!("id=\"hatch{series}\"")));
            assert!(style_sheet().contains(&format!(".hatch{series}{{")));
        }
    }
}
