//! [`Results`]: a directory that keeps the outcomes of runs.
//!
//! Each phase of a run has a file: `DRIVE/SYSTEM-WORKLOAD-1.64-seed1-HASH.json`, here at a scale of
//! 1/64 and from seed 1. The hash covers all that the phase depends on: the [engine], and the plan
//! as far as this phase, with the drive's parameters and the seed. If one of these changes, the
//! file has another name.
//!
//! The hash leaves out the names of experiment, system, variant and phases, which phases are
//! measured, and later phases. The system counts by its scaled parameters. So experiments that
//! begin with the same load share its result. A result that is found gets the names of the run that
//! asks for it.
//!
//! A file appears whole or not at all, and has a checksum. A file of a measured phase that is
//! damaged or cannot be read is an error, not a result; one of another phase is passed over.
//! Results of older engines are not deleted.
//!
//! Any number of threads and programs may use a directory at once.
//!
//! [engine]: Results::of_this_engine

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use terrace_env::regular_file::in_words;
use terrace_zone::timing::Scale;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::run::{Cost, Outcome, PhasePlan, RunPlan};

/// The form of the files.
pub(super) const VERSION: u32 = 2;

/// A directory of results. It may be used from several threads, and by several programs at once.
#[derive(Clone, Debug)]
pub struct Results {
    directory: PathBuf,
    engine: String,
}

/// A result that is not there, though a file is, or that could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The operating system refuses.
    #[error("{}: {source}", path.display())]
    Host {
        /// The file or directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file was changed, or was never a result of this run.
    #[error("{}: expected {expected}, found {found}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Value expected.
        expected: String,
        /// Value found.
        found: String,
    },
}

/// Contents of a file of results.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    pub(super) version: u32,
    /// Hash over all that the phase depends on.
    inputs: String,
    /// Checksum of the outcome's JSON.
    pub(super) checksum: String,
    /// The plan as far as the phase, with the names of the time of the run.
    pub(super) plan: RunPlan,
    pub(super) outcome: Outcome,
}

impl Results {
    /// Those of this program's engine in a directory, which need not be there yet. The engine is
    /// all that is at work in a run, down to the drive's model: its sources, and the versions of
    /// libraries. The same sources give the same numbers on every machine.
    #[must_use]
    pub fn of_this_engine(directory: &Path) -> Self {
        Self::of_engine(directory, env!("TERRACE_ENGINE"))
    }

    /// The results of the engine of this name.
    #[must_use]
    pub fn of_engine(directory: &Path, engine: &str) -> Self {
        Self { directory: directory.to_owned(), engine: engine.to_owned() }
    }

    /// Outcomes of the measured phases of a run, with the cost of the others as far as that is
    /// known; `None` unless all measured ones are.
    ///
    /// # Errors
    /// When there is a file for one of them that cannot be trusted.
    pub fn find(&self, plan: &RunPlan) -> Result<Option<Vec<Outcome>>, ResultError> {
        let mut found = Vec::new();
        for (at, phase) in plan.phases.iter().enumerate() {
            match self.find_phase(&plan.as_far_as(at)) {
                Ok(Some(outcome)) => found.push((phase, outcome)),
                // Only its cost is missing.
                _ if !phase.measured => {}
                other => return other.map(|_| None),
            }
        }
        Ok(Some(measured(found)))
    }

    /// Outcome of the last phase of a plan.
    fn find_phase(&self, plan: &RunPlan) -> Result<Option<Outcome>, ResultError> {
        let path = self.path(plan);
        let text = match read_result(&path) {
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
            ("checksum", checksum(&kept.outcome), kept.checksum.clone()),
        ];
        match checks.into_iter().find(|(_, expected, found)| expected != found) {
            None => Ok(Some(called(kept.outcome, plan))),
            Some((what, expected, found)) => {
                Err(damaged(&path, &format!("{what} {expected}"), found))
            }
        }
    }

    /// Keeps the results of a run: an outcome for each of its phases.
    pub fn keep(&self, plan: &RunPlan, outcomes: &[Outcome]) -> Result<(), ResultError> {
        assert_eq!(plan.phases.len(), outcomes.len(), "an outcome for each phase");
        let mut each = outcomes.iter().enumerate();
        each.try_for_each(|(phase, outcome)| self.keep_phase(plan.as_far_as(phase), outcome))
    }

