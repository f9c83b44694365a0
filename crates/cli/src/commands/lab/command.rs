//! The subcommands of `terrace lab`.

use super::drives::Drives;
use super::validate_drives::ValidateDrives;
use crate::failure::Failure;
use crate::output::Output;

/// Experiments in virtual time: the figures are the same on every machine.
#[derive(clap::Subcommand)]
pub(crate) enum Lab {
    /// List the modelled drives, or say where the values of one are from
    Drives(Drives),
    /// Hold the timing models of drives against published figures
    ValidateDrives(ValidateDrives),
}

impl Lab {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Drives(command) => command.run(output),
            Self::ValidateDrives(command) => command.run(output),
        }
    }
}
