//! The `terrace` program: turns command lines into calls of the library, and answers into text or
//! JSON. Each subcommand is a file or a folder in `commands`. Rules for all commands (exit codes,
//! output, how directory trees are stored) are in `docs/cli.md`.
//!
//! Everything is printed through [`screen::Screen`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
mod escape;
mod exclude;
mod failure;
mod loader;
mod map;
mod output;
mod progress;
mod scratch;
mod screen;
mod signals;
mod stretches;
mod tree;

use std::env;
use std::error::Error as _;
use std::ffi::OsString;
use std::io::Write;
use std::num::{IntErrorKind, ParseIntError};
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, Parser};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use crate::commands::Arguments;
use crate::escape::Visible;
use crate::failure::Kind;
use crate::output::Output;
use crate::screen::Screen;

fn main() -> ExitCode {
    // A write beyond the largest file that the host allows (`ulimit -f`) is then an error of that
    // write, and does not end the process. The flag itself is not used.
    let _ = flag::register(SIGXFSZ, Arc::default());
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&explained(error)),
    };
    let output = Output::new(arguments.json);
    match arguments.command.run(&output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let code = output.failure(&failure);
            if let Kind::Signal(signal) = failure.kind {
                signals::end_by(signal);
            }
            code
        }
    }
}

/// Prints an error of the command line, or the help that was asked for, and gives the exit code.
/// Words of the command line that hold invisible characters are printed without colours, escaped.
fn refuse(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Kind::Usage.code()));
    let is_visible = |word: OsString| {
        let word = word.to_string_lossy();
        Visible(&word).to_string() == word
    };
    // As in clap's own `exit`: no reader is left to be told that the output is gone.
    if env::args_os().all(is_visible) {
        let _ = error.print();
        return code;
    }
    // The same command line in words that can be seen has the same error.
    let seen = env::args_os().map(|word| Visible(&word.to_string_lossy()).to_string());
    let text = match Arguments::try_parse_from(seen) {
        Err(error) => explained(error).render().to_string(),
        Ok(_) => Visible(&error.render().to_string()).to_string() + "\n",
    };
    let _ = Screen::errors().write_all(text.as_bytes());
    code
}

/// An error of the command line; an error about a number names the expected value instead of the
/// fault of the digits.
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
