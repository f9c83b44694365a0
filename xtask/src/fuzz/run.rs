//! The command line of the fuzzer, and its loop over the targets.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::programs::{self, Found};
use crate::workspace::Workspace;

/// Variable with the seconds of a target; the harness reads it.
const SECONDS: &str = "TERRACE_FUZZ_SECONDS";

/// Which targets to run, and for how long.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only targets with one of these words in their names, such as `table` or `whole_tables`
    words: Vec<String>,
    /// Time for each target
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The same in minutes
    #[arg(long, conflicts_with = "seconds")]
    minutes: Option<u64>,
}

/// Runs the targets one after the other; an error if an input has failed.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let seconds = arguments.minutes.map_or(arguments.seconds, |minutes| 60 * minutes);
    let targets = programs::find(workspace, &arguments.words)?;
    eprintln!("{} targets, {seconds} s each", targets.len());
    let mut failed = Vec::new();
    for target in &targets {
        let mut command = target.command();
        command.env(SECONDS, seconds.to_string());
        let passed = one(target, command)?;
        if !passed {
            failed.push(target.name.as_str());
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let inputs = workspace.target().join("fuzz/failed");
    bail!(
        "{} of {} targets failed: {failed:?}; inputs are in {}",
        failed.len(),
        targets.len(),
        inputs.display()
    );
}

/// Runs a target, and prints the harness's line about it; all that it says if it fails.
fn one(target: &Found, mut command: Command) -> anyhow::Result<bool> {
    let output = command.stdin(Stdio::null()).output().context("a program of tests")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find_map(|line| Some(line.split_once("fuzz: ")?.1));
    match line.filter(|_| output.status.success()) {
        Some(line) => eprintln!("{}: {line}", target.name),
        None => {
            eprintln!("{}: FAILED\n{said}{}", target.name, String::from_utf8_lossy(&output.stderr))
        }
    }
    Ok(output.status.success())
}
