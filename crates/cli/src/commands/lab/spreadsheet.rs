//! Writes metrics and samples of runs as files of comma-separated values, for spreadsheets and
//! plotting tools. [`metrics`] writes a row for each outcome, [`samples`] a row for each sample.
//!
//! A file that exists is written over. The first row has the names of the columns. A metric that a
//! run does not have is an empty field.

use std::fs::File;
use std::path::Path;

use csv::Writer;
use terrace_lab::run::{Metrics, Outcome, Sample};

use crate::failure::{Failure, Kind};

/// Columns that say which phase of which run a row is of.
const OF: [&str; 6] = ["experiment", "system", "variant", "phase", "scale", "seed"];

/// Writes a row for each outcome, with all metrics; those that a run does not have are empty.
pub(super) fn metrics(path: &Path, outcomes: &[Outcome]) -> Result<(), Failure> {
    let names = Metrics::names();
    let costs = ["trace_hash", "processor_seconds", "gigabytes_moved"];
    let mut file = Rows::create(path)?;
    file.add(words(&OF).chain(names.iter().cloned()).chain(words(&costs)))?;
    for outcome in outcomes {
        let values = names.iter().map(|name| shown(outcome.metrics.value(name)));
        let hash = outcome.metrics.trace_hash.clone();
        let cost = [outcome.cost.processor_seconds, outcome.cost.gigabytes_moved];
        let cost = [hash].into_iter().chain(cost.map(|value| value.to_string()));
        file.add(run(outcome).into_iter().chain(values).chain(cost))?;
    }
    file.finish()
}

/// Writes a row for each sample, with all series.
pub(super) fn samples(path: &Path, outcomes: &[Outcome]) -> Result<(), Failure> {
    let names = Sample::names();
    let mut file = Rows::create(path)?;
    file.add(words(&OF).chain(words(&["seconds", "operations"])).chain(names.iter().cloned()))?;
    for outcome in outcomes {
        for sample in &outcome.samples {
            let when = [sample.seconds.to_string(), sample.operations.to_string()];
            let values = names.iter().map(|name| shown(sample.values.get(name).copied()));
            file.add(run(outcome).into_iter().chain(when).chain(values))?;
        }
    }
    file.finish()
}

fn run(outcome: &Outcome) -> [String; 6] {
    let Outcome { experiment, system, variant, phase, scale, seed, .. } = outcome;
    let variant = variant.clone().unwrap_or_default();
    [experiment, system, &variant, phase, scale, &seed.to_string()].map(String::clone)
}

fn words(words: &[&'static str]) -> impl Iterator<Item = String> {
    words.iter().map(|word| (*word).to_owned())
}

fn shown(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A file that is being written.
struct Rows<'a> {
    path: &'a Path,
    writer: Writer<File>,
}

impl<'a> Rows<'a> {
    fn create(path: &'a Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| Failure::path(path, &error))?;
        Ok(Self { path, writer: Writer::from_writer(file) })
    }

    fn add(&mut self, row: impl Iterator<Item = String>) -> Result<(), Failure> {
        let path = self.path;
        self.writer
            .write_record(row.collect::<Vec<_>>())
            .map_err(|error| Failure::new(Kind::Failed, format!("{}: {error}", path.display())))
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.writer.flush().map_err(|error| Failure::path(self.path, &error))
    }
}
