//! `cargo xtask bench peers`: builds `bench/peers`, a workspace of its own, and runs it.
//! It carries out the same loads on Terrace, RocksDB, LevelDB, fjall and redb, and prints tables.
//! With `--write` they are also put into `docs/performance.md`.
//!
//! Arguments are passed on as they are; the program checks them.

use std::process::Command;

use anyhow::ensure;

use crate::page::{self, Section};
use crate::step;
use crate::workspace::Workspace;

/// The manifest of the program.
pub(crate) const MANIFEST: &str = "bench/peers/Cargo.toml";

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Entries of a filled store [default: 300000]
    #[arg(long, value_name = "N")]
    entries: Option<String>,
    /// Bytes of a value; several sizes are measured one after the other [default: 1024,128]
    #[arg(long, value_name = "BYTES")]
    value_size: Option<String>,
    /// How often each engine is measured [default: 3]
    #[arg(long, value_name = "N")]
    rounds: Option<String>,
    /// Engines, such as `terrace,rocksdb`; another name prints all [default: all but
    /// leveldb-unchecked]
    #[arg(long, value_name = "NAMES")]
    engines: Option<String>,
    /// Loads, such as `fillrandom,seek`; another name prints all [default: all]
    #[arg(long, value_name = "NAMES")]
    works: Option<String>,
    /// Directory for the stores [default: that of temporary files]
    #[arg(long)]
    dir: Option<String>,
    /// Shared library of RocksDB with its C interface [default: librocksdb.so]
    #[arg(long, value_name = "FILE")]
    rocksdb: Option<String>,
    /// Shared library of LevelDB with its C interface [default: libleveldb.so]
    #[arg(long, value_name = "FILE")]
    leveldb: Option<String>,
    /// Add each result to this file, and count those that are in it already
    #[arg(long, value_name = "FILE")]
    results: Option<String>,
    /// Print the results of all rounds as JSON
    #[arg(long, conflicts_with = "write")]
    json: bool,
    /// Write the tables into docs/performance.md as well
    #[arg(long)]
    write: bool,
}

impl Arguments {
    /// The words of the program's command line that a reader repeats, which are those without
    /// paths, and all of them.
    fn words(&self) -> (Vec<String>, Vec<String>) {
        let word = |name: &str, value: &Option<String>| {
            value.iter().flat_map(|value| [format!("--{name}"), value.clone()]).collect::<Vec<_>>()
        };
        let mut told = Vec::new();
        told.extend(word("entries", &self.entries));
        told.extend(word("value-size", &self.value_size));
        told.extend(word("rounds", &self.rounds));
        told.extend(word("engines", &self.engines));
        told.extend(word("works", &self.works));
        let mut all = told.clone();
        all.extend(word("dir", &self.dir));
        all.extend(word("rocksdb", &self.rocksdb));
        all.extend(word("leveldb", &self.leveldb));
        all.extend(word("results", &self.results));
        all.extend(self.json.then(|| "--json".to_owned()));
        (told, all)
    }
}

/// Builds the program, runs it, and puts its tables into the page if asked to.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let section = if arguments.write { Some(Section::find(workspace, "peers")?) } else { None };
    let (told, all) = arguments.words();
    let target = workspace.target().join("peers");
    let words = ["build", "--quiet", "--release", "--locked", "--manifest-path", MANIFEST];
    step::command(workspace.cargo(words).env("CARGO_TARGET_DIR", &target))?;
    let mut program = Command::new(target.join("release/peers"));
    program.args(all);
    let Some(section) = section else { return step::command(&mut program) };
    let tables = step::output(&mut program)?;
    ensure!(!tables.is_empty(), "expected tables, found nothing");
    let date = step::output(Command::new("date").args(["-u", "+%F"]))?;
    let command = [&["cargo", "xtask", "bench", "peers"].map(str::to_owned)[..], &told].concat();
    let origin = page::origin(workspace)?;
    let text = format!(
        "`{}` at {origin}, on {}. Medians, with the least and the most.\n\n{tables}",
        command.join(" "),
        date.trim()
    );
    print!("{text}");
    section.write(workspace, &text)
}
