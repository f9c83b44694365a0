//! `peers`: the same loads on Terrace, RocksDB, LevelDB, fjall and redb, and tables of their costs.
//!
//! Each engine is measured in a process of its own, several times, by turns with the others. So
//! memory and processor time are its own, and a slow minute of the machine does not hit one engine
//! alone. An engine that cannot be had is left out, with a line that says so. Every value that is
//! read is verified; a wrong answer fails the engine.
//!
//! | file | content |
//! |---|---|
//! | `generator` | keys, values, orders |
//! | `engines` | the engines and their options |
//! | `works` | the loads |
//! | `measure` | processor time, latencies, memory, bytes written |
//! | `turns` | the processes, by turns |
//! | `kept` | results in a file |
//! | `report` | the tables |
//! | `machine` | the machine's kind |
//!
//! Exit codes: 0, 1 if an engine failed, 2 for a command line that cannot be parsed.

mod engines;
mod generator;
mod kept;
mod machine;
mod measure;
mod report;
mod turns;
mod works;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::works::{Setting, Work};

/// The same loads on Terrace, RocksDB, LevelDB, fjall and redb: processor time per operation
#[derive(Parser)]
#[command(name = "peers", args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    child: Option<Child>,
    #[command(flatten)]
    plan: turns::Plan,
}

/// The processes that this program starts.
#[derive(Subcommand)]
enum Child {
    /// Measure one engine once, and print the result as JSON
    #[command(hide = true)]
    Round {
        #[command(flatten)]
        setting: Setting,
        #[arg(long, value_delimiter = ',')]
        works: Vec<Work>,
    },
    /// Fill a store, and be killed
    #[command(hide = true)]
    Fill(Setting),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.child {
        None => turns::run(&arguments.plan),
        Some(Child::Fill(setting)) => works::fill_and_die(setting),
        Some(Child::Round { setting, works }) => works::run(setting, works).and_then(|round| {
            println!("{}", serde_json::to_string(&round)?);
            Ok(())
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error:#}");
            ExitCode::FAILURE
        }
    }
}
