//! `terrace lab`: the list of its subcommands, as clap parses and describes them.

use super::arrivals::Arrivals;
use super::drives::Drives;
use super::list::List;
use super::papers::Papers;
use super::replay::Replay;
use super::report::Report;
use super::run::Run;
use super::simulate::Simulate;
use super::validate_drives::ValidateDrives;
use crate::failure::Failure;
use crate::output::Output;

/// Experiments in virtual time: the numbers are the same on every machine.
#[derive(clap::Subcommand)]
pub(crate) enum Lab {
    /// List the experiments that come with the program, or describe some
    List(List),
    /// Carry out experiments in virtual time
    Run(Run),
    /// Compare the outcomes of runs with the papers, as one page of HTML with plots
    Report(Report),
    /// Print the claims of the papers, our values and the verdicts
    Papers(Papers),
    /// Carry out an experiment, and write a page that replays the zones of one to three systems
    Replay(Replay),
    /// Generate arrivals or read them, and describe them by statistics
    Arrivals(Arrivals),
    /// List the modelled drives, or say where the values of one are from
    Drives(Drives),
    /// Hold the timing models of drives against published measurements
    ValidateDrives(ValidateDrives),
    /// Simulate stores in worlds where operations fail and the power is cut
    Simulate(Simulate),
}

impl Lab {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run(output),
            Self::Run(command) => command.run(output),
            Self::Report(command) => command.run(output),
            Self::Papers(command) => command.run(output),
            Self::Replay(command) => command.run(output),
            Self::Arrivals(command) => command.run(output),
            Self::Drives(command) => command.run(output),
            Self::ValidateDrives(command) => command.run(output),
            Self::Simulate(command) => command.run(output),
        }
    }
}
