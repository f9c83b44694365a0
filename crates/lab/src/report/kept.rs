//! [`KeptResults`]: our values for the claims of papers, in files of the source tree,
//! `crates/lab/results/PAPER.json`. They are compiled into the program.
//!
//! An experiment's entry has the scale, the seed and the commit of its runs, and a value for each
//! claim that these runs answer. A value counts only while the settings that it depends on are
//! those of the experiment's file: [`settings_of`]. The engine may have changed since; the commit
//! tells which one was measured.
//!
//! Values come from results of one engine that [`Report::gather`] has found. Results of other
//! engines are not kept. The entry of an experiment is replaced as a whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use terrace_zone::timing::Scale;

use super::{Answer, Chapter, Report, Standing};
use crate::experiment::{Claim, Experiment, settings_of};
use crate::run::Outcome;

/// The files, by the papers' groups of experiments.
const FILES: [(&str, &str); 7] = [
    ("geardb", include_str!("../../results/geardb.json")),
    ("sealdb", include_str!("../../results/sealdb.json")),
    ("bluefs", include_str!("../../results/bluefs.json")),
    ("smrdb", include_str!("../../results/smrdb.json")),
    ("arrivals", include_str!("../../results/arrivals.json")),
    ("offload", include_str!("../../results/offload.json")),
    ("lifetime", include_str!("../../results/lifetime.json")),
];

/// Values of ours for the claims of papers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptResults {
    /// By the name of the experiment.
    experiments: BTreeMap<String, Entry>,
}

/// The values of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(flatten)]
    measured: Measured,
    claims: Vec<Value>,
}

/// The runs that values are from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// The scale of the runs.
    pub scale: String,
    /// The seed of the runs.
    pub seed: u64,
    /// The commit of the engine that carried them out.
    pub commit: String,
}

/// Our value for a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    /// The claim in words.
    claim: String,
    /// Hash of the settings that the value depends on.
    settings: String,
    /// Our value.
    ours: f64,
}

/// A file of kept results that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct KeptError {
    /// The file.
    pub path: PathBuf,
    /// Error of the system, or of the file's form.
    #[source]
    pub source: io::Error,
}

impl KeptResults {
    /// Those that come with the program.
    ///
    /// # Panics
    /// When a file is not one that [`write`](Self::write) has written. A test reads all files.
    #[must_use]
    pub fn of_this_program() -> Self {
        let files = FILES.iter().map(|(paper, text)| {
            serde_json::from_str::<BTreeMap<String, Entry>>(text)
                .unwrap_or_else(|error| panic!("results of {paper}: {error}"))
        });
        Self { experiments: files.flatten().collect() }
    }

    /// Those in a directory. A missing file is an empty one.
    pub fn read(directory: &Path) -> Result<Self, KeptError> {
        let mut experiments = BTreeMap::new();
        for (paper, _) in FILES {
            let path = file_of(directory, paper);
            let text = match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(KeptError { path, source }),
            };
            let entries: BTreeMap<String, Entry> = serde_json::from_str(&text)
                .map_err(|error| KeptError { path, source: io::Error::other(error) })?;
            experiments.extend(entries);
        }
        Ok(Self { experiments })
    }

    /// Writes the files into a directory.
    pub fn write(&self, directory: &Path) -> Result<(), KeptError> {
        for (paper, _) in FILES {
            let entries = self.experiments.iter().filter(|(name, _)| group(name) == paper);
            let entries: BTreeMap<&String, &Entry> = entries.collect();
            let mut text = serde_json::to_string_pretty(&entries).expect("plain values");
            text.push('\n');
            let path = file_of(directory, paper);
            fs::write(&path, text).map_err(|source| KeptError { path, source })?;
        }
        Ok(())
    }

    /// Adds the values of a report, whose runs were made by the engine of this commit, in the place
    /// of older values of the same experiments. Returns the names of these experiments.
    pub fn add(&mut self, report: &Report, commit: &str) -> Vec<String> {
        let mut added = Vec::new();
        for chapter in &report.chapters {
            let scale = chapter.scale.map_or(report.scale.clone(), |scale| scale.to_string());
            let claims = values(chapter);
            if claims.is_empty() {
                continue;
            }
            let measured = Measured { scale, seed: report.seed, commit: commit.to_owned() };
            let name = chapter.experiment.name.clone();
            added.push(name.clone());
            self.experiments.insert(name, Entry { measured, claims });
        }
        added
    }

    /// The value of a claim, and its runs; `None` if it was not measured with these settings.
    #[must_use]
    pub fn value(&self, experiment: &str, claim: &Claim) -> Option<(f64, &Measured)> {
        let entry = self.experiments.get(experiment)?;
        let value = entry.claims.iter().find(|value| value.claim == claim.text)?;
        (settings_of(experiment, claim)? == value.settings).then_some((value.ours, &entry.measured))
    }

    /// Our answer to a claim.
    pub(super) fn answer(&self, experiment: &Experiment, claim: &Claim) -> Answer {
        let value = self.value(&experiment.name, claim);
        let scale = value.and_then(|(_, measured)| measured.scale.parse::<Scale>().ok());
        Answer::with_value(experiment, claim, value.map(|(ours, _)| ours), scale)
    }

    /// Names of experiments and claims that have a value, and are not in the library.
    #[must_use]
    pub fn orphans(&self) -> Vec<String> {
        let mut orphans = Vec::new();
        for (name, entry) in &self.experiments {
            let claims = match Experiment::find(name).as_deref() {
                Ok([found]) => found.claims.clone(),
                _ => Vec::new(),
            };
            let known = |text: &str| claims.iter().any(|claim| claim.text == text);
            let lost = entry.claims.iter().filter(|value| !known(&value.claim));
            orphans.extend(lost.map(|value| format!("{name}: {}", value.claim)));
        }
        orphans
    }
}