    fn keep_phase(&self, plan: RunPlan, outcome: &Outcome) -> Result<(), ResultError> {
        let path = self.path(&plan);
        let directory = path.parent().expect("a result is in a directory");
        fs::create_dir_all(directory).map_err(|error| host(directory, error))?;
        let kept = Kept {
            version: VERSION,
            inputs: self.inputs(&plan),
            checksum: checksum(outcome),
            plan,
            outcome: outcome.clone(),
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

    /// The scales of the results in the directory, by the names of the files; the largest first.
    #[must_use]
    pub fn scales(&self) -> Vec<Scale> {
        let directories = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let files = directories.flat_map(|drive| fs::read_dir(drive.path()).into_iter().flatten());
        let scale = |name: &str| {
            let (before, _) = name.rsplit_once("-seed")?;
            let (_, scale) = before.rsplit_once("-1.")?;
            scale.parse().ok()
        };
        let names = files.flatten().map(|file| file.file_name());
        let found: BTreeSet<u64> = names.filter_map(|name| scale(name.to_str()?)).collect();
        found.into_iter().filter_map(|scale| format!("1/{scale}").parse().ok()).collect()
    }

    /// The path of the outcome of a plan's last phase, which may be missing.
    #[must_use]
    pub(super) fn path(&self, plan: &RunPlan) -> PathBuf {
        let mut name = in_a_name(&plan.store.system);
        if let Some(phase) = plan.phases.last() {
            name += &format!("-{}", phase.workload);
        }
        name += &format!("-1.{}-seed{}-{}.json", plan.scale, plan.seed, self.inputs(plan));
        self.directory.join(in_a_name(&plan.drive)).join(name)
    }

    /// The hash of all that the last phase of a plan depends on.
    fn inputs(&self, plan: &RunPlan) -> String {
        let mut hash = Xxh3Default::new();
        hash.update(self.engine.as_bytes());
        hash.update(json(&plan.nameless()).as_bytes());
        format!("{:016x}", hash.digest())
    }
}

/// The text of a result. Anything but a file is not opened: a pipe would wait for a writer.
pub(super) fn read_result(path: &Path) -> io::Result<String> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_file() {
        return fs::read_to_string(path);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, in_words(kind)))
}

/// An outcome, called as the plan calls it.
pub(super) fn called(outcome: Outcome, plan: &RunPlan) -> Outcome {
    let phase = plan.phases.last().map_or(outcome.phase, |phase| phase.name.clone());
    let (experiment, system) = (plan.experiment.clone(), plan.system.clone());
    Outcome { experiment, system, variant: plan.variant.clone(), phase, ..outcome }
}

pub(super) fn checksum(outcome: &Outcome) -> String {
    format!("{:016x}", xxh3_64(json(outcome).as_bytes()))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values")
}

