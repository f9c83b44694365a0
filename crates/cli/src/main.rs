//! The `terrace` program: turns command lines into calls of the library, and answers into text or
//! JSON. Each subcommand is a file or a folder in `commands`. Rules for all commands (exit codes,
//! output, how directory trees are stored) are in `docs/cli.md`.

mod commands;
mod escape;
mod failure;
mod loader;
mod map;
mod output;
mod progress;
mod scratch;
mod stretches;
mod tree;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Arguments;
use crate::output::Output;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let output = Output::new(arguments.json);
    match arguments.command.run(&output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output.failure(&failure),
    }
}
