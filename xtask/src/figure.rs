//! `cargo xtask figure`: runs one figure of the papers in full, at scale 1/128, and compares the
//! trace hash of each run with `crates/lab/tests/golden/figure.txt`.
//!
//! Results that are kept in `target/lab` by the same engine are not made again. A trace hash covers
//! the requests that a drive gets, with their times. So the comparison fails if a change alters
//! what a system writes or reads in this figure, or when. Where the change is meant, `cargo xtask
//! figure --regenerate` writes the file anew.

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::step;
use crate::workspace::Workspace;

/// The figure: the one of all systems on one small drive.
const FIGURE: [&str; 3] = ["lifetime/writes", "--scale", "1/128"];

/// The traces of its runs.
const HELD: &str = "crates/lab/tests/golden/figure.txt";

/// Use of the traces.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Write the traces down instead of comparing them
    #[arg(long)]
    regenerate: bool,
}

/// Carries the figure out, and compares its traces with those held.
pub(crate) fn run(workspace: &Workspace, arguments: Arguments) -> anyhow::Result<()> {
    let mut command =
        workspace.cargo(["run", "--quiet", "--release", "--", "lab", "run", "--json"]);
    command.args(FIGURE).arg("--results").arg(workspace.target().join("lab"));
    let said = step::output(&mut command)?;
    let found = traces(said.lines().last().unwrap_or_default())?;
    let path = workspace.root().join(HELD);
    if arguments.regenerate {
        return std::fs::write(&path, found).with_context(|| format!("{HELD}: not written"));
    }
    let held = std::fs::read_to_string(&path).with_context(|| format!("{HELD}: not read"))?;
    compare(&held, &found)
}

/// A line to a run: experiment, system, variant if there is one, phase and trace.
fn traces(line: &str) -> anyhow::Result<String> {
    let said: Value = serde_json::from_str(line).context("expected a JSON object")?;
    let outcomes = said["outcomes"].as_array().context("expected outcomes")?;
    ensure!(!outcomes.is_empty(), "expected outcomes, found none");
    let mut lines = String::new();
    for outcome in outcomes {
        let names = ["experiment", "system", "variant", "phase", "trace_hash"];
        let is_there = |name: &&str| *name != "variant" || !outcome[*name].is_null();
        let word = |name: &str| {
            outcome[name].as_str().with_context(|| format!("{name}: expected a word, found none"))
        };
        let words: Vec<&str> =
            names.into_iter().filter(is_there).map(word).collect::<anyhow::Result<_>>()?;
        lines.push_str(&words.join(" | "));
        lines.push('\n');
    }
    Ok(lines)
}

fn compare(held: &str, found: &str) -> anyhow::Result<()> {
    let differing = held.lines().zip(found.lines()).filter(|(held, found)| held != found);
    let differing: Vec<String> =
        differing.map(|(held, found)| format!("expected `{held}`, found `{found}`")).collect();
    ensure!(
        differing.is_empty(),
        "{HELD}: {}: the figures of these systems come out otherwise now. If this is meant: \
         `cargo xtask figure --regenerate`",
        differing.join("; ")
    );
    let counts = (held.lines().count(), found.lines().count());
    ensure!(counts.0 == counts.1, "{HELD}: expected {} runs, found {}", counts.0, counts.1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_changed_or_is_missing_fails() {
        let line = r#"{"outcomes": [{"experiment": "e", "system": "s", "variant": "26 GiB",
            "phase": "fillrandom", "trace_hash": "00ff"}]}"#;
        let found = traces(line).unwrap();
        assert_eq!(found, "e | s | 26 GiB | fillrandom | 00ff\n");
        assert_eq!(
            traces(&line.replace("\"26 GiB\"", "null")).unwrap(),
            "e | s | fillrandom | 00ff\n"
        );
        compare(&found, &found).unwrap();
        let error = compare(&found.replace("00ff", "00fe"), &found).unwrap_err().to_string();
        assert!(error.contains("expected `e | s | 26 GiB | fillrandom | 00fe`, found"), "{error}");
        let two = |trace| found.repeat(2).replace("00ff", trace);
        let error = compare(&two("00fe"), &two("00fd")).unwrap_err().to_string();
        assert_eq!(error.matches("expected `e").count(), 2, "{error}");
        let error = compare(&found.repeat(2), &found).unwrap_err().to_string();
        assert!(error.ends_with("expected 2 runs, found 1"), "{error}");
        assert!(traces(r#"{"outcomes": []}"#).is_err());
        assert!(traces(r#"{"outcomes": [{"experiment": "e"}]}"#).is_err());
    }
}