/// A text as a part of a file's name.
fn in_a_name(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=,".contains(c);
    text.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

fn host(path: &Path, source: io::Error) -> ResultError {
    ResultError::Host { path: path.to_owned(), source }
}

fn damaged(path: &Path, expected: &str, found: impl std::fmt::Display) -> ResultError {
    let (expected, found) = (expected.to_owned(), found.to_string());
    ResultError::Damaged { path: path.to_owned(), expected, found }
}

/// Outcomes of the phases that are measured, each with the cost of the others right before it.
pub(super) fn measured<'a>(
    phases: impl IntoIterator<Item = (&'a PhasePlan, Outcome)>,
) -> Vec<Outcome> {
    let mut before = Cost::default();
    let mut outcomes = Vec::new();
    for (phase, mut outcome) in phases {
        before += outcome.cost;
        if phase.measured {
            outcome.cost = std::mem::take(&mut before);
            outcomes.push(outcome);
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::series::plans;

    /// A plan of two phases.
    fn plan(seed: u64) -> RunPlan {
        let text = include_str!("../experiment/test.toml");
        let experiment = Experiment::parse("test", "test.toml", text).unwrap();
        plans(&experiment, &[], "1/64".parse().unwrap(), seed).unwrap().remove(0)
    }

    fn outcomes() -> Vec<Outcome> {
        let plan = plan(1);
        let outcome = |phase: usize| {
            let mut outcome = called(Outcome::made_up("bluefs"), &plan.as_far_as(phase));
            // Has no short decimal form.
            outcome.metrics.seconds = 2.0_f64.sqrt() / 3e9 + phase as f64;
            outcome.cost = Cost { processor_seconds: 1.5, gigabytes_moved: phase as f64 };
            outcome
        };
        vec![outcome(0), outcome(1)]
    }

    #[test]
    fn what_was_kept_is_found_to_the_last_bit_and_only_for_the_same_inputs() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::of_engine(directory.path(), "1");
        assert_eq!(results.find(&plan(1)).unwrap(), None);
        results.keep(&plan(1), &outcomes()).unwrap();
        assert_eq!(results.find(&plan(1)).unwrap(), Some(outcomes()));
        assert_eq!(results.find(&plan(2)).unwrap(), None);
        let other = RunPlan { drive_hash: "other".into(), ..plan(1) };
        assert_eq!(results.find(&other).unwrap(), None);
        assert_eq!(Results::of_engine(directory.path(), "2").find(&plan(1)).unwrap(), None);
        let scales: Vec<String> = results.scales().iter().map(ToString::to_string).collect();
        assert_eq!(scales, ["1/64"]);
        let left = fs::read_dir(directory.path().join("hgst-hsh721414al")).unwrap().count();
        assert_eq!(left, 2, "only the results are left");
    }

    #[test]
    fn a_run_that_begins_like_another_shares_what_is_common_under_its_own_names() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::of_engine(directory.path(), "1");
        results.keep(&plan(1), &outcomes()).unwrap();
        let mut other = RunPlan {
            experiment: "other".into(),
            system: "bluefs:free_min=0".into(),
            variant: None,
            ..plan(1)
        };
        other.phases[0].name = "fill".into();
        other.phases[0].measured = false;
        let found = results.find(&other).unwrap().unwrap();
        assert_eq!(found.len(), 1, "an unmeasured phase is not told");
        let mut again = Outcome {
            experiment: "other".into(),
            system: "bluefs:free_min=0".into(),
            variant: None,
            ..outcomes()[1].clone()
        };
        again.cost += outcomes()[0].cost;
        assert_eq!(found[0], again);
        other.phases.truncate(1);
        other.phases[0].measured = true;
        let found = results.find(&other).unwrap().unwrap();
        assert_eq!((found.len(), found[0].phase.as_str()), (1, "fill"));
        assert_eq!(found[0].metrics, outcomes()[0].metrics);
        // The phases before count.
        let mut without = plan(1);
        without.phases.remove(0);
        assert_eq!(results.find(&without).unwrap(), None);
    }

    #[test]
    fn a_file_that_was_changed_or_is_anothers_is_never_a_result() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::of_engine(directory.path(), "1");
        results.keep(&plan(1), &outcomes()).unwrap();
        let path = results.path(&plan(1));
        let good = fs::read(&path).unwrap();
        let text = String::from_utf8(good.clone()).unwrap();
        let others = results.path(&plan(2));
        results.keep(&plan(2), &outcomes()).unwrap();
        let others = fs::read(others).unwrap();
        for (damage, expected) in [
            (text.replace("300.0", "301.0").into_bytes(), "checksum"),
            (text.replace("\"version\":2", "\"version\":3").into_bytes(), "version 2"),
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
    fn what_is_no_file_is_refused_unopened_and_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::of_engine(directory.path(), "1");
        results.keep(&plan(1), &outcomes()).unwrap();
        let path = results.path(&plan(1));
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let error = results.find(&plan(1)).unwrap_err();
        let expected = "expected a result of the lab, found a pipe";
        assert!(error.to_string().ends_with(expected), "{error}");
        let newer = Results::of_engine(directory.path(), "2");
        assert_eq!(newer.find_of_another_engine(&plan(1)), None);
        results.keep(&plan(1), &outcomes()).unwrap();
        assert_eq!(results.find(&plan(1)).unwrap(), Some(outcomes()));
    }

    #[test]
    fn the_names_of_files_say_what_they_are_of() {
        let results = Results::of_engine(Path::new("results"), "1");
        let mut plan = RunPlan { drive: "my/drive.toml".into(), ..plan(7) };
        plan.store.system = "leveldb-greedy:free_min=5,table_size=4MiB".into();
        let path = results.path(&plan.as_far_as(0));
        let path = path.to_str().unwrap();
        let start = "results/my_drive.toml/leveldb-greedy_free_min=5,table_size=4MiB-fillrandom-\
                     1.64-seed7-";
        assert!(path.starts_with(start) && path.ends_with(".json"), "{path}");
    }
}
