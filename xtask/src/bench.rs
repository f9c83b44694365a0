//! `cargo xtask bench NAME`: runs a benchmark and prints its numbers on standard output. They
//! depend on the machine, so run nothing else meanwhile.
//!
//! `append`, `depth`, `mount` and `pick` are examples of the crates that they measure, run in a
//! release build. Words after `--` are handed to the example. `growth`, `peers`, `reference`,
//! `rocksdb` and `server` are in files of their own.

use crate::workspace::Workspace;
use crate::{growth, peers, reference, rocksdb, server, step};

/// Which benchmark to run.
#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// Small appends to one zone, many in flight, against writes: on the model of a drive, or on a
    /// zoned block device, whose data are lost
    Append(Rest),
    /// Random reads of a block device by one thread, by `io_uring` and by blocking calls
    Depth(Rest),
    /// How costs grow with the number of entries, up to 64 million: a table of docs/performance.md
    Growth(growth::Arguments),
    /// Mount time and memory of 14 TB of 256 MiB zones, empty and with a million files
    Mount(Rest),
    /// The same loads on Terrace, RocksDB, LevelDB, fjall and redb, by turns
    Peers(peers::Arguments),
    /// How long each system takes to choose a compaction among ten thousands of tables
    Pick(Rest),
    /// Cost of operations compared with other engines: the tables of docs/performance.md
    Reference(reference::Arguments),
    /// Processor time of RocksDB on a drive, compared with the machine's ordinary file system; or
    /// its space efficiency
    Rocksdb(rocksdb::Compared),
    /// Puts and gets of objects by S3, on a directory and on an emulated drive, next to a server on
    /// plain files
    Server(server::Arguments),
}

/// Arguments for an example.
#[derive(clap::Args)]
pub(crate) struct Rest {
    /// Arguments of the benchmark itself
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Runs one benchmark.
pub(crate) fn run(workspace: &Workspace, bench: &Bench) -> anyhow::Result<()> {
    let (package, example, Rest { rest }) = match bench {
        Bench::Append(rest) => ("terrace-zone", "append", rest),
        Bench::Depth(rest) => ("terrace-zone", "depth", rest),
        Bench::Mount(rest) => ("terrace-fs", "mount", rest),
        Bench::Pick(rest) => ("terrace-policy", "pick", rest),
        Bench::Growth(arguments) => return growth::run(workspace, arguments),
        Bench::Peers(arguments) => return peers::run(workspace, arguments),
        Bench::Reference(arguments) => return reference::run(workspace, arguments),
        Bench::Rocksdb(compared) => return rocksdb::compare(workspace, *compared),
        Bench::Server(arguments) => return server::run(workspace, arguments),
    };
    let words = ["run", "--quiet", "--release", "--package", package, "--example", example];
    step::command(workspace.cargo(words).arg("--").args(rest))
}
