//! `cargo xtask bench rocksdb`: processor time of RocksDB on a drive of Terrace, compared with the
//! same `db_bench` on the machine's ordinary file system.
//!
//! Each benchmark is a process of its own, and takes turns: on the one, on the other, round after
//! round; who begins changes with the round. Its time is what the process used, in user and system
//! mode, divided by the operations. The medians of all rounds count. The plug-in is that of a
//! release build. Both write to the directory of the build.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::plugin::Tests;
use super::space::{self, Space};
use crate::plugin::Plugin;
use crate::reference::median;
use crate::workspace::Workspace;

/// How much is measured.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Compared {
    /// Rounds, each of all benchmarks on both
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Entries of the database; synced inserts are a 200th of them
    #[arg(long, default_value_t = 1_000_000)]
    entries: u64,
    /// Measures space efficiency on a drive instead
    #[arg(long)]
    space: bool,
    #[command(flatten)]
    of_space: Space,
}

/// A benchmark of `db_bench`, and its further options.
struct Benchmark {
    name: &'static str,
    /// The operations are this part of the entries.
    part: u64,
    options: &'static [&'static str],
}

const BENCHMARKS: [Benchmark; 4] = [
    Benchmark { name: "fillrandom", part: 1, options: &[] },
    Benchmark { name: "overwrite", part: 1, options: &["--use_existing_db=1"] },
    Benchmark {
        name: "readrandom",
        part: 1,
        options: &["--use_existing_db=1", "--cache_size=1073741824", "--readonly=1"],
    },
    Benchmark { name: "fillsync", part: 200, options: &[] },
];

/// Measures, and prints a table.
pub(crate) fn run(workspace: &Workspace, compared: Compared) -> anyhow::Result<()> {
    if compared.space {
        return space::run(workspace, compared.of_space);
    }
    let tests = Tests(Plugin::release(workspace, "rocksdb"));
    tests.0.build(&["all"])?;
    let ordinary = tests.0.place().join("ordinary");
    let mut all = [const { [const { Vec::new() }; 2] }; BENCHMARKS.len()];
    for round in 0..compared.rounds {
        let uri = tests.0.drive("compared.img", "4GiB", "16MiB")?;
        if ordinary.exists() {
            std::fs::remove_dir_all(&ordinary)
                .with_context(|| format!("removing {}", ordinary.display()))?;
        }
        for (benchmark, all) in BENCHMARKS.iter().zip(&mut all) {
            let operations = compared.entries / benchmark.part;
            for turn in [round, round + 1].map(|turn| turn % 2) {
                let (tool, place) = match turn {
                    0 => (tests.tool("db_bench", &uri), PathBuf::from("/db")),
                    _ => (Command::new("db_bench"), ordinary.clone()),
                };
                let micros = micros(tool, &place, benchmark, operations)?;
                eprintln!("{} {}: {micros:.2}", benchmark.name, ["drive", "host"][turn as usize]);
                all[turn as usize].push(micros);
            }
        }
    }
    println!("| `db_bench` | on a drive, µs of processor time | on the host | ratio |");
    println!("|---|---|---|---|");
    for (benchmark, all) in BENCHMARKS.iter().zip(all) {
        let [drive, host] = all.map(|runs| median(&runs));
        println!("| {} | {drive:.2} | {host:.2} | {:.2} |", benchmark.name, drive / host);
    }
    Ok(())
}

/// Processor time of each operation of a benchmark, in microseconds.
fn micros(
    tool: Command,
    place: &Path,
    benchmark: &Benchmark,
    operations: u64,
) -> anyhow::Result<f64> {
    // The shell tells what its child has used.
    let mut shell = Command::new("bash");
    shell.args(["-c", "TIMEFORMAT='processor %U %S'; time \"$0\" \"$@\""]);
    shell.arg(tool.get_program()).args(tool.get_args());
    for (name, value) in tool.get_envs() {
        // The plug-in is for `db_bench`, and harmless in the shell.
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell.arg(format!("--db={}", place.display()));
    shell.arg(format!("--benchmarks={}", benchmark.name));
    shell.arg(format!("--num={operations}")).args(benchmark.options);
    let output = shell.stdin(Stdio::null()).output().context("bash")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}: {}\n{said}", benchmark.name, output.status);
    super::plugin::result_of(&String::from_utf8_lossy(&output.stdout), benchmark.name)?;
    let seconds = used(&said).with_context(|| format!("expected times, found:\n{said}"))?;
    Ok(seconds * 1e6 / operations as f64)
}

/// Seconds of processor time, user and system, that the shell has printed.
fn used(said: &str) -> Option<f64> {
    // It may stand after the progress of the benchmark, which ends no line.
    let (_, line) = said.rsplit_once("processor ")?;
    let seconds: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
    let seconds = seconds.ok().filter(|seconds| seconds.len() == 2)?;
    Some(seconds.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_shell_are_added_up() {
        assert_eq!(used("Keys: 16 bytes\nprocessor 1.250 0.500\n"), Some(1.75));
        assert_eq!(used("... finished 100 ops\rprocessor 1.250 0.500\n\n"), Some(1.75));
        assert_eq!(used("processor 1.250\n"), None);
        assert_eq!(used("no times"), None);
    }
}
