//! [`Axis`]: the range of values along an axis, its title, and the texts at its ticks.
//!
//! The ends of an axis are in the unit of its title. `factor` converts values to this unit. The
//! constructors show times in a unit that suits the largest of them.

use super::label::{Label, Unit};

/// An axis of a chart, in the unit that it is labelled in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// Quantity along it, and its unit.
    pub(super) title: String,
    /// The axis's lower end.
    pub(super) from: f64,
    /// The axis's upper end.
    pub(super) to: f64,
    /// Factor from values to its unit.
    pub(super) factor: f64,
}

/// Space left free above the largest value, as a factor.
const HEADROOM: f64 = 1.08;

/// The units of time, each with its seconds and with the longest time that it is used for.
const TIMES: [(&str, f64, f64); 3] =
    [("s", 1.0, 600.0), ("min", 60.0, 10_800.0), ("h", 3600.0, f64::INFINITY)];

impl Axis {
    /// From zero to a little above the largest of the values; shares end at the whole.
    pub(super) fn from_zero(label: &Label, values: impl Iterator<Item = f64>) -> Self {
        let (unit, name, factor) = unit_of(label, values);
        let (unit, largest) = unit;
        let room = if largest > 0.0 { largest * HEADROOM } else { 1.0 };
        let to = if unit == Unit::Share && largest <= 1.0 && largest > 0.6 { 1.0 } else { room };
        Self { title: titled(&label.text, name), from: 0.0, to: to * factor, factor }
    }

    /// Around all values, which are finite: from zero where that does not squeeze them.
    pub(super) fn around(label: &Label, values: &[f64]) -> Self {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let whole = Self::from_zero(label, values.iter().copied());
        if values.is_empty() || least <= most / 2.0 {
            return whole;
        }
        let room = if most > least { (most - least) * 0.15 } else { most * 0.1 };
        let (from, to) = ((least - room).max(0.0), most + room);
        Self { from: from * whole.factor, to: to * whole.factor, ..whole }
    }

    /// Axis for the share of operations done.
    pub(super) fn progress() -> Self {
        Self { title: "operations done, %".to_owned(), from: 0.0, to: 100.0, factor: 100.0 }
    }

    /// Time, in the unit that suits its length.
    pub(super) fn time(seconds: f64) -> Self {
        let to = if seconds > 0.0 { seconds } else { 1.0 };
        let fits = TIMES.iter().find(|(_, _, longest)| to <= *longest);
        let (name, unit, _) = fits.unwrap_or(&TIMES[0]);
        Self { title: format!("device time, {name}"), from: 0.0, to: to / unit, factor: 1.0 / unit }
    }
}

/// The unit with the largest value, the unit's name on an axis, and the factor into it.
fn unit_of(
    label: &Label,
    values: impl Iterator<Item = f64>,
) -> ((Unit, f64), Option<&'static str>, f64) {
    let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    if label.unit == Unit::Seconds {
        let (name, seconds) = match largest {
            ..1e-3 => ("µs", 1e-6),
            ..1.0 => ("ms", 1e-3),
            ..600.0 => ("s", 1.0),
            ..10_800.0 => ("min", 60.0),
            _ => ("h", 3600.0),
        };
        return ((Unit::Seconds, largest), Some(name), 1.0 / seconds);
    }
    ((label.unit, largest), label.unit.name(), label.unit.factor())
}

fn titled(text: &str, unit: Option<&str>) -> String {
    match unit {
        Some("per second") => format!("{text} per second"),
        Some(unit) => format!("{text}, {unit}"),
        None => text.to_owned(),
    }
}

/// Text at a tick.
pub(super) fn tick(value: f64) -> String {
    let (scaled, letter) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let text = if text == "-0" { "0" } else { text };
    format!("{text}{letter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zero(name: &str, values: &[f64]) -> (String, f64) {
        let axis = Axis::from_zero(&Label::of(name), values.iter().copied());
        (axis.title, (axis.to * 1000.0).round() / 1000.0)
    }

    #[test]
    fn an_axis_begins_at_zero_and_shares_end_at_the_whole() {
        assert_eq!(
            zero("valid_share", &[0.2, 0.76]),
            ("valid data in the store's space, %".into(), 100.0)
        );
        assert_eq!(zero("reclaim_share", &[0.1]).1, 10.8);
        assert_eq!(zero("kv_per_second", &[1000.0]), ("operations per second".into(), 1080.0));
        assert_eq!(zero("kv_per_second", &[]).1, 1.0);
        assert_eq!(zero("seconds", &[7200.0]), ("time taken, min".into(), 129.6));
        assert_eq!(zero("stall_worst_seconds", &[0.01, f64::NAN]).0, "longest operation, ms");
    }

    #[test]
    fn close_values_fill_the_axis() {
        let axis = Axis::around(&Label::of("kv_per_second"), &[800.0, 900.0]);
        assert_eq!((axis.from, axis.to), (785.0, 915.0));
        let axis = Axis::around(&Label::of("kv_per_second"), &[100.0, 1000.0]);
        assert_eq!((axis.from, axis.to), (0.0, 1080.0));
        let axis = Axis::around(&Label::of("kv_per_second"), &[100.0]);
        assert_eq!((axis.from, axis.to), (90.0, 110.0));
        assert_eq!(Axis::around(&Label::of("kv_per_second"), &[]).to, 1.0);
    }

    #[test]
    fn time_is_in_the_unit_that_suits_it() {
        for (seconds, title, to) in
            [(0.0, "s", 1.0), (300.0, "s", 300.0), (3600.0, "min", 60.0), (18_000.0, "h", 5.0)]
        {
            let axis = Axis::time(seconds);
            assert_eq!((axis.title, axis.to), (format!("device time, {title}"), to));
        }
    }

    #[test]
    fn ticks_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.25, "0.25"),
            (15.0, "15"),
            (2500.0, "2500"),
            (12_500.0, "12.5k"),
            (2e6, "2M"),
            (3e10, "30G"),
        ] {
            assert_eq!(tick(value), text);
        }
    }
}
