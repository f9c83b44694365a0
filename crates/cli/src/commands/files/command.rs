//! [`Files`]: the subcommands of `terrace fs`.

use super::backup::Backup;
use super::cat::Print;
use super::listing::List;
use super::put::Put;
use super::remove::Remove;
use super::rename::Rename;
use super::restore::Restore;
use super::usage::Usage;
use crate::failure::Failure;
use crate::output::Output;

/// Look at the files of a drive, and, where it holds no store, change them.
#[derive(clap::Subcommand)]
#[command(after_help = "\
Examples:
  terrace device create files.img --size 1GiB
  terrace format files.img --files
  terrace fs put files.img docs/drives.md notes/
  terrace fs ls files.img notes")]
pub(crate) enum Files {
    /// List files
    Ls(List),
    /// Print the bytes of a file
    Cat(Print),
    /// Store a file of the host, or standard input
    Put(Put),
    /// Remove files or directories
    Rm(Remove),
    /// Give a file or a directory another name
    Mv(Rename),
    /// Tell how the space is used
    Df(Usage),
    /// Copy all files to a new directory of the host
    Backup(Backup),
    /// Make the files of a backup those of a drive
    Restore(Restore),
}

impl Files {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Ls(command) => command.run(output),
            Self::Cat(command) => command.run(output),
            Self::Put(command) => command.run(output),
            Self::Rm(command) => command.run(output),
            Self::Mv(command) => command.run(output),
            Self::Df(command) => command.run(output),
            Self::Backup(command) => command.run(output),
            Self::Restore(command) => command.run(output),
        }
    }
}
