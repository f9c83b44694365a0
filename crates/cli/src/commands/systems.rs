//! `terrace systems`: lists the systems (sets of rules for where tables go, which are merged, and
//! how space comes back) that a store can be opened under, each with a percentage and a summary.
//! The percentage is a share of the store, without what the store keeps for its own work. Up to
//! this share, data can be overwritten in random order without end. The names of the parameters
//! follow; a system has some of them. The command opens no store.

use serde::Serialize;
use terrace::{MEMTABLES_KEPT, System, ZONES_KEPT};

use crate::failure::Failure;
use crate::output::Output;

/// List the systems that a store can be opened under, by `--system`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace systems
  terrace format backup.img --force --system tiered:tier_runs=6")]
pub(crate) struct Systems {}

#[derive(Serialize)]
struct Answer {
    systems: Vec<Entry>,
    /// The parameters that can be other than a system's own.
    parameters: Vec<&'static str>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    summary: &'static str,
    /// The share of a store, in percent, up to which keys and values can be overwritten.
    live_max_percent: u64,
}

impl Systems {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let entry = |system: System| Entry {
            name: system.name(),
            summary: system.summary(),
            live_max_percent: system.row.live_max(),
        };
        let systems: Vec<Entry> = System::all().into_iter().map(entry).collect();
        let answer = Answer { systems, parameters: System::parameters() };
        output.result(&answer, |out| {
            for Entry { name, summary, live_max_percent } in &answer.systems {
                writeln!(out, "{name:20} {live_max_percent:>3} %  {summary}")?;
            }
            writeln!(
                out,
                "\nA new store has the first of them. The percentage is the share of the store,\n\
                 without {ZONES_KEPT} zones and {MEMTABLES_KEPT} memtables, up to which keys and \
                 values can be\noverwritten in random order without end.\n\n\
                 Parameters that can be other than a system's own, as in \
                 `--system bluefs:factor=4`:\n{}",
                answer.parameters.join(", ")
            )
        })
    }
}
