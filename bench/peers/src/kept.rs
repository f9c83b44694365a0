//! [`Kept`]: results in a file (`--results`), one JSON object to a line, so that a measurement can
//! be taken in parts, and goes on where it was interrupted.
//!
//! A result counts for a measurement of the same entries, seed, size of values and loads. It is the
//! user's business that all of a file are of one build and one machine.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::engines::Name;
use crate::works::Round;

/// Subject of a result: an engine and its load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) entries: u64,
    pub(crate) seed: u64,
    pub(crate) value_size: u64,
    pub(crate) works: Vec<String>,
    pub(crate) engine: Name,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    measured: Measured,
    round: Round,
}

/// The results of a file, or of this process alone.
#[derive(Default)]
pub(crate) struct Kept {
    file: Option<File>,
    entries: Vec<Entry>,
}

impl Kept {
    /// The results of a file, which is made if it is missing; later ones are added to it.
    pub(crate) fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let said = || format!("--results {}", path.display());
        let file = OpenOptions::new().create(true).read(true).append(true).open(path);
        let file = file.with_context(said)?;
        let mut entries = Vec::new();
        for line in std::io::read_to_string(&file).with_context(said)?.lines() {
            let entry = serde_json::from_str(line);
            entries.push(entry.with_context(|| format!("{}: expected results", said()))?);
        }
        Ok(Self { file: Some(file), entries })
    }

    /// All results of a measurement, in the order in which they came.
    pub(crate) fn of(&self, measured: &Measured) -> impl Iterator<Item = &Round> {
        let entries = self.entries.iter().filter(move |entry| entry.measured == *measured);
        entries.map(|entry| &entry.round)
    }

    pub(crate) fn add(&mut self, measured: Measured, round: Round) -> anyhow::Result<()> {
        let entry = Entry { measured, round };
        if let Some(file) = &mut self.file {
            let line = serde_json::to_string(&entry)? + "\n";
            file.write_all(line.as_bytes()).context("--results: writing")?;
        }
        self.entries.push(entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_again_by_what_was_measured() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("results");
        let measured = |value_size| Measured {
            entries: 1000,
            seed: 1,
            value_size,
            works: vec!["scan".to_owned()],
            engine: Name::Redb,
        };
        let mut kept = Kept::open(Some(&path)).unwrap();
        kept.add(measured(128), Round::default()).unwrap();
        kept.add(measured(128), Round::default()).unwrap();
        let kept = Kept::open(Some(&path)).unwrap();
        assert_eq!((kept.of(&measured(128)).count(), kept.of(&measured(16)).count()), (2, 0));
        std::fs::write(&path, "[]\n").unwrap();
        assert!(Kept::open(Some(&path)).is_err());
    }
}
