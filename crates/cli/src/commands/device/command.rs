//! `terrace device`: the list of its subcommands, `create`, `report` and `list`, as clap
//! parses and describes them.

use super::create::Create;
use super::list::List;
use super::report::Report;
use crate::failure::Failure;
use crate::output::Output;

/// Make an emulated drive, look at a drive, or list the block devices of this machine.
#[derive(clap::Subcommand)]
pub(crate) enum Device {
    /// Make an emulated drive in a sparse file: it takes no space until it is written
    Create(Create),
    /// Print a drive's geometry and the state of its zones
    Report(Report),
    /// List the block devices of this machine: model, size, zones, limits, and users
    List(List),
}

impl Device {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Create(command) => command.run(output),
            Self::Report(command) => command.run(output),
            Self::List(command) => command.run(output),
        }
    }
}
