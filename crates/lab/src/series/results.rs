//! [`Results`]: a directory of what came of runs.
//!
//! A file to a run: `geardb/fig3/leveldb-greedy-1.64-seed1-HASH.json`. The hash is over all that a
//! run depends on: its plan, with the drive's parameters and the seed, and the program. So nothing
//! that is there can be stale: what was changed has another name. A file is written beside its
//! place and renamed, so that it is there as a whole or not at all, and it holds the hash and a
//! checksum. One that is damaged, or that is another's, is an error and never a result.
//!
//! It does not throw anything away: what older programs have left may be deleted at any time.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::run::{Outcome, RunPlan};

/// The form of the files.
pub(super) const VERSION: u32 = 1;

/// A directory of results. It may be used from several threads, and by several programs at once.
#[derive(Clone, Debug)]
pub struct Results {
    directory: PathBuf,
    program: u64,
}

/// A result that is not there, though a file is, or that could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The operating system refuses.
    #[error("{}: {source}", path.display())]
    Host {
        /// The file or directory.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// The file is not what was written, or was never a result of this run.
    #[error("{}: expected {expected}, found {found}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What should be there.
        expected: String,
        /// What is.
        found: String,
    },
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    pub(super) version: u32,
    /// Of all that the run depends on.
    inputs: String,
    /// Of the outcomes' JSON.
    pub(super) checksum: String,
    pub(super) plan: RunPlan,
    pub(super) outcomes: Vec<Outcome>,
}

impl Results {
    /// Those of this program in a directory, which need not be there yet.
    pub fn of_this_program(directory: &Path) -> Result<Self, ResultError> {
        let path = std::env::current_exe().map_err(|error| host(Path::new("program"), error))?;
        let program = hash_file(&path).map_err(|error| host(&path, error))?;
        Ok(Self::of_program(directory, program))
    }

    /// Those of the program with this hash.
    #[must_use]
    pub fn of_program(directory: &Path, program: u64) -> Self {
        Self { directory: directory.to_owned(), program }
    }

    /// What came of a run, if that is known.
    ///
    /// # Errors
    /// When there is a file for it that cannot be trusted.
    pub fn find(&self, plan: &RunPlan) -> Result<Option<Vec<Outcome>>, ResultError> {
        let path = self.path(plan);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(damaged(&path, "a result of the lab", error));
            }
            Err(error) => return Err(host(&path, error)),
        };
        let kept: Kept = serde_json::from_str(&text)
            .map_err(|error| damaged(&path, "a result of the lab", error))?;
        let checks = [
            ("version", VERSION.to_string(), kept.version.to_string()),
            ("inputs", self.inputs(plan), kept.inputs.clone()),
            ("inputs by the plan", self.inputs(plan), self.inputs(&kept.plan)),
            ("checksum", checksum(&kept.outcomes), kept.checksum.clone()),
        ];
        match checks.into_iter().find(|(_, expected, found)| expected != found) {
            None => Ok(Some(kept.outcomes)),
            Some((what, expected, found)) => {
                Err(damaged(&path, &format!("{what} {expected}"), found))
            }
        }
    }

    /// Keeps what came of a run.
    pub fn keep(&self, plan: &RunPlan, outcomes: &[Outcome]) -> Result<(), ResultError> {
        let path = self.path(plan);
        let directory = path.parent().expect("a result is in a directory");
        fs::create_dir_all(directory).map_err(|error| host(directory, error))?;
        let kept = Kept {
            version: VERSION,
            inputs: self.inputs(plan),
            checksum: checksum(outcomes),
            plan: plan.clone(),
            outcomes: outcomes.to_vec(),
        };
        let written = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            let mut text = serde_json::to_string(&kept)?;
            text.push('\n');
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        written().map_err(|error| host(&path, error))
    }

    /// Where what came of a run is, or would be.
    #[must_use]
    pub fn path(&self, plan: &RunPlan) -> PathBuf {
        let mut name = in_a_name(&plan.system);
        if let Some(variant) = &plan.variant {
            name += &format!("-{}", in_a_name(variant));
        }
        name += &format!("-1.{}-seed{}-{}.json", plan.scale, plan.seed, self.inputs(plan));
        self.directory.join(&plan.experiment).join(name)
    }

    /// The hash of all that a run depends on.
    fn inputs(&self, plan: &RunPlan) -> String {
        let mut hash = Xxh3Default::new();
        hash.update(&self.program.to_le_bytes());
        hash.update(json(plan).as_bytes());
        format!("{:016x}", hash.digest())
    }
}

