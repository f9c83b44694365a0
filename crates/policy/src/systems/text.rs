//! Systems as text: `NAME` or `NAME:figure=value,figure=value`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::figure::Figure;
use super::{Row, System};

/// A system that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSystemError {
    /// There is no row of this name.
    #[error("expected a system, one of {}, found {got:?}", names())]
    Unknown {
        /// Text that was found.
        got: String,
    },
    /// The row has no such figure.
    #[error("expected a figure of {system}, one of {}, found {got:?}", figures.join(", "))]
    UnknownFigure {
        /// The system.
        system: &'static str,
        /// Names of the row's figures.
        figures: Vec<&'static str>,
        /// Text that was found.
        got: String,
    },
    /// The figure cannot have this value.
    #[error("{figure} of {system}: expected {expected}, found {got:?}")]
    Value {
        /// The system.
        system: &'static str,
        /// The figure.
        figure: &'static str,
        /// Values that the figure may have, and why.
        expected: Box<str>,
        /// Text that was found.
        got: String,
    },
}

fn names() -> String {
    Row::ALL.map(Row::name).join(", ")
}

/// The names of the figures of all rows.
pub(super) fn all_figures() -> Vec<&'static str> {
    let figures = Row::ALL.iter().flat_map(|row| row.parts().figures);
    let names: BTreeSet<&str> = figures.map(Figure::name).collect();
    names.into_iter().collect()
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = self.row.parts().figures.iter().filter_map(|figure| {
            let value = figure.text(self)?;
            Some(format!("{}={value}", figure.name()))
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
            let own = row.parts().figures;
            let Some(figure) = own.iter().find(|figure| figure.name() == name) else {
                let (system, got) = (row.name(), name.to_owned());
                let figures = own.iter().map(Figure::name).collect();
                return Err(ParseSystemError::UnknownFigure { system, figures, got });
            };
            figure.read(&mut system, value).ok_or_else(|| ParseSystemError::Value {
                system: row.name(),
                figure: figure.name(),
                expected: figure.expected().into(),
                got: value.to_owned(),
            })?;
        }
        Ok(system)
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::ByteCount;

    use super::*;

    #[test]
    fn systems_read_back_what_they_print() {
        for mut system in System::all() {
            assert_eq!(system.to_string(), system.name());
            assert_eq!(system.to_string().parse(), Ok(system));
            system.table_size = Some(ByteCount(12_345));
            assert_eq!(system.to_string(), format!("{}:table_size=12345", system.name()));
            assert_eq!(system.to_string().parse(), Ok(system));
        }
    }

    #[test]
    fn figures_are_in_alphabetical_order_and_each_system_prints_all_that_it_has() {
        for system in System::all() {
            let figures = system.row.parts().figures;
            assert!(figures.windows(2).all(|pair| pair[0].name() < pair[1].name()), "{system}");
            for figure in figures {
                let mut other = system;
                let values = ["3", "30", "7MiB", "off", "on"];
                let set = values.iter().filter(|text| figure.read(&mut other, text).is_some());
                assert!(set.count() > 0, "{}: none of {values:?}", figure.name());
                let differs = other != system;
                assert_eq!(other.to_string().contains(figure.name()), differs, "{other}");
                assert_eq!(other.to_string().parse(), Ok(other));
            }
        }
    }

    #[test]
    fn what_cannot_be_read_names_the_choices() {
        let error = |text: &str| text.parse::<System>().unwrap_err().to_string();
        assert!(error("ext4").contains("one of bluefs, leveldb-greedy"), "{}", error("ext4"));
        assert!(error("bluefs:colour=red").contains("one of aligned_from, factor, free_min, "));
        assert!(error("bluefs:factor=1").contains("factor of bluefs: expected a number from 2 to"));
        for size in ["0", "1", "2047", "17GiB", "18446744073709551615"] {
            let error = error(&format!("bluefs:table_size={size}"));
            assert!(
                error.contains("a size such as 16MiB, from 2KiB to 16GiB (the ends"),
                "{error}"
            );
        }
        assert!(error("bluefs:level1_size=1PB1").contains("a size such as"));
        // A figure that only another system has.
        let figures = "one of free_min, gain_min, jobs, table_size, tier_runs, found";
        assert!(error("tiered:factor=4").contains(figures), "{}", error("tiered:factor=4"));
    }
}
