//! [`Arguments`] is the command line of `terrace`, as the parser `clap` reads it: the global option
//! `--json` and the subcommand. [`Command::run`] carries the subcommand out.
//!
//! `Arguments::parse` ends the program itself in two cases: after it has printed help or the
//! version on request, with exit code 0; and if the command line cannot be parsed, with exit code
//! 2. In the second case it prints text on standard error, also with `--json`.

use clap::{Parser, Subcommand};

use super::{
    advise, bench, check, checkpoint, compact, completions, delete, demo, device, dump, export,
    files, flush, forget_offload, format, get, import, lab, load, man, options, put, scan, serve,
    stats, systems, top, zones,
};
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
    /// The command to run
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Watch a directory tree go through a store's whole life, on an emulated drive
    Demo(demo::Demo),
    /// Make an emulated drive, or look at one
    #[command(subcommand)]
    Device(device::Device),
    /// Make a store on a drive, or in an empty directory
    Format(format::Format),
    /// Store a value under a key
    Put(put::Put),
    /// Print the value of a key
    Get(get::Get),
    /// Delete a key
    Delete(delete::Delete),
    /// Print keys in order
    Scan(scan::Scan),
    /// Store entries from a file or standard input
    Load(load::Load),
    /// Store a directory tree
    Import(import::Import),
    /// Write a directory tree that was imported
    Export(export::Export),
    /// Look at the files of a drive, and change those that have names
    #[command(subcommand)]
    Fs(files::Files),
    /// Draw a drive's zones: state, levels, live and dead bytes
    Zones(zones::Zones),
    /// Print the metrics of a store: levels, space
    Stats(stats::Metrics),
    /// Show a store while another process writes it
    Top(top::Top),
    /// Serve objects on a store by S3
    Serve(serve::Serve),
    /// Show or change how a store's new tables are made: compression, filters, blocks
    Options(options::StoreOptions),
    /// Write entries that are only in the log to tables
    Flush(flush::Flush),
    /// Merge tables of a range until no key is in several runs
    Compact(compact::Compact),
    /// Give up the lost offload drive of a store
    ForgetOffload(forget_offload::ForgetOffload),
    /// Copy a store into an empty drive or directory
    Checkpoint(checkpoint::Checkpoint),
    /// Verify every checksum and every invariant
    Check(check::Check),
    /// List the systems that a store can be opened under
    Systems(systems::Systems),
    /// Say which system suits a drive and its entries, by runs on a model of the drive
    Advise(advise::Advise),
    /// Measure the cost of operations on this machine
    Bench(Box<bench::Bench>),
    /// Take the structures on the medium apart: tables, logs, the journal, the superblock
    Dump(dump::Dump),
    /// Run experiments in virtual time
    #[command(subcommand)]
    Lab(lab::Lab),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Write the manual pages
    Man(man::Man),
}

impl Command {
    /// Carries the command out.
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Demo(command) => command.run(output),
            Self::Device(command) => command.run(output),
            Self::Format(command) => command.run(output),
            Self::Put(command) => command.run(output),
            Self::Get(command) => command.run(output),
            Self::Delete(command) => command.run(output),
            Self::Scan(command) => command.run(output),
            Self::Load(command) => command.run(output),
            Self::Import(command) => command.run(output),
            Self::Export(command) => command.run(output),
            Self::Fs(command) => command.run(output),
            Self::Zones(command) => command.run(output),
            Self::Stats(command) => command.run(output),
            Self::Top(command) => command.run(output),
            Self::Serve(command) => command.run(),
            Self::Options(command) => command.run(output),
            Self::Flush(command) => command.run(output),
            Self::Compact(command) => command.run(output),
            Self::ForgetOffload(command) => command.run(output),
            Self::Checkpoint(command) => command.run(output),
            Self::Check(command) => command.run(output),
            Self::Systems(command) => command.run(output),
            Self::Advise(command) => command.run(output),
            Self::Bench(command) => command.run(output),
            Self::Dump(command) => command.run(output),
            Self::Lab(command) => command.run(output),
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
