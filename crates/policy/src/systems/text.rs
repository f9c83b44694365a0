//! Systems as text: `NAME` or `NAME:parameter=value,parameter=value`.
//!
//! Parameters with the row's own value are not written. A parameter that is left out gets the row's
//! own value in the version of the program that reads the text. Errors are: an unknown system, a
//! colon without a parameter after it, a parameter that its row does not have or that comes twice,
//! and a value that the parameter cannot have.
//!
//! [`System::asked`] also refuses a parameter that the others leave without effect. A text that a
//! store remembers may have one.
//!
//! `leveldb-smr` is read as `leveldb-disk`: the papers have LevelDB on drive-managed shingled disks
//! under this name, and the drive makes the difference, not the store. It is never written.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::parameter::Parameter;
use super::parameters::{LEVEL0_SLOW, LEVEL0_STOP};
use super::parameters_of_all::REWRITE_MAX;
use super::{Row, System};
use crate::{LoadRule, Throttle};

/// A system that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSystemError {
    /// There is no row of this name.
    #[error(
        "expected a system, one of {}, found {got:?}{}",
        names(),
        meant(got, &Row::ALL.map(Row::name))
    )]
    Unknown {
        /// Text that was found.
        got: String,
    },
    /// The row has no such parameter.
    #[error(
        "expected a parameter of {system}, one of {}, found {got:?}{}",
        parameters.join(", "),
        meant(got, parameters)
    )]
    UnknownParameter {
        /// The system.
        system: &'static str,
        /// Names of the row's parameters.
        parameters: Vec<&'static str>,
        /// Text that was found.
        got: String,
    },
    /// The parameter cannot have this value.
    #[error("{parameter} of {system}: expected {expected}, found {got:?}")]
    Value {
        /// The system.
        system: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Values that the parameter may have, and why.
        expected: Box<str>,
        /// Text that was found.
        got: String,
    },
}

/// Rows by names that are read and never written.
const OTHER_NAMES: [(&str, Row); 1] = [("leveldb-smr", Row::LeveldbDisk)];

/// The row of a name.
fn row_of(name: &str) -> Option<Row> {
    let own = Row::ALL.into_iter().find(|row| row.name() == name);
    own.or_else(|| OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, row)| *row))
}

/// The most similar name as a question, if one is similar enough for a typing error.
fn meant(got: &str, names: &[&str]) -> String {
    let similar = names.iter().map(|name| (strsim::jaro_winkler(got, name), name));
    let best = similar.max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(likeness, _)| *likeness > 0.8)
        .map_or_else(String::new, |(_, name)| format!("; did you mean {name:?}?"))
}

fn names() -> String {
    Row::ALL.map(Row::name).join(", ")
}

/// The names of the parameters of all rows.
pub(super) fn all_parameters() -> Vec<&'static str> {
    let parameters = Row::ALL.iter().flat_map(|row| row.parts().parameters());
    let names: BTreeSet<&str> = parameters.map(Parameter::name).collect();
    names.into_iter().collect()
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = self.row.parts().parameters().into_iter().filter_map(|parameter| {
            let value = parameter.text(self)?;
            Some(format!("{}={value}", parameter.name()))
        });
        let parameters: Vec<String> = parameters.collect();
        let (name, colon) = (self.name(), if parameters.is_empty() { "" } else { ":" });
        f.pad(&format!("{name}{colon}{}", parameters.join(",")))
    }
}

impl System {
    /// Reads a user's request: like `parse`, and refuses a parameter that the others leave without
    /// effect: `rewrite_max` without `load=aware`; and with `throttle=off` `level0_stop`, and
    /// `level0_slow` where it does nothing but slow writers.
    pub fn asked(text: &str) -> Result<Self, ParseSystemError> {
        let system: Self = text.parse()?;
        let assignments = text.split_once(':').map_or("", |(_, rest)| rest).split(',');
        let pairs = assignments.filter_map(|part| part.split_once('='));
        let is_unslowed = system.throttle == Some(Throttle::Off);
        let needed = |name: &str| {
            let (parameter, needed, is_idle) = [
                (REWRITE_MAX, "load=aware with it", system.load != LoadRule::Aware),
                (LEVEL0_SLOW, "another throttle", is_unslowed && system.row != Row::Smrdb),
                (LEVEL0_STOP, "another throttle", is_unslowed),
            ]
            .into_iter()
            .find(|(parameter, ..)| parameter.name() == name)?;
            is_idle.then_some((parameter.name(), needed))
        };
        for (name, value) in pairs {
            if let Some((parameter, needed)) = needed(name) {
                let (expected, got) = (needed.into(), value.to_owned());
                let system = system.name();
                return Err(ParseSystemError::Value { system, parameter, expected, got });
            }
        }
        Ok(system)
    }
}

