//! The program `terrace-serve`.

use std::process::ExitCode;

use clap::Parser;
use terrace_server::arguments::Arguments;
use terrace_server::serve;

fn main() -> ExitCode {
    serve(&Arguments::parse())
}
