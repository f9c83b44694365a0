//! The project's chores: `cargo xtask tidy | test | rocksdb | rocksdbjni | leveldb | cluster |
//! guest | ci | soak | fuzz | planted | bench | figure | series | dist | api`. This file parses the
//! command line and calls the chore. `test` runs `rocksdb`, `rocksdbjni`, `leveldb` and `guest`,
//! among others. `ci` runs `tidy`, `api` and `test`, the demonstration, `dist`, the experiments
//! with less work, and one figure.
//!
//! A chore that fails ends with exit code 1, a command line that cannot be parsed with 2. `tidy`,
//! `test` and `ci` go on after a step that failed, and fail at the end. But if the files of the
//! project cannot be listed or read, `tidy` and `ci` end at once.

mod api;
mod bench;
mod browser;
mod built;
mod clients;
mod cluster;
mod dist;
mod figure;
mod fuzz;
mod growth;
mod guest;
mod leveldb;
mod named;
mod packages;
mod page;
mod peers;
mod planted;
mod plugin;
mod python;
mod random;
mod reference;
mod rocksdb;
mod rocksdbjni;
mod series;
mod server;
mod soak;
mod spent;
mod step;
mod suite;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::ensure;
use clap::{Parser, Subcommand};

use crate::step::Steps;
use crate::workspace::Workspace;

/// The project's chores.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check the shape of the project: layers, files, links, formatting, lints, documentation
    Tidy {
        /// Only the checks that need no compiler
        #[arg(long)]
        quick: bool,
    },
    /// Run every test: unit, integration, documentation and canaries
    Test,
    /// Build the RocksDB plug-in and test it with the distribution's RocksDB; a part of `test`
    Rocksdb(rocksdb::Arguments),
    /// Run RocksDB for the JVM, as it is published, on emulated drives; a part of `test`
    Rocksdbjni(rocksdbjni::Arguments),
    /// Build the LevelDB plug-in and test it with the distribution's LevelDB; a part of `test`
    Leveldb(leveldb::Arguments),
    /// Three nodes of Apache Cassandra on emulated drives, and loops in which they are killed
    Cluster(cluster::Arguments),
    /// Tests on zoned block devices of a Linux kernel, in a virtual machine; a part of `test`
    Guest(guest::Arguments),
    /// Everything that CI runs: tidy, test, the demonstration and the experiments in a release
    /// build
    Ci,
    /// Go on trying new seeds of one recipe, and keep count over the days
    Soak(soak::Arguments),
    /// Give damaged inputs to decoders, each target for some time
    Fuzz(fuzz::Arguments),
    /// Plant known bugs one at a time, and see that tests catch them
    Planted(planted::Arguments),
    /// Run one of the benchmarks and print its numbers
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Carry one figure out at 1/128, and compare its traces with those held
    Figure(figure::Arguments),
    /// Redraw the papers' figures at 1/16 into target/series.md; goes on where it stopped
    Series(series::Arguments),
    /// Make an archive of the program, with manual pages and completions, in target/dist
    Dist(dist::Arguments),
    /// Compare the public API of the library with the one that its version keeps
    Api(api::Arguments),
}

/// Variable that makes tests write their goldens.
const REGENERATE: &str = "TERRACE_REGENERATE";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments.chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: &Chore) -> anyhow::Result<()> {
    let workspace = Workspace::find()?;
    let mut steps = Steps::new();
    match chore {
        Chore::Tidy { quick } => {
            tidy::shape(&workspace, &mut steps)?;
            if !quick {
                tidy::compile(&workspace, &mut steps);
            }
        }
        Chore::Test => suite::test(&workspace, &mut steps),
        Chore::Rocksdb(kills) => {
            steps.run("packages of the system", || packages::provide(&packages::NEEDED));
            rocksdb::test(&workspace, &mut steps, *kills);
        }
        Chore::Rocksdbjni(arguments) => {
            steps.run("packages of the system", || packages::provide(&packages::NEEDED));
            rocksdbjni::test(&workspace, &mut steps, arguments);
        }
        Chore::Leveldb(arguments) => {
            steps.run("packages of the system", || packages::provide(&packages::NEEDED));
            leveldb::test(&workspace, &mut steps, *arguments);
        }
        Chore::Cluster(arguments) => {
            steps.run("packages of the system", || packages::provide(&packages::NEEDED));
            cluster::run(&workspace, &mut steps, *arguments);
        }
        Chore::Ci => {
            // A test that writes its golden passes whatever the result is.
            ensure!(std::env::var_os(REGENERATE).is_none(), "{REGENERATE}: expected to be unset");
            tidy::shape(&workspace, &mut steps)?;
            tidy::compile(&workspace, &mut steps);
            steps.run("public API", || api::run(&workspace, api::Arguments::default()));
            suite::test(&workspace, &mut steps);
            suite::demo(&workspace, &mut steps);
            dist::run(&workspace, &mut steps, dist::Arguments::default());
            steps.run("experiments", || series::smoke(&workspace));
            steps.run("one figure whole", || figure::run(&workspace, figure::Arguments::default()));
        }
        Chore::Dist(arguments) => dist::run(&workspace, &mut steps, *arguments),
        Chore::Guest(arguments) => return guest::run(&workspace, arguments),
        Chore::Fuzz(arguments) => return fuzz::run(&workspace, arguments),
        Chore::Planted(arguments) => return planted::run(&workspace, arguments),
        Chore::Soak(arguments) => return soak::run(&workspace, arguments),
        Chore::Bench(bench) => return bench::run(&workspace, bench),
        Chore::Figure(arguments) => return figure::run(&workspace, *arguments),
        Chore::Api(arguments) => return api::run(&workspace, *arguments),
        Chore::Series(arguments) => return series::run(&workspace, arguments),
    }
    steps.close()
}
