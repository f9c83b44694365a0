//! [`Work`]: a piece of work for a benchmark, by name: a mix, a workload of the generator, or a
//! trace.
//!
//! Some mixes and workloads have the same name. Parsing such a name gives the mix, and
//! [`Work::preset`] the workload of this name. `trace`, the name of a trace, cannot be parsed.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::mix::Mix;
use crate::workload::Preset;

/// Work on a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A mix of fixed counts, that can be held against other engines.
    Mix(Mix),
    /// A workload of the generator.
    Preset(Preset),
    /// A sequence that was written down.
    Trace,
}

impl Work {
    /// The names there are, each once: where a mix and a workload have the same, it is the mix.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let mixes = Mix::ALL.map(Mix::name);
        let others = Preset::ALL.map(Preset::name).into_iter();
        mixes.into_iter().chain(others.filter(move |name| !mixes.contains(name)))
    }

    /// The work's name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mix(mix) => mix.name(),
            Self::Preset(preset) => preset.name(),
            Self::Trace => "trace",
        }
    }

    /// Description of one of its operations, for people.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Mix(mix) => mix.meaning(),
            Self::Preset(_) | Self::Trace => self.name(),
        }
    }

    /// The workload of the generator that has its name.
    #[must_use]
    pub fn preset(self) -> Option<Preset> {
        self.name().parse().ok()
    }

    /// Whether it begins with an empty store.
    #[must_use]
    pub fn begins_empty(self) -> bool {
        match self {
            Self::Mix(mix) => mix.begins_empty(),
            Self::Preset(preset) => preset.begins_empty(),
            Self::Trace => false,
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Work {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// There is no work of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {}, found `{name}`", Work::names().collect::<Vec<_>>().join(", "))]
pub struct UnknownWork {
    /// Name asked for.
    pub name: String,
}

impl FromStr for Work {
    type Err = UnknownWork;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mix = Mix::ALL.into_iter().find(|mix| mix.name() == name).map(Self::Mix);
        let found = mix.or_else(|| name.parse().ok().map(Self::Preset));
        found.ok_or_else(|| UnknownWork { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_others_are_told_the_choices() {
        for name in Work::names() {
            assert_eq!(name.parse::<Work>().unwrap().name(), name);
        }
        assert_eq!(Work::names().count(), 11 + 14);
        assert_eq!("overwrite".parse(), Ok(Work::Mix(Mix::Overwrite)));
        assert_eq!(Work::Mix(Mix::Overwrite).preset(), Some(Preset::Overwrite));
        assert_eq!(Work::Mix(Mix::ReadMissing).preset(), None);
        let error = "readfast".parse::<Work>().unwrap_err().to_string();
        assert!(error.contains("readseq") && error.contains("ycsb-f, found `readfast`"), "{error}");
    }
}
