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

use std::error::Error as _;
use std::num::{IntErrorKind, ParseIntError};
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, Parser};

use crate::commands::Arguments;
use crate::output::Output;

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| explained(error).exit());
    let output = Output::new(arguments.json);
    match arguments.command.run(&output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output.failure(&failure),
    }
}

/// An error of the command line; one of a number says what was expected instead of why the digits
/// could not be read.
fn explained(error: clap::Error) -> clap::Error {
    let source = error.source().and_then(|source| source.downcast_ref::<ParseIntError>());
    let Some(source) = source else { return error };
    let expected = match source.kind() {
        IntErrorKind::PosOverflow => "a smaller number",
        _ => "a whole number, 0 or more",
    };
    let context = |kind| error.get(kind).map_or(String::new(), ToString::to_string);
    let (option, found) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    let message = format!("{option}: expected {expected}, found '{found}'");
    clap::Error::raw(ErrorKind::ValueValidation, message).format(&mut Arguments::command())
}
