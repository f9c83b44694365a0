//! `cargo xtask series`: runs all experiments at scale 1/16 and writes the page
//! `target/series.md`. [`smoke`] runs them with less work, to see whether they work.
//!
//! With names of experiments, those are run and printed, and the page stays as it is. With another
//! `--scale`, the page is written for that scale.
//!
//! With `--keep`, our values for the claims of papers are then written to `crates/lab/results`,
//! with the commit. The engine must have no change that is not committed.
//!
//! A series takes hours, and may be interrupted. Outcomes of runs are kept in `target/lab`, so the
//! next call goes on from there, as long as the engine is the same.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::step;
use crate::workspace::Workspace;

/// The page, in the folder of build results.
const PAGE: &str = "series.md";

/// Experiments to carry out.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The experiments; others than all are printed and not written to the page
    #[arg(default_value = "all")]
    names: Vec<String>,
    /// The scale
    #[arg(long, default_value = "1/16")]
    scale: String,
    /// Runs at once [default: as many as processors, and as fit into memory]
    #[arg(long)]
    jobs: Option<usize>,
    /// Then keep our values for the papers' claims in crates/lab/results
    #[arg(long)]
    keep: bool,
}

/// Carries the series out, or the rest of it.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let commit = arguments.keep.then(|| commit(workspace)).transpose()?;
    let mut command = workspace.cargo(["run", "--quiet", "--release", "--", "lab", "run"]);
    command.args(&arguments.names).args(["--scale", &arguments.scale]);
    command.arg("--results").arg(workspace.target().join("lab"));
    if let Some(jobs) = arguments.jobs {
        command.args(["--jobs", &jobs.to_string()]);
    }
    if arguments.names == ["all"] {
        command.arg("--markdown").arg(workspace.target().join(PAGE));
    }
    step::command(&mut command)?;
    commit.map_or(Ok(()), |commit| keep(workspace, arguments, &commit))
}

/// The commit of the sources; an error if those that a run depends on have changed since.
fn commit(workspace: &Workspace) -> anyhow::Result<String> {
    let git = |words: &[&str]| {
        step::output(Command::new("git").args(words).current_dir(workspace.root()))
    };
    let changed = git(&["status", "--porcelain", "--", "Cargo.lock", "crates/*/src"])?;
    ensure!(changed.is_empty(), "expected sources that are committed, found changes:\n{changed}");
    Ok(git(&["rev-parse", "--short=8", "HEAD"])?.trim().to_owned())
}

/// Keeps the values of the runs for the claims of papers.
fn keep(workspace: &Workspace, arguments: &Arguments, commit: &str) -> anyhow::Result<()> {
    let mut command = workspace.cargo(["run", "--quiet", "--release", "--", "lab", "papers"]);
    command.args(&arguments.names).args(["--scale", &arguments.scale]);
    command.arg("--results").arg(workspace.target().join("lab"));
    command.arg("--keep").arg(workspace.root().join("crates/lab/results"));
    step::command(command.args(["--commit", commit]))
}

/// Carries every experiment out as far as shows that it works, and looks at what came of it.
pub(crate) fn smoke(workspace: &Workspace) -> anyhow::Result<()> {
    let words = ["run", "--quiet", "--release", "--", "lab", "run", "all", "--json"];
    let mut command = workspace.cargo(words);
    command.args(SMOKE).arg("--results").arg(workspace.target().join("lab"));
    let said = step::output(&mut command)?;
    check(said.lines().last().unwrap_or_default())
}

/// Arguments of the experiments in CI. The number of tables does not shrink with the scale, and the
/// whole of GearDB's 80 GB in tables of 4 MiB is minutes of a processor at any; an eighth is
/// seconds. Sweeps have many systems, which the tests of each try: here it is the first.
const SMOKE: [&str; 5] = ["--scale", "1/128", "--share", "1/8", "--first"];

/// Checks a result for conditions that hold whatever the metrics are.
fn check(line: &str) -> anyhow::Result<()> {
    let said: Value = serde_json::from_str(line).context("expected a JSON object")?;
    let outcomes = said["outcomes"].as_array().context("expected outcomes")?;
    ensure!(!outcomes.is_empty(), "expected outcomes, found none");
    for outcome in outcomes {
        let run = format!("{} {}", outcome["experiment"], outcome["system"]);
        let number = |name: &str| {
            let value = outcome.pointer(name).and_then(Value::as_f64);
            value.with_context(|| format!("{run}: expected {name}, found none"))
        };
        let sum = |name: &str| -> f64 {
            let parts = outcome[name].as_object().into_iter().flatten();
            parts.filter_map(|(_, part)| part.as_f64()).sum()
        };
        let (seconds, by_cause) = (number("/seconds")?, sum("seconds_by_cause"));
        let near = (by_cause / seconds - 1.0).abs() < 1e-6;
        ensure!(near, "{run}: expected {seconds} s by cause, found {by_cause} s");
        for name in ["valid_end", "valid_average", "live_end", "live_average", "live_worst"] {
            let share = number(&format!("/space_efficiency/{name}"))?;
            ensure!((0.0..=1.0).contains(&share), "{run}: {name}: expected a share, found {share}");
        }
        let total = number("/write_amplification/total")?;
        let samples = outcome["samples"].as_array().map_or(0, Vec::len);
        // A phase that mostly reads may leave the little that it writes to the next, and be over
        // before the second sample.
        let loads = outcome["phase"].as_str().is_some_and(|phase| phase.starts_with("fill"));
        let least = if loads { 2 } else { 1 };
        ensure!(
            samples >= least,
            "{run}: expected {least} samples or more, found {samples}: is sample_every too long?"
        );
        // A short load that flushes nothing has written its log alone, but for the last bytes that
        // the log still gathers.
        ensure!(
            total >= 0.99 || !loads,
            "{run}: write amplification: expected 0.99 or more, found {total}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_that_cannot_be_fail_the_smoke_test() {
        let good = r#"{"outcomes": [{"experiment": "e", "system": "s", "phase": "fillseq",
            "seconds": 3.0,
            "seconds_by_cause": {"log": 1.0, "idle": 2.0},
            "space_efficiency": {"valid_end": 0.5, "valid_average": 0.5, "live_end": 0.5,
                "live_average": 0.5, "live_worst": 0.5},
            "write_amplification": {"total": 2.0}, "samples": [1, 2]}]}"#;
        check(good).unwrap();
        for (from, to, what) in [
            ("\"idle\": 2.0", "\"idle\": 3.0", "expected 3 s by cause, found 4 s"),
            ("\"live_end\": 0.5", "\"live_end\": 1.5", "live_end: expected a share, found 1.5"),
            ("\"total\": 2.0", "\"total\": 0.5", "expected 0.99 or more, found 0.5"),
            ("[1, 2]", "[1]", "expected 2 samples or more, found 1"),
            ("\"seconds\": 3.0", "\"minutes\": 3.0", "expected /seconds, found none"),
        ] {
            let error = check(&good.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        assert!(check(r#"{"outcomes": []}"#).is_err());
    }
}