impl FromStr for System {
    type Err = ParseSystemError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, assignments) = text.split_once(':').map_or((text, None), |(name, rest)| {
            let parts: Vec<&str> = rest.split(',').collect();
            (name, Some(parts))
        });
        let row = row_of(name).ok_or_else(|| ParseSystemError::Unknown { got: name.to_owned() })?;
        let mut system = Self::of(row);
        let mut given = BTreeSet::new();
        for assignment in assignments.unwrap_or_default() {
            let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
            let own = row.parts().parameters();
            let Some(parameter) = own.iter().find(|parameter| parameter.name() == name) else {
                let (system, got) = (row.name(), name.to_owned());
                let parameters = own.iter().map(|parameter| parameter.name()).collect();
                return Err(ParseSystemError::UnknownParameter { system, parameters, got });
            };
            let refuse = |expected: &str| ParseSystemError::Value {
                system: row.name(),
                parameter: parameter.name(),
                expected: expected.into(),
                got: value.to_owned(),
            };
            if !given.insert(parameter.name()) {
                return Err(refuse("one value, and no second one"));
            }
            let read = parameter.read(&mut system, value);
            read.ok_or_else(|| refuse(&parameter.expected()))?;
        }
        Ok(system)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use terrace_env::{ByteCount, Limit};

    use super::super::parameter::Kind;
    use super::*;
    use crate::{NoZones, StoreShape};

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
    fn a_misspelt_name_is_answered_with_the_name_that_was_meant() {
        let told = |text: &str| System::asked(text).unwrap_err().to_string();
        assert!(told("sliecd").ends_with("found \"sliecd\"; did you mean \"sliced\"?"));
        assert!(told("geardb:windos=3").ends_with("; did you mean \"windows\"?"));
        assert!(told("xyz").ends_with("found \"xyz\""));
    }

    #[test]
    fn another_name_is_read_as_the_rows_own_and_hides_no_row() {
        let read = |text: &str| text.parse::<System>().unwrap().to_string();
        assert_eq!(read("leveldb-smr"), "leveldb-disk");
        assert_eq!(read("leveldb-smr:fit=first,factor=4"), "leveldb-disk:factor=4,fit=first");
        for (other, _) in OTHER_NAMES {
            assert!(Row::ALL.iter().all(|row| row.name() != other), "{other}");
        }
    }

    #[test]
    fn none_is_what_the_row_has_of_its_own() {
        for system in System::all() {
            let capacity = ByteCount::gib(64);
            let zone_capacity = Some(ByteCount::mib(256));
            let (none, memtable_size) = (ByteCount(0), ByteCount::mib(4));
            let store =
                StoreShape { capacity, zone_capacity, guard: none, kept: none, memtable_size };
            let told =
                |system: &System| format!("{:?}", system.compaction(&store, Arc::new(NoZones)));
            let unsaid = System {
                throttle: None,
                growth: None,
                seek_cost: None,
                moves_together: None,
                ..system
            };
            assert_eq!(told(&unsaid), told(&system), "{system}");
            assert_eq!(unsaid.to_string(), system.to_string());
        }
    }

    #[test]
    fn parameters_are_in_alphabetical_order_and_each_system_prints_all_that_it_has() {
        for system in System::all() {
            let parameters = system.row.parts().parameters();
            assert!(parameters.windows(2).all(|pair| pair[0].name() < pair[1].name()), "{system}");
            for parameter in parameters {
                let mut other = system;
                let values = [
                    "3", "30", "7MiB", "off", "on", "paced", "leveldb", "code", "live", "300",
                    "limit", "pointer", "first", "aware",
                ];
                let set = values.iter().filter(|text| parameter.read(&mut other, text).is_some());
                assert!(set.count() > 0, "{}: none of {values:?}", parameter.name());
                let differs = other != system;
                assert_eq!(other.to_string().contains(parameter.name()), differs, "{other}");
                assert_eq!(other.to_string().parse(), Ok(other));
            }
        }
    }

    #[test]
    fn the_longest_text_of_any_system_is_within_its_limit() {
        let mut longest = String::new();
        for mut system in System::all() {
            for parameter in system.row.parts().parameters() {
                // Of a size, the one that is no multiple of a unit is the longest.
                let Limit { least, most, .. } = parameter.limit;
                let values = match parameter.kind {
                    Kind::Word(words) => 0..=words.len() as u64 - 1,
                    _ => most - 1..=most,
                };
                let of = |value| {
                    let mut other = system;
                    (parameter.set)(&mut other, value);
                    (parameter.text(&other).unwrap_or_default().len(), other)
                };
                let values = values.chain([least]).map(of);
                system = values.max_by_key(|(bytes, _)| *bytes).expect("a value").1;
                assert!(parameter.text(&system).is_some(), "{}: {system}", parameter.name());
            }
            let text = system.to_string();
            assert_eq!(text.parse(), Ok(system));
            longest = if text.len() > longest.len() { text } else { longest };
        }
        let bytes = longest.len();
        // More than stores could once remember, and room for a few more parameters.
        assert!(bytes > 255 && bytes + 256 <= System::TEXT_BYTES_MAX, "{bytes} bytes: {longest}");
        println!("{bytes} bytes: {longest}");
    }

    #[test]
    fn what_has_no_effect_cannot_be_asked_for() {
        for text in ["bluefs:rewrite_max=5", "bluefs:load=eager,rewrite_max=10"] {
            let error = System::asked(text).unwrap_err().to_string();
            assert!(
                error.contains("rewrite_max of bluefs: expected load=aware with it"),
                "{error}"
            );
            assert!(text.parse::<System>().is_ok(), "{text}");
        }
        for text in ["bluefs:throttle=off,level0_stop=20", "bluefs:level0_slow=8,throttle=off"] {
            let error = System::asked(text).unwrap_err().to_string();
            assert!(error.contains("of bluefs: expected another throttle, found"), "{error}");
        }
        for text in [
            "bluefs",
            "bluefs:jobs=2",
            "bluefs:rewrite_max=5,load=aware",
            "bluefs:level0_stop=20,throttle=paced",
            "smrdb:level0_slow=8,throttle=off",
        ] {
            assert_eq!(System::asked(text), text.parse());
        }
    }

    #[test]
    fn there_is_a_level_that_flushes_go_to() {
        let (capacity, zone_capacity) = (ByteCount::gib(64), Some(ByteCount::mib(256)));
        let (none, memtable_size) = (ByteCount(0), ByteCount::mib(4));
        let store = StoreShape { capacity, zone_capacity, guard: none, kept: none, memtable_size };
        let check = |text: &str| text.parse::<System>().unwrap().check(&store);
        let error = check("leveldb-greedy:levels=2").unwrap_err().to_string();
        assert!(error.starts_with("levels of leveldb-greedy is 2: "), "{error}");
        assert!(error.contains("at least 3, as flush_level is 2"), "{error}");
        for text in ["leveldb-greedy:levels=3", "leveldb-greedy:flush_level=1,levels=2"] {
            assert!(check(text).is_ok(), "{text}");
        }
        for system in System::all() {
            assert!(system.check(&store).is_ok(), "{system}");
        }
    }

    #[test]
    fn what_cannot_be_read_names_the_choices() {
        let error = |text: &str| text.parse::<System>().unwrap_err().to_string();
        assert!(error("ext4").contains("one of bluefs, leveldb-greedy"), "{}", error("ext4"));
        assert!(
            error("bluefs:colour=red")
                .contains("one of aligned_from, carry_overlap, check_moves, collector, ")
        );
        assert!(error("bluefs:factor=1").contains("factor of bluefs: expected a number from 2 to"));
        for size in ["0", "1", "2047", "17GiB", "18446744073709551615"] {
            let error = error(&format!("bluefs:table_size={size}"));
            assert!(
                error.contains("a size such as 16MiB, from 2KiB to 16GiB (the ends"),
                "{error}"
            );
        }
        for (text, expected) in [
            ("smrdb:", "expected a parameter of smrdb, one of "),
            ("smrdb:jobs=2,", "expected a parameter of smrdb, one of "),
            ("bluefs:jobs=2,jobs=3", "jobs of bluefs: expected one value, and no second one"),
        ] {
            assert!(error(text).contains(expected), "{}", error(text));
        }
        assert!(error("bluefs:level1_size=1PB1").contains("a size such as"));
        let retired = error("geardb:published=on");
        assert!(retired.contains("throttle, variant, window_of, windows, found"), "{retired}");
        let names = "one of repaired, code, algorithm-1, found \"on\"";
        assert!(error("geardb:variant=on").contains(names), "{}", error("geardb:variant=on"));
        // A parameter that only another system has.
        let parameters =
            "one of along_max, first_keys, free_min, gain_min, jobs, last_block_size, load, ";
        assert!(error("tiered:factor=4").contains(parameters), "{}", error("tiered:factor=4"));
    }
}
