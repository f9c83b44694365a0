//! `cargo xtask soak NAME --minutes N`: runs the tests of a recipe (a named list of tests) with new
//! seeds, round after round. It ends with the first round that fails, or that ends after N minutes.
//!
//! After each round, the number of the next one is written to `target/soak/NAME.json`. So the next
//! soak goes on there; `--round` makes it start with another. Run one soak of a recipe at a time,
//! as this file is not locked.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::named::Named;
use crate::workspace::Workspace;

/// Something to soak.
struct Recipe {
    name: &'static str,
    about: &'static str,
    /// The tests to run: the crate, and a part of their names.
    tests: &'static [(&'static str, &'static str)],
    /// How many times the seeds of an ordinary run make a round.
    factor: u64,
}

const RECIPES: [Recipe; 9] = [
    Recipe {
        name: "cuts",
        about: "power cuts at every device write, of the file system and of the store",
        tests: &[("terrace-fs", "cuts"), ("terrace-lsm", "crash"), ("terrace-lab", "cuts")],
        factor: 1,
    },
    Recipe {
        name: "sweeps",
        about: "the n-th request of each device fails, in a fixed life of the whole engine: all n \
                in two rounds",
        tests: &[("terrace-lab", "sweep")],
        factor: 64,
    },
    Recipe {
        name: "flips",
        about: "bit flips and truncations anywhere on the medium, and damage to any file",
        tests: &[
            ("terrace-fs", "flips"),
            ("terrace-fs", "no_damaged_file"),
            ("terrace-lab", "flips"),
        ],
        factor: 4,
    },
    Recipe {
        name: "model",
        about: "operations of every kind against ordered maps, under any options on any drive",
        tests: &[("terrace-lsm", "operations"), ("terrace-lab", "model")],
        factor: 4,
    },
    Recipe {
        name: "fill",
        about: "filling the device, freeing, and going on; sustained overwrite",
        tests: &[
            ("terrace-fs", "full"),
            ("terrace-lsm", "full"),
            ("terrace", "full"),
            ("terrace", "fills"),
        ],
        factor: 4,
    },
    Recipe {
        name: "crowds",
        about: "crowds over stores that fail, schedules in any order, leaks, and failing flushes",
        tests: &[
            ("terrace-fs", "crowd"),
            ("terrace-fs", "leaks"),
            ("terrace-fs", "flushes"),
            ("terrace-fs", "log_cuts"),
            ("terrace-lsm", "schedules"),
            ("terrace-lab", "crowd"),
        ],
        factor: 10,
    },
    Recipe {
        name: "kill",
        about: "processes killed while they write, compact, ingest and copy: 240 kills a round, \
                2,000 in nine rounds",
        tests: &[("terrace", "kill")],
        factor: 4,
    },
    Recipe {
        name: "memory",
        about: "what processes hold in memory, against their budgets: 1.5 million puts of 1 KiB, \
                logs of 230 MB, and the like",
        tests: &[("terrace", "resident::")],
        factor: 8,
    },
    Recipe {
        name: "server",
        about: "a server under siege: 250,000 malformed requests a round, a million in four, with \
                5,000 idle connections and slow clients; others' p99 is at most doubled",
        tests: &[("terrace-server", "siege")],
        factor: 50,
    },
];

/// The suite to soak, and for how long.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The recipe
    #[arg(value_parser = RECIPES.map(|recipe| recipe.name))]
    name: String,
    /// Stop after the round in which this time is over
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Start with this round instead of where the last soak stopped
    #[arg(long)]
    round: Option<u64>,
}

/// Seeds that have been soaked, over all runs.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Tally {
    /// The round to go on with.
    next: u64,
    /// Rounds that passed.
    passed: u64,
    /// Rounds in which a seed failed.
    failed: Vec<u64>,
    /// Seconds spent.
    seconds: u64,
}

/// Soaks until the time is over or a round fails.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let recipe = RECIPES.iter().find(|recipe| recipe.name == arguments.name);
    let recipe = recipe.context("expected one of the recipes")?;
    let path = workspace.target().join("soak").join(format!("{}.json", recipe.name));
    let mut tally = read(&path)?;
    // Round 0 is what every ordinary run has tried already.
    tally.next = arguments.round.unwrap_or(tally.next.max(1));
    eprintln!("soaking {}: {}", recipe.name, recipe.about);
    let tests = recipe.tests.iter();
    let tests: Vec<Named<'_>> = tests.map(|(package, word)| Named { package, word }).collect();
    tests.iter().try_for_each(|named| named.find(workspace))?;
    let budget = Duration::from_secs(60 * arguments.minutes);
    let start = Instant::now();
    loop {
        let began = Instant::now();
        let round = tally.next;
        let set = [
            ("TERRACE_TEST_ROUND", round.to_string()),
            ("TERRACE_TEST_SEEDS", recipe.factor.to_string()),
        ];
        let result = tests.iter().try_for_each(|named| named.run(workspace, &set));
        tally.count(result.is_ok(), began.elapsed());
        write(&path, &tally)?;
        eprintln!("{} rounds passed so far, in {} s", tally.passed, tally.seconds);
        result.with_context(|| format!("soak {}: round {round} failed", recipe.name))?;
        if start.elapsed() >= budget {
            return Ok(());
        }
    }
}

impl Tally {
    fn count(&mut self, passed: bool, took: Duration) {
        if passed {
            self.passed += 1;
        } else {
            self.failed.push(self.next);
        }
        self.next += 1;
        self.seconds += took.as_secs();
    }
}

fn read(path: &PathBuf) -> anyhow::Result<Tally> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text)
            .with_context(|| format!("{}: expected a tally; delete it", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Tally::default()),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

fn write(path: &PathBuf, tally: &Tally) -> anyhow::Result<()> {
    let directory = path.parent().context("expected a directory above the tally")?;
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let text = serde_json::to_string_pretty(tally)?;
    std::fs::write(path, text + "\n").with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_goes_on_where_it_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("soak/cuts.json");
        let mut tally = read(&path).unwrap();
        assert_eq!(tally, Tally::default());
        tally.count(true, Duration::from_secs(7));
        tally.count(false, Duration::from_secs(1));
        write(&path, &tally).unwrap();
        let again = read(&path).unwrap();
        assert_eq!(again, Tally { next: 2, passed: 1, failed: vec![1], seconds: 8 });
    }

    #[test]
    fn a_broken_tally_is_not_silently_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cuts.json");
        std::fs::write(&path, "{").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("expected a tally"));
    }
}
