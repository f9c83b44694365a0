//! [`run`]: the processes that measure, by turns: in each round every engine once, and each round
//! begins with another engine.
//!
//! Stores lie in a new directory below `--dir`, which is removed at the end. Progress goes to
//! standard error, the tables or the JSON to standard output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::ValueEnum as _;
use serde::Serialize;

use crate::engines::{Libraries, Name};
use crate::kept::{Kept, Measured};
use crate::works::{Round, Work};
use crate::{machine, report};

/// Engines, loads and their sizes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Plan {
    /// Entries of a filled store
    #[arg(
        long, value_name = "N", default_value = "300000",
        value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000)
    )]
    entries: u64,
    /// Bytes of a value; several sizes are measured one after the other
    #[arg(
        long, value_name = "BYTES", default_value = "1024,128", value_delimiter = ',',
        value_parser = clap::value_parser!(u64).range(16..=(16 << 20))
    )]
    value_size: Vec<u64>,
    /// How often each engine is measured
    #[arg(
        long, value_name = "N", default_value = "3",
        value_parser = clap::value_parser!(u32).range(1..=99)
    )]
    rounds: u32,
    /// Engines [default: all but leveldb-unchecked]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    engines: Vec<Name>,
    /// Loads [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    works: Vec<Work>,
    /// Directory for the stores [default: that of temporary files]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Seed of keys, values and orders
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Add each result to this file, and count those that are in it already
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Print the results of all rounds as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    libraries: Libraries,
}

/// All results.
#[derive(Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: u32,
    pub(crate) entries: u64,
    /// Engines that are missing from all or some of the results, and why.
    pub(crate) left_out: Vec<String>,
    /// By the bytes of a value, in the order that was asked for.
    pub(crate) sizes: Vec<Size>,
}

/// Results of one size of values.
#[derive(Serialize)]
pub(crate) struct Size {
    pub(crate) value_size: u64,
    /// One for each round; fewer if an engine failed.
    pub(crate) engines: BTreeMap<Name, Vec<Round>>,
}

/// Measures, and prints the results.
pub(crate) fn run(plan: &Plan) -> anyhow::Result<()> {
    let works = if plan.works.is_empty() { Work::value_variants() } else { &plan.works };
    // In the order of the loads, each once.
    let all = Work::value_variants().iter().copied();
    let works: Vec<String> = all.filter(|work| works.contains(work)).map(word).collect();
    let (engines, left_out) = available(plan);
    ensure!(!engines.is_empty(), "no engine is left to measure");
    let dir = plan.dir.clone().unwrap_or_else(std::env::temp_dir);
    let place = tempfile::Builder::new().prefix("terrace-peers-").tempdir_in(&dir);
    let place = place.with_context(|| format!("--dir {}", dir.display()))?;
    let mut kept = Kept::open(plan.results.as_deref())?;
    let mut results = Results {
        machine: machine::describe(place.path()),
        rounds: plan.rounds,
        entries: plan.entries,
        left_out,
        sizes: Vec::new(),
    };
    let mut failures = Vec::new();
    for value_size in &plan.value_size {
        let measured = |engine| Measured {
            entries: plan.entries,
            seed: plan.seed,
            value_size: *value_size,
            works: works.clone(),
            engine,
        };
        let all: Vec<Measured> = engines.iter().copied().map(measured).collect();
        failures.extend(take_turns(plan, &all, place.path(), &mut kept)?);
        let found = all.iter().map(|measured| {
            let rounds: Vec<Round> = kept.of(measured).cloned().collect();
            (measured.engine, rounds)
        });
        let engines = found.filter(|(_, rounds)| !rounds.is_empty()).collect();
        results.sizes.push(Size { value_size: *value_size, engines });
    }
    let failed = failures.len();
    results.left_out.extend(failures);
    if plan.json {
        println!("{}", serde_json::to_string(&results)?);
    } else {
        print!("{}", report::tables(&results));
    }
    ensure!(failed == 0, "{failed} measurements failed");
    Ok(())
}

/// The engines that can be had, each once, and a line for each missing one.
fn available(plan: &Plan) -> (Vec<Name>, Vec<String>) {
    let (mut engines, mut left_out): (Vec<Name>, Vec<String>) = Default::default();
    let named = if plan.engines.is_empty() { &Name::USUAL[..] } else { &plan.engines };
    for engine in named {
        match engine.probe(&plan.libraries) {
            Ok(()) if engines.contains(engine) => {}
            Ok(()) => engines.push(*engine),
            Err(error) => {
                let said = format!("{error:#}");
                if !left_out.contains(&said) {
                    eprintln!("{said}");
                    left_out.push(said);
                }
            }
        }
    }
    (engines, left_out)
}

/// Measures all in turn, as often as the plan says, and keeps the results. Returns the failures.
fn take_turns(
    plan: &Plan,
    all: &[Measured],
    place: &Path,
    kept: &mut Kept,
) -> anyhow::Result<Vec<String>> {
    let mut failures = Vec::new();
    for round in 0..plan.rounds as usize {
        for turn in 0..all.len() {
            let measured = &all[(turn + round) % all.len()];
            if kept.of(measured).count() > round {
                continue;
            }
            let (name, size) = (measured.engine.word(), measured.value_size);
            eprintln!("{size} bytes, round {} of {}: {name}", round + 1, plan.rounds);
            match measure(plan, measured, place) {
                Ok(found) => kept.add(measured.clone(), found)?,
                Err(error) => {
                    let said = format!("{name} failed with values of {size} bytes: {error:#}");
                    eprintln!("{said}");
                    failures.push(said);
                }
            }
        }
    }
    Ok(failures)
}

/// The word of a load on the command line.
fn word(work: Work) -> String {
    work.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// One engine once, in a process of its own.
fn measure(plan: &Plan, measured: &Measured, place: &Path) -> anyhow::Result<Round> {
    let Measured { entries, seed, value_size, works, engine } = measured;
    let dir = tempfile::tempdir_in(place)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["round", "--engine", &engine.word(), "--works", &works.join(",")]);
    command.args(["--entries", &entries.to_string(), "--seed", &seed.to_string()]);
    command.args(["--value-size", &value_size.to_string()]).arg("--dir").arg(dir.path());
    command.arg("--rocksdb").arg(&plan.libraries.rocksdb);
    command.arg("--leveldb").arg(&plan.libraries.leveldb);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "expected its process to succeed, found {}", output.status);
    serde_json::from_slice(&output.stdout).context("expected a result of its process")
}