/// The values of a chapter, as far as they are from runs of this engine.
fn values(chapter: &Chapter) -> Vec<Value> {
    let experiment = &chapter.experiment;
    let is_known = |outcome: &&Outcome| {
        let mut runs = chapter.runs.iter().filter(|run| run.standing == Standing::Known);
        runs.any(|run| run.system == outcome.system && run.variant == outcome.variant)
    };
    let outcomes: Vec<Outcome> = chapter.outcomes.iter().filter(is_known).cloned().collect();
    let claims = experiment.claims.iter();
    let value = |claim: &Claim| {
        let ours = claim.evaluate(&outcomes).filter(|ours| ours.is_finite())?;
        let settings = settings_of(&experiment.name, claim)?;
        Some(Value { claim: claim.text.clone(), settings, ours })
    };
    claims.filter_map(value).collect()
}

fn file_of(directory: &Path, paper: &str) -> PathBuf {
    directory.join(format!("{paper}.json"))
}

/// The group of an experiment: `geardb` of `geardb/fig3`.
pub(super) fn group(experiment: &str) -> &str {
    experiment.split_once('/').map_or(experiment, |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::RunStanding;

    fn report(standing: Standing) -> Report {
        let experiment = Experiment::find("geardb/fig10a").unwrap().remove(0);
        let outcome = |system: &str, kv_per_second: f64| {
            let mut outcome = Outcome::made_up(system);
            outcome.experiment.clone_from(&experiment.name);
            outcome.variant = None;
            outcome.phase = "fillrandom".to_owned();
            outcome.metrics.kv_per_second = kv_per_second;
            outcome
        };
        let outcomes = vec![outcome("geardb", 3.0), outcome("leveldb-greedy", 2.0)];
        let runs = outcomes.iter().map(|outcome| RunStanding {
            system: outcome.system.clone(),
            variant: None,
            standing: standing.clone(),
        });
        let runs = runs.collect();
        let chapter = Chapter { experiment, outcomes, runs, scale: None };
        let (program, scale) = ("0".to_owned(), "1/16".to_owned());
        Report { program, scale, seed: 1, names: Vec::new(), chapters: vec![chapter] }
    }

    #[test]
    fn values_are_kept_with_the_scale_and_the_commit_of_their_runs() {
        let mut kept = KeptResults::default();
        assert_eq!(kept.add(&report(Standing::Known), "abc"), ["geardb/fig10a"]);
        let directory = tempfile::tempdir().unwrap();
        kept.write(directory.path()).unwrap();
        let again = KeptResults::read(directory.path()).unwrap();
        assert_eq!(again, kept);
        assert_eq!(again.orphans(), Vec::<String>::new());
        let experiment = Experiment::find("geardb/fig10a").unwrap().remove(0);
        let (ours, measured) = again.value("geardb/fig10a", &experiment.claims[0]).unwrap();
        assert!((ours - 1.5).abs() < 1e-12, "{ours}");
        assert_eq!((measured.scale.as_str(), measured.commit.as_str()), ("1/16", "abc"));
        // The other side of this ratio has no result.
        assert_eq!(again.value("geardb/fig10a", &experiment.claims[1]), None);
    }

    #[test]
    fn a_value_of_other_settings_or_of_another_engine_does_not_count() {
        let mut kept = KeptResults::default();
        assert!(kept.add(&report(Standing::OtherBuild), "abc").is_empty());
        assert!(kept.add(&report(Standing::Missing), "abc").is_empty());
        kept.add(&report(Standing::Known), "abc");
        let experiment = Experiment::find("geardb/fig10a").unwrap().remove(0);
        let mut claim = experiment.claims[0].clone();
        assert!(kept.value("geardb/fig10a", &claim).is_some());
        claim.quantity.system = "lifetime".to_owned();
        assert_eq!(kept.value("geardb/fig10a", &claim), None);
        claim = experiment.claims[0].clone();
        kept.experiments.get_mut("geardb/fig10a").unwrap().claims[0].settings = "0".to_owned();
        assert_eq!(kept.value("geardb/fig10a", &claim), None);
        claim.text = "Another claim".to_owned();
        kept.experiments.get_mut("geardb/fig10a").unwrap().claims[0].claim = "Gone".to_owned();
        assert_eq!(kept.value("geardb/fig10a", &claim), None);
        assert_eq!(kept.orphans(), ["geardb/fig10a: Gone"]);
    }

    #[test]
    fn the_results_of_this_program_are_those_of_its_experiments() {
        assert_eq!(KeptResults::of_this_program().orphans(), Vec::<String>::new());
    }
}