pub(super) fn checksum(outcomes: &[Outcome]) -> String {
    format!("{:016x}", xxh3_64(json(&outcomes).as_bytes()))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values")
}

/// A text as a part of a file's name.
fn in_a_name(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=,".contains(c);
    text.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

fn hash_file(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let (mut hash, mut buffer) = (Xxh3Default::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.digest()),
            read => hash.update(&buffer[..read]),
        }
    }
}

fn host(path: &Path, source: io::Error) -> ResultError {
    ResultError::Host { path: path.to_owned(), source }
}

fn damaged(path: &Path, expected: &str, found: impl std::fmt::Display) -> ResultError {
    let (expected, found) = (expected.to_owned(), found.to_string());
    ResultError::Damaged { path: path.to_owned(), expected, found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::series::plans;

    fn plan(seed: u64) -> RunPlan {
        let text = include_str!("../experiment/test.toml");
        let experiment = Experiment::parse("test", "test.toml", text).unwrap();
        plans(&experiment, &[], "1/64".parse().unwrap(), seed).unwrap().remove(0)
    }

    fn outcomes() -> Vec<Outcome> {
        let mut outcome = Outcome::made_up("bluefs");
        // Has no short decimal form.
        outcome.figures.seconds = 2.0_f64.sqrt() / 3e9;
        vec![outcome]
    }

    #[test]
    fn what_was_kept_is_found_to_the_last_bit_and_only_for_the_same_inputs() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::of_program(directory.path(), 1);
        assert_eq!(results.find(&plan(1)).unwrap(), None);
        results.keep(&plan(1), &outcomes()).unwrap();
        assert_eq!(results.find(&plan(1)).unwrap(), Some(outcomes()));
        assert_eq!(results.find(&plan(2)).unwrap(), None);
        let other = RunPlan { drive_hash: "other".into(), ..plan(1) };
        assert_eq!(results.find(&other).unwrap(), None);
        assert_eq!(Results::of_program(directory.path(), 2).find(&plan(1)).unwrap(), None);
        let left = fs::read_dir(directory.path().join("test")).unwrap().count();
        assert_eq!(left, 1, "nothing but the result is left behind");
    }

    #[test]
    fn a_file_that_was_changed_or_is_anothers_is_never_a_result() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::of_program(directory.path(), 1);
        results.keep(&plan(1), &outcomes()).unwrap();
        let path = results.path(&plan(1));
        let good = fs::read(&path).unwrap();
        let text = String::from_utf8(good.clone()).unwrap();
        let others = results.path(&plan(2));
        results.keep(&plan(2), &outcomes()).unwrap();
        let others = fs::read(others).unwrap();
        for (damage, expected) in [
            (text.replace("300.0", "301.0").into_bytes(), "checksum"),
            (text.replace("\"version\":1", "\"version\":2").into_bytes(), "version 1"),
            (text.replace("\"seed\":1,\"scale\"", "\"seed\":3,\"scale\"").into_bytes(), "plan"),
            (good[..good.len() / 2].to_vec(), "a result of the lab"),
            (Vec::new(), "a result of the lab"),
            (vec![0xff; 64], "a result of the lab"),
            (others, "inputs"),
        ] {
            assert_ne!(damage, good, "{expected}");
            fs::write(&path, damage).unwrap();
            let error = results.find(&plan(1)).unwrap_err();
            assert!(matches!(error, ResultError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains(expected), "{expected}: {error}");
        }
        results.keep(&plan(1), &outcomes()).unwrap();
        assert_eq!(results.find(&plan(1)).unwrap(), Some(outcomes()));
    }

    #[test]
    fn the_names_of_files_say_what_they_are_of() {
        let results = Results::of_program(Path::new("results"), 1);
        let system = "leveldb-greedy:free_min=5,table_size=4MiB".to_owned();
        let path = results.path(&RunPlan { system, experiment: "geardb/fig3".into(), ..plan(7) });
        let path = path.to_str().unwrap();
        let start =
            "results/geardb/fig3/leveldb-greedy_free_min=5,table_size=4MiB-small-1.64-seed7-";
        assert!(path.starts_with(start) && path.ends_with(".json"), "{path}");
    }
}
