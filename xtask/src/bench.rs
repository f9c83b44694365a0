//! `cargo xtask bench NAME`: the benchmarks whose figures the documents quote.
//!
//! Each is an example of the crate it measures, run in a release build; the figures go to standard
//! output. What follows `--` is handed to it.

use anyhow::Context;

use crate::step;
use crate::workspace::Workspace;

/// A benchmark.
struct Bench {
    name: &'static str,
    package: &'static str,
    example: &'static str,
}

const BENCHES: [Bench; 2] = [
    // Mount time and memory of 14 TB of 256 MiB zones, empty and with a million files.
    Bench { name: "mount", package: "terrace-fs", example: "mount" },
    // How long each system takes to choose a compaction among ten thousands of tables.
    Bench { name: "pick", package: "terrace-policy", example: "pick" },
];

/// Which benchmark to run.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The benchmark
    #[arg(value_parser = BENCHES.map(|bench| bench.name))]
    name: String,
    /// Arguments of the benchmark itself
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Runs one benchmark.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let bench = BENCHES.iter().find(|bench| bench.name == arguments.name);
    let bench = bench.context("expected one of the benchmarks")?;
    let words =
        ["run", "--quiet", "--release", "--package", bench.package, "--example", bench.example];
    step::command(workspace.cargo(words).arg("--").args(&arguments.rest))
}
