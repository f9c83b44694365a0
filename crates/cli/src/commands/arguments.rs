//! The command line as a whole.

use clap::{Parser, Subcommand};

use super::{completions, device, man};
use crate::failure::Failure;
use crate::output::Output;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the operation failed
  2  the command line is wrong
  3  corruption: bytes are not what was written
  4  no space, or space that readers hold
  5  not found: no such key, file or image";

/// A key-value store for zoned storage, and the drive to try it on
#[derive(Parser)]
#[command(name = "terrace", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// Answer in JSON: one object a line, the last one is the result
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make an emulated drive, or look at one
    #[command(subcommand)]
    Device(device::Device),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Write the manual pages
    Man(man::Man),
}

impl Command {
    /// Carries the command out.
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Device(command) => command.run(output),
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(output),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_help_lists_the_codes_that_failures_have() {
        use crate::failure::Kind;
        for kind in [Kind::Failed, Kind::Usage, Kind::Corruption, Kind::NoSpace, Kind::NotFound] {
            assert!(EXIT_CODES.contains(&format!("\n  {}  ", kind.code())), "{kind:?}");
        }
    }
}
