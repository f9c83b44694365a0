//! `terrace device`: the list of its subcommands, `create` and `report`, as clap parses and
//! describes them.

use super::create::Create;
use super::report::Report;
use crate::failure::Failure;
use crate::output::Output;

/// Make an emulated drive, or look at one.
#[derive(clap::Subcommand)]
pub(crate) enum Device {
    /// Make an emulated drive in a sparse file: it takes no space until it is written
    Create(Create),
    /// Print a drive's geometry and the state of its zones
    Report(Report),
}

impl Device {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Create(command) => command.run(output),
            Self::Report(command) => command.run(output),
        }
    }
}
