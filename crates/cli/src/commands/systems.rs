//! `terrace systems [NAME]`: helps to choose the system that a store is opened under (its rules for
//! where tables go, which are merged, and how space comes back).
//!
//! Without a name the command prints a table, a line a system: the loads that it suits, its costs,
//! and a percentage. Up to this share of a store, without the part that the store keeps for its own
//! work, data can be overwritten in random order without end. With a name it prints the system and
//! each of its parameters: value, meaning and range. The command opens no store.

use std::io;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use terrace::{MEMTABLES_KEPT, ParameterText, System, ZONES_KEPT};

use super::zones::columns;
use crate::failure::Failure;
use crate::output::Output;
use crate::screen::Screen;

/// List the systems that a store can be opened under, by `--system`, or describe one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace systems
  terrace systems tiered
  terrace format backup.img --force --system tiered:tier_runs=6")]
pub(crate) struct Systems {
    /// Describe this system and its parameters: NAME, or NAME:PARAMETER=VALUE,...
    #[arg(value_parser = System::asked)]
    name: Option<System>,
}

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
    suits: &'static str,
    costs: &'static str,
    /// The share of a store, in percent, up to which keys and values can be overwritten.
    live_max_percent: u64,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    /// `None`: fitted to the store.
    value: Option<String>,
    meaning: &'static str,
    expected: String,
}

impl Systems {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self.name {
            None => {
                let systems = System::all().into_iter().map(Entry::of).collect();
                let answer = Answer { systems, parameters: System::parameters() };
                output.result(&answer, |out| answer.print(out))
            }
            Some(system) => {
                let entry = Entry::of(system);
                output.result(&entry, |out| entry.print(out))
            }
        }
    }
}

impl Entry {
    fn of(system: System) -> Self {
        let row = system.row;
        let of_text = |text: ParameterText| {
            let ParameterText { name, meaning, expected, value } = text;
            Parameter { name, value, meaning, expected }
        };
        Self {
            name: row.name(),
            summary: row.summary(),
            suits: row.suits(),
            costs: row.costs(),
            live_max_percent: row.live_max(),
            parameters: system.described_parameters().into_iter().map(of_text).collect(),
        }
    }

    fn print(&self, out: &mut Screen) -> io::Result<()> {
        let Self { name, summary, suits, costs, live_max_percent, parameters } = self;
        writeln!(out, "{name}: {summary}")?;
        writeln!(out, "suits    {suits}")?;
        writeln!(out, "costs    {costs}")?;
        writeln!(out, "full to  {live_max_percent} %\n")?;
        let mut table = table(["parameter", "value", "meaning", "range"]);
        for Parameter { name, value, meaning, expected } in parameters {
            let value = value.as_deref().unwrap_or("fitted");
            table.add_row([name, value, meaning, expected]);
        }
        writeln!(out, "{table}")
    }
}

impl Answer {
    fn print(&self, out: &mut Screen) -> io::Result<()> {
        let mut table = table(["system", "full to", "suits", "costs"]);
        for Entry { name, suits, costs, live_max_percent, .. } in &self.systems {
            table.add_row([name, &*format!("{live_max_percent} %"), suits, costs]);
        }
        if let Some(column) = table.column_mut(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(out, "{table}")?;
        writeln!(
            out,
            "\nA new store has the first of them. \"full to\" is the share of the store, without\n\
             {ZONES_KEPT} zones and {MEMTABLES_KEPT} memtables, up to which keys and values can be \
             overwritten in\nrandom order without end. `terrace systems NAME` describes a system \
             and its parameters,\nwhich `--system bluefs:factor=4` sets. \"Comparison\" is a \
             system of a paper that others beat."
        )
    }
}

/// A table as wide as the terminal.
fn table(header: [&str; 4]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(columns().max(60)).unwrap_or(u16::MAX));
    table.set_header(header);
    table
}
