//! `cargo xtask bench reference`: measures the costs of Terrace, compares them with those of other
//! engines, and prints the tables of `docs/performance.md`. With `--write` it also puts them into
//! the page.
//!
//! The benchmark is repeated in two setups: a drive in memory, and a directory. The directory
//! (`--dir`) must be one in memory, which is not checked. A table shows the median of the runs and,
//! if they differ, the range from the least to the most. The other engines are not run: their
//! numbers are those that `terrace bench --reference` prints.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::page::{self, Section};
use crate::step;
use crate::workspace::Workspace;

/// How the store is set up: its name on the page, and the options of `terrace bench`.
const SETUPS: [(&str, &[&str]); 2] = [
    ("drive", &["--on", "memory", "--log", "gathered"]),
    ("directory", &["--on", "directory", "--log", "written"]),
];

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often to measure each setup
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// A directory in memory, for the setup on files
    #[arg(long, default_value = "/dev/shm")]
    dir: String,
    /// Write the tables into docs/performance.md as well
    #[arg(long)]
    write: bool,
}

/// Measures, prints the tables, and puts them into the page if it is asked to.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let section = Section::find(workspace, "reference")?;
    let mut metrics = Metrics::default();
    for run in 0..arguments.runs {
        for (setup, options) in SETUPS {
            eprintln!("== run {} of {}: {setup}", run + 1, arguments.runs);
            let words = ["run", "--quiet", "--release", "--", "bench", "--reference", "--json"];
            let mut command = workspace.cargo(words);
            command.args(options);
            if setup == "directory" {
                command.args(["--dir", &arguments.dir]);
            }
            let said = step::output(&mut command)?;
            let line = said.lines().last().unwrap_or_default();
            metrics.add(setup, serde_json::from_str(line).context("expected a report")?)?;
        }
    }
    let (origin, runs) = (page::origin(workspace)?, arguments.runs);
    let tables = format!(
        "Measured at {origin}. Medians of {runs} runs, with the least and the most.\n\n{}",
        metrics.tables()
    );
    println!("{tables}");
    if arguments.write {
        section.write(workspace, &tables)?;
    }
    Ok(())
}

/// Output of `terrace bench --reference --json`, as far as it is needed here.
#[derive(Deserialize)]
struct Report {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    conditions: Conditions,
    measurements: Vec<Measurement>,
}

#[derive(Deserialize)]
struct Conditions {
    count: u64,
    value_size: u32,
}

#[derive(Deserialize)]
struct Measurement {
    mix: String,
    #[serde(flatten)]
    cost: Cost,
    when_idle: Option<WhenIdle>,
}

#[derive(Deserialize)]
struct Cost {
    processor_micros: f64,
    reference: Option<Others>,
}

#[derive(Deserialize)]
struct WhenIdle {
    #[serde(flatten)]
    cost: Cost,
    write_amplification: BTreeMap<String, f64>,
    write_amplification_reference: Option<Others>,
}

/// The metrics of other engines.
#[derive(Clone, Copy, Deserialize)]
struct Others {
    rocksdb: f64,
    fjall: f64,
    leveldb: f64,
}

/// Entries and bytes of a value.
type Size = (u64, u32);

/// One line of a table.
#[derive(Default)]
struct Row {
    /// By setup, one for each run.
    own: BTreeMap<&'static str, Vec<f64>>,
    others: Option<Others>,
}

/// The lines of a table by their names, in the order in which they came.
#[derive(Default)]
struct Table(Vec<(String, Row)>);

impl Table {
    fn add(&mut self, name: &str, setup: &'static str, own: f64, others: Option<Others>) {
        let at = self.0.iter().position(|(row, _)| row == name).unwrap_or_else(|| {
            self.0.push((name.to_owned(), Row::default()));
            self.0.len() - 1
        });
        let row = &mut self.0[at].1;
        row.own.entry(setup).or_default().push(own);
        row.others = others;
    }

    /// As Markdown. The ratio is that of the setup which is most like the others'.
    fn print(&self, what: &str, into: &mut String) {
        let _ = writeln!(
            into,
            "| {what} | drive, log gathered | directory, log written | RocksDB | ratio | fjall | \
             LevelDB |\n|---|---:|---:|---:|---:|---:|---:|"
        );
        for (name, Row { own, others }) in &self.0 {
            // A cause for which nothing was written.
            if own.values().flatten().all(|value| *value < 0.005) {
                continue;
            }
            let cell = |setup| own.get(setup).map_or_else(String::new, |runs| spread(runs));
            let own = own.get("directory").map_or(f64::NAN, |runs| median(runs));
            let others = others.map_or_else(
                || "| | |".to_owned(),
                |Others { rocksdb, fjall, leveldb }| {
                    let ratio = own / rocksdb;
                    let [rocksdb, fjall, leveldb] = [rocksdb, fjall, leveldb].map(digits);
                    format!("{rocksdb} | {ratio:.2} | {fjall} | {leveldb}")
                },
            );
            let (drive, directory) = (cell("drive"), cell("directory"));
            let _ = writeln!(into, "| {name} | {drive} | {directory} | {others} |");
        }
        into.push('\n');
    }
}

