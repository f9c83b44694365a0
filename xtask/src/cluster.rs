//! `cargo xtask cluster`: three nodes of Apache Cassandra on this machine, each with its tables on
//! an emulated zoned drive of its own, by the memtable of `bindings/cassandra`.
//!
//! Maven fetches Cassandra and builds the memtable. Without `--loops` the nodes run for a time that
//! the command line gives, for clients on 127.0.0.1 to 127.0.0.3, port 9042. With `--loops` nodes
//! are killed while a client writes ([`loops`]). With `--compare` a load runs on tables of both
//! kinds ([`compare`]). All processes end with this one's chore. The heap of a node is 768 MiB, and
//! a node takes about 1.2 GiB.

mod client;
mod compare;
mod cost;
mod damage;
mod group;
mod loops;
mod node;
mod parts;
mod scenes;

use std::time::Duration;

use anyhow::ensure;

use crate::step::Steps;
use crate::workspace::Workspace;
use loops::{Kind, Loops};
use parts::Parts;

/// Memory that three nodes and a client need, in bytes.
const MEMORY: u64 = 6 << 30;

/// The nodes and the loops, as the command line asks for them.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Arguments {
    /// How many times nodes are killed while a client writes; 0: the nodes only run
    #[arg(long, default_value_t = Arguments::default().loops)]
    loops: u64,
    /// Put a load on tables of Cassandra's own and on tables on Terrace, and compare the costs
    #[arg(long)]
    compare: bool,
    /// Index of the first loop, which decides its kind, its nodes and its moments
    #[arg(long, default_value_t = Arguments::default().first)]
    first: u64,
    /// The kind of all loops; without it, the kinds take turns
    #[arg(long)]
    only: Option<Kind>,
    /// Seed of the keys, the nodes and the moments of the kills
    #[arg(long, default_value_t = Arguments::default().seed)]
    seed: u64,
    /// Writes in a loop, or in each load of a comparison
    #[arg(long, default_value_t = Arguments::default().writes)]
    writes: u64,
    /// Minutes for which the nodes run without loops
    #[arg(long, default_value_t = Arguments::default().minutes)]
    minutes: u64,
    /// Build nothing: take programs, libraries and classes as the last build left them
    #[arg(long)]
    as_built: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            loops: 0,
            compare: false,
            first: 0,
            only: None,
            seed: 1,
            writes: 3000,
            minutes: 60,
            as_built: false,
        }
    }
}

/// Starts the nodes, and stops them after the loops or the time.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, arguments: Arguments) {
    let parts = Parts::release(workspace);
    if !arguments.as_built && !build(&parts, steps) {
        return;
    }
    let enough = || {
        let available = Parts::memory_available();
        let mib = |bytes: u64| bytes >> 20;
        let (needed, found) = (mib(MEMORY), mib(available));
        ensure!(available >= MEMORY, "expected {needed} MiB of available memory, found {found}");
        Ok(())
    };
    if arguments.loops > 0 {
        steps.run("cluster: loops", || enough().and_then(|()| loop_through(&parts, arguments)));
        return;
    }
    if arguments.compare {
        steps.run("cluster: comparison", || {
            enough()?;
            compare::run(&parts, arguments.writes)
        });
        return;
    }
    steps.run("cluster: three nodes", || {
        enough()?;
        let _loops = Loops::start(&parts, arguments.seed, arguments.writes)?;
        eprintln!("127.0.0.1 to 127.0.0.3, port 9042, for {} minutes", arguments.minutes);
        std::thread::sleep(Duration::from_secs(60 * arguments.minutes));
        Ok(())
    });
}

/// The part of the test suite: the tests of the memtable, in one process. The loops take several
/// minutes of both processors, and are run by hand.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps) {
    let parts = Parts::debug(workspace);
    if build(&parts, steps) {
        steps.run("test: Cassandra, memtable", || parts.test());
    }
}

fn build(parts: &Parts<'_>, steps: &mut Steps) -> bool {
    let mut is_built = false;
    steps.run("test: Cassandra, build", || {
        parts.build()?;
        is_built = true;
        Ok(())
    });
    is_built
}

fn loop_through(parts: &Parts<'_>, arguments: Arguments) -> anyhow::Result<()> {
    eprintln!("{} loops, seed {}", arguments.loops, arguments.seed);
    let mut cluster = Loops::start(parts, arguments.seed, arguments.writes)?;
    let mut done = Vec::new();
    for index in arguments.first..arguments.first + arguments.loops {
        match cluster.run(index, arguments.only) {
            Ok(one) => done.push(one),
            Err(error) => {
                _ = loops::close(&done);
                return Err(error.context(format!("loop {index}, seed {}", arguments.seed)));
            }
        }
    }
    loops::close(&done)
}
