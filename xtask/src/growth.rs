//! `cargo xtask bench growth`: how costs grow with the number of entries. It fills and overwrites
//! stores of 1, 4, 16 and 64 million entries of 128 bytes, reads from them, and prints a table.
//! With `--write` it also puts the table into `docs/performance.md`.
//!
//! A store is on an emulated drive in a sparse file, which is made in `--dir` and removed at the
//! end. `--keep` keeps the report of each run, so that an interrupted measurement goes on.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::page::{self, Section};
use crate::spent::Watch;
use crate::step;
use crate::workspace::Workspace;

/// The works of a run, in their order.
const WORKS: [&str; 5] =
    ["filluniquerandom", "overwrite", "readrandom", "readmissing", "seekrandom"];
/// Point reads of a run.
const READS: &str = "200000";

/// Sizes and systems to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Millions of entries, one after the other
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,64",
        value_parser = clap::value_parser!(u64).range(1..=1000))]
    millions: Vec<u64>,
    /// Systems of the stores
    #[arg(long, value_delimiter = ',', default_value = "bluefs,sliced")]
    systems: Vec<String>,
    /// The directory of the drive's image: some 20 GB for 64 million entries
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Keep the report of each run in this directory, and skip runs that are there
    #[arg(long, value_name = "DIRECTORY")]
    keep: Option<PathBuf>,
    /// Write the table into docs/performance.md as well
    #[arg(long)]
    write: bool,
}

/// Measures, prints the table, and puts it into the page if it is asked to.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let section = Section::find(workspace, "growth")?;
    let mut lines = Vec::new();
    for system in &arguments.systems {
        for &millions in &arguments.millions {
            let report = report(workspace, arguments, system, millions)?;
            lines.push(Line::of(system, millions, &report)?);
        }
    }
    let text = format!("Measured at {}.\n\n{}\n", page::origin(workspace)?, table(&lines));
    println!("{text}");
    if arguments.write {
        section.write(workspace, &text)?;
    }
    Ok(())
}

/// The report of a run: the kept one, or that of a new measurement.
fn report(
    workspace: &Workspace,
    arguments: &Arguments,
    system: &str,
    millions: u64,
) -> anyhow::Result<Report> {
    let name = format!("{}-{millions}.json", system.replace([':', '=', ','], "_"));
    let kept = arguments.keep.as_ref().map(|dir| dir.join(name));
    if let Some(text) = kept.as_ref().and_then(|path| std::fs::read_to_string(path).ok()) {
        return serde_json::from_str(&text).context("expected a report that was kept");
    }
    eprintln!("== {system}, {millions} million entries");
    let image = arguments.dir.join("growth.img");
    let measured = measure(workspace, &image, system, millions);
    let removed = std::fs::remove_file(&image);
    let text = measured?;
    removed.with_context(|| format!("removing {}", image.display()))?;
    if let Some(path) = kept {
        std::fs::write(&path, &text).with_context(|| format!("writing {}", path.display()))?;
    }
    serde_json::from_str(&text).context("expected a report")
}

/// Fills, overwrites and reads one store; then opens it again.
fn measure(
    workspace: &Workspace,
    image: &Path,
    system: &str,
    millions: u64,
) -> anyhow::Result<String> {
    let words = ["run", "--quiet", "--release", "--"];
    let program = || -> Command { workspace.cargo(words) };
    // Three times the entries: overwrites and merges need room.
    let size = format!("{}GiB", (millions * 144 * 3 / 1000).max(4));
    let mut create = program();
    create.args(["device", "create", "--size", &size, "--zone-size", "64MiB"]).arg(image);
    step::output(&mut create)?;
    let mut bench = program();
    bench.args(["bench", "--json", "--system", system, "--value-size", "128", "--device"]);
    bench.arg(image).args(["--count", &(millions * 1_000_000).to_string(), "--reads", READS]);
    let said = step::output(bench.args(WORKS))?;
    let mut report: serde_json::Value =
        serde_json::from_str(said.lines().last().unwrap_or_default()).context("expected JSON")?;
    // The first call waits for cargo, too.
    let mut opening = f64::INFINITY;
    for _ in 0..3 {
        let watch = Watch::start();
        step::output(program().arg("stats").arg(image))?;
        opening = opening.min(watch.spent().processor.as_secs_f64());
    }
    report["opening_seconds"] = opening.into();
    Ok(report.to_string())
}