/// All that was measured.
#[derive(Default)]
struct Metrics(BTreeMap<std::cmp::Reverse<Size>, [Table; 2]>);

impl Metrics {
    fn add(&mut self, setup: &'static str, report: Report) -> anyhow::Result<()> {
        ensure!(!report.runs.is_empty(), "expected a run for each size, found none");
        for Run { conditions, measurements } in report.runs {
            let size = std::cmp::Reverse((conditions.count, conditions.value_size));
            let [times, written] = self.0.entry(size).or_default();
            for Measurement { mix, cost, when_idle } in measurements {
                times.add(&mix, setup, cost.processor_micros, cost.reference);
                let Some(idle) = when_idle else { continue };
                let cost = idle.cost;
                times.add(&format!("{mix} + idle"), setup, cost.processor_micros, cost.reference);
                for (cause, bytes) in &idle.write_amplification {
                    let is_total = cause == "total";
                    let name = if is_total { mix.clone() } else { format!("{mix}: {cause}") };
                    let others = idle.write_amplification_reference.filter(|_| is_total);
                    written.add(&name, setup, *bytes, others);
                }
            }
        }
        Ok(())
    }

    fn tables(&self) -> String {
        let mut text = String::new();
        for (std::cmp::Reverse((entries, bytes)), [times, written]) in &self.0 {
            let millions = *entries as f64 / 1e6;
            let _ = writeln!(text, "{millions} million entries of {bytes} bytes:\n");
            times.print("processor us/op", &mut text);
            written.print("bytes written for one", &mut text);
        }
        text
    }
}

pub(crate) fn median(runs: &[f64]) -> f64 {
    let mut runs = runs.to_vec();
    runs.sort_by(f64::total_cmp);
    let middle = runs.len() / 2;
    if runs.len().is_multiple_of(2) {
        (runs[middle - 1] + runs[middle]) / 2.0
    } else {
        runs[middle]
    }
}

/// The median, and the range if there is one.
fn spread(runs: &[f64]) -> String {
    let least = digits(runs.iter().copied().fold(f64::INFINITY, f64::min));
    let most = digits(runs.iter().copied().fold(0.0, f64::max));
    let median = digits(median(runs));
    if least == most { median } else { format!("{median} ({least}-{most})") }
}

/// Three digits.
fn digits(value: f64) -> String {
    let decimals = match value {
        _ if value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"runs": [{"conditions": {"count": 5000000, "on": "memory",
        "value_size": 128}, "measurements": [
        {"mix": "readrandom", "processor_micros": 4.0, "when_idle": null,
         "reference": {"rocksdb": 8.0, "fjall": 7.0, "leveldb": 7.0}},
        {"mix": "overwrite", "processor_micros": 2.0, "reference": null, "when_idle": {
         "processor_micros": 3.0, "reference": null,
         "write_amplification": {"total": 2.0, "log": 1.0},
         "write_amplification_reference": {"rocksdb": 4.0, "fjall": 4.0, "leveldb": 7.0}}}]}]}"#;

    #[test]
    fn a_table_has_the_median_the_spread_and_the_ratio() {
        let mut metrics = Metrics::default();
        for (setup, micros) in
            [("drive", "5.0"), ("directory", "4.0"), ("directory", "6.0"), ("directory", "16.0")]
        {
            let report = REPORT
                .replace("\"processor_micros\": 4.0", &format!("\"processor_micros\": {micros}"));
            metrics.add(setup, serde_json::from_str(&report).unwrap()).unwrap();
        }
        let text = metrics.tables();
        for line in [
            "5 million entries of 128 bytes:",
            "| readrandom | 5.00 | 6.00 (4.00-16.0) | 8.00 | 0.75 | 7.00 | 7.00 |",
            "| overwrite + idle | 3.00 | 3.00 | | | | |",
            "| overwrite: log | 1.00 | 1.00 | | | | |",
            "| overwrite | 2.00 | 2.00 | 4.00 | 0.50 | 4.00 | 7.00 |",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
