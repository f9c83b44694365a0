//! Systems as text: `NAME` or `NAME:figure=value,figure=value`.

use std::fmt;
use std::str::FromStr;

use terrace_env::ByteCount;

use super::{Row, System};

/// A system that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSystemError {
    /// There is no row of this name.
    #[error("expected a system, one of {}, found {got:?}", names())]
    Unknown {
        /// What was found.
        got: String,
    },
    /// The row has no such figure.
    #[error("expected a figure of {system}, one of {}, found {got:?}", figures.join(", "))]
    UnknownFigure {
        /// The system.
        system: &'static str,
        /// What there is.
        figures: Vec<&'static str>,
        /// What was found.
        got: String,
    },
    /// The figure cannot have this value.
    #[error("expected {expected} as {figure} of {system}, found {got:?}")]
    Value {
        /// The system.
        system: &'static str,
        /// The figure.
        figure: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What was found.
        got: String,
    },
}

fn names() -> String {
    Row::ALL.map(Row::name).join(", ")
}

/// The names of all figures.
pub(super) fn figures() -> Vec<&'static str> {
    FIGURES.iter().map(|figure| figure.name).collect()
}

/// A column of the table of systems: a figure, how it is read and how it is written.
struct Figure {
    name: &'static str,
    expected: &'static str,
    set: fn(&mut System, &str) -> Option<()>,
    /// `None` where it is the row's own.
    get: fn(&System) -> Option<String>,
}

const FIGURES: [Figure; 6] = [
    Figure {
        name: "factor",
        expected: "a number from 2 to 1000",
        set: |system, text| number(text, 2..=1000).map(|n| system.factor = n),
        get: |system| differs(system, |s| s.factor),
    },
    Figure {
        name: "free_min",
        expected: "a number of percent from 0 to 90",
        set: |system, text| number(text, 0..=90).map(|n| system.free_min = n as u8),
        get: |system| differs(system, |s| s.free_min),
    },
    Figure {
        name: "gain_min",
        expected: "a number of percent from 1 to 100",
        set: |system, text| number(text, 1..=100).map(|n| system.gain_min = n as u8),
        get: |system| differs(system, |s| s.gain_min),
    },
    Figure {
        name: "level0_runs",
        expected: "a number from 1 to 1000",
        set: |system, text| number(text, 1..=1000).map(|n| system.level0_runs = n),
        get: |system| differs(system, |s| s.level0_runs),
    },
    Figure {
        name: "level1_size",
        expected: "a size such as 256MiB",
        set: |system, text| size(text).map(|n| system.level1_size = Some(n)),
        get: |system| system.level1_size.map(compact),
    },
    Figure {
        name: "table_size",
        expected: "a size such as 16MiB",
        set: |system, text| size(text).map(|n| system.table_size = Some(n)),
        get: |system| system.table_size.map(compact),
    },
];

fn number(text: &str, range: std::ops::RangeInclusive<u16>) -> Option<u16> {
    text.parse().ok().filter(|number| range.contains(number))
}

fn size(text: &str) -> Option<ByteCount> {
    text.parse().ok().filter(|size: &ByteCount| size.0 > 0)
}

/// A size in the largest unit that shows all of it.
fn compact(size: ByteCount) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units.iter().find(|(_, shift)| size.0.trailing_zeros() >= *shift && size.0 > 0);
    whole.map_or(size.0.to_string(), |(unit, shift)| format!("{}{unit}", size.0 >> shift))
}

fn differs<T: PartialEq + fmt::Display>(system: &System, of: fn(&System) -> T) -> Option<String> {
    let own = of(system);
    (own != of(&System::of(system.row))).then(|| own.to_string())
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = FIGURES.iter().filter_map(|figure| {
            let value = (figure.get)(self)?;
            Some(format!("{}={value}", figure.name))
        });
        let figures: Vec<String> = figures.collect();
        let (name, colon) = (self.name(), if figures.is_empty() { "" } else { ":" });
        f.pad(&format!("{name}{colon}{}", figures.join(",")))
    }
}

impl FromStr for System {
    type Err = ParseSystemError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, assignments) = text.split_once(':').unwrap_or((text, ""));
        let row = Row::ALL.into_iter().find(|row| row.name() == name);
        let row = row.ok_or_else(|| ParseSystemError::Unknown { got: name.to_owned() })?;
        let mut system = Self::of(row);
        for assignment in assignments.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
            let Some(figure) = FIGURES.iter().find(|figure| figure.name == name) else {
                let (system, got) = (row.name(), name.to_owned());
                return Err(ParseSystemError::UnknownFigure { system, figures: figures(), got });
            };
            (figure.set)(&mut system, value).ok_or_else(|| ParseSystemError::Value {
                system: row.name(),
                figure: figure.name,
                expected: figure.expected,
                got: value.to_owned(),
            })?;
        }
        Ok(system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_read_back_what_they_print() {
        for mut system in System::all() {
            assert_eq!(system.to_string(), system.name());
            assert_eq!(system.to_string().parse(), Ok(system));
            system.factor = 4;
            system.free_min = 7;
            system.table_size = Some(ByteCount(12_345));
            system.level1_size = Some(ByteCount::mib(3));
            let text = system.to_string();
            assert_eq!(
                text.split_once(':').unwrap().1,
                "factor=4,free_min=7,level1_size=3MiB,table_size=12345"
            );
            assert_eq!(text.parse(), Ok(system));
        }
    }

    #[test]
    fn what_cannot_be_read_names_the_choices() {
        let error = |text: &str| text.parse::<System>().unwrap_err().to_string();
        assert!(error("ext4").contains("one of bluefs, leveldb-greedy"), "{}", error("ext4"));
        assert!(error("bluefs:colour=red").contains("one of factor, free_min, gain_min, "));
        assert!(error("bluefs:factor=1").contains("a number from 2 to 1000 as factor of bluefs"));
        assert!(error("bluefs:table_size=0").contains("a size such as"));
    }
}