/// Output of `terrace bench --json` as far as it is needed here, and the time of an opening.
#[derive(Deserialize)]
struct Report {
    runs: Vec<Run>,
    opening_seconds: f64,
}

#[derive(Deserialize)]
struct Run {
    measurements: Vec<Measurement>,
}

#[derive(Deserialize)]
struct Measurement {
    mix: String,
    processor_micros: f64,
    when_idle: Option<WhenIdle>,
    memory: Memory,
}

#[derive(Deserialize)]
struct WhenIdle {
    processor_micros: f64,
    write_amplification: WriteAmplification,
    space_amplification: f64,
}

#[derive(Deserialize)]
struct WriteAmplification {
    total: f64,
}

/// Bytes of memory of the store.
#[derive(Deserialize)]
struct Memory {
    peak: u64,
}

/// A line of the table.
struct Line {
    system: String,
    millions: u64,
    cells: Vec<String>,
}

impl Line {
    fn of(system: &str, millions: u64, report: &Report) -> anyhow::Result<Self> {
        let runs = &report.runs;
        ensure!(runs.len() == 1, "expected one run, found {}", runs.len());
        let measured = |mix: &str| {
            let found = runs[0].measurements.iter().find(|measured| measured.mix == mix);
            found.with_context(|| format!("expected a measurement of {mix}"))
        };
        let mut cells = Vec::new();
        for mix in ["filluniquerandom", "overwrite"] {
            let idle = measured(mix)?.when_idle.as_ref().context("expected costs when idle")?;
            cells.push(format!("{:.2}", idle.processor_micros));
            cells.push(format!("{:.1}", idle.write_amplification.total));
        }
        let idle = measured("overwrite")?.when_idle.as_ref();
        cells
            .push(idle.map_or_else(String::new, |idle| format!("{:.2}", idle.space_amplification)));
        for mix in ["readrandom", "readmissing", "seekrandom"] {
            cells.push(format!("{:.1}", measured(mix)?.processor_micros));
        }
        let peak = runs[0].measurements.iter().map(|measured| measured.memory.peak).max();
        cells.push(format!("{}", peak.unwrap_or(0) >> 20));
        cells.push(format!("{:.0}", report.opening_seconds * 1e3));
        Ok(Self { system: system.to_owned(), millions, cells })
    }
}

/// The table, as Markdown.
fn table(lines: &[Line]) -> String {
    let heads = [
        "system",
        "millions",
        "fill",
        "written for one",
        "overwrite",
        "written for one",
        "space for one",
        "get",
        "absent",
        "seek + 50",
        "memory, MiB",
        "`stats`, ms",
    ];
    let mut text = format!("| {} |\n|---{}|\n", heads.join(" | "), "|---:".repeat(heads.len() - 1));
    for Line { system, millions, cells } in lines {
        text += &format!("| `{system}` | {millions} | {} |\n", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_costs_of_writes_with_those_of_jobs() {
        let measured = |mix: &str, micros: f64, idle: &str| {
            format!(
                r#"{{"mix": "{mix}", "processor_micros": {micros}, "when_idle": {idle},
                    "memory": {{"peak": {}}}}}"#,
                (micros as u64) << 20
            )
        };
        let idle = |micros: f64, total: f64, space: f64| {
            format!(
                r#"{{"processor_micros": {micros}, "write_amplification": {{"total": {total}}},
                    "space_amplification": {space}}}"#
            )
        };
        let measurements = [
            measured("filluniquerandom", 2.0, &idle(3.0, 4.0, 1.0)),
            measured("overwrite", 5.0, &idle(6.0, 7.0, 1.25)),
            measured("readrandom", 8.0, "null"),
            measured("readmissing", 9.0, "null"),
            measured("seekrandom", 90.0, "null"),
        ];
        let measurements = measurements.join(",");
        let text = format!(
            r#"{{"runs": [{{"measurements": [{measurements}]}}], "opening_seconds": 0.02}}"#
        );
        let line = Line::of("bluefs", 4, &serde_json::from_str(&text).unwrap()).unwrap();
        let expected =
            "| `bluefs` | 4 | 3.00 | 4.0 | 6.00 | 7.0 | 1.25 | 8.0 | 9.0 | 90.0 | 90 | 20 |";
        assert_eq!(table(&[line]).lines().last(), Some(expected));
    }
}
