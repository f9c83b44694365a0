//! The `terrace` program: one file or folder per subcommand, in `commands`.
//!
//! This crate turns command lines into calls of the library, and answers into text or JSON. Stores,
//! drives and experiments are the work of the library and of the other crates. Rules for all
//! commands (exit codes, output, how directory trees are stored) are in `docs/cli.md`. The code of
//! a command runs in the main thread, unless the head of its file says otherwise.

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
