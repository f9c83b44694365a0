//! `terrace lab list [NAME]...`: lists the experiments that come with the program, or describes the
//! named ones. For each it prints the number of runs, and an estimate of the bytes of keys and
//! values that clients move at a scale. It runs nothing.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use serde_json::json;
use terrace_env::ByteCount;
use terrace_lab::experiment::{Experiment, names};
use terrace_zone::timing::Scale;

use crate::escape::Visible;
use crate::failure::Failure;
use crate::output::Output;

/// List the experiments that come with the program, or describe some.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace lab list geardb/all")]
pub(crate) struct List {
    /// The experiments: `geardb/fig3`, `geardb/all`, or the path of a file [default: all]
    #[arg(value_name = "NAME")]
    experiments: Vec<String>,
    /// The scale for which the data is estimated
    #[arg(long, default_value = "1/64")]
    scale: Scale,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    title: String,
    source: String,
    about: String,
    drive: String,
    systems: Vec<String>,
    variants: Vec<String>,
    /// How many runs that makes.
    runs: usize,
    /// Keys and values that clients of all runs move, at the scale.
    data: ByteCount,
}

impl List {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let all = || names().map(str::to_owned).collect();
        let wanted = if self.experiments.is_empty() { all() } else { self.experiments.clone() };
        let mut entries = Vec::new();
        for name in &wanted {
            let found = Experiment::find(name)?;
            entries.extend(found.iter().map(|experiment| Entry::of(experiment, self.scale)));
        }
        output.result(&json!({ "experiments": entries }), |out| {
            writeln!(out, "{}", table(&entries, self.scale))?;
            if !self.experiments.is_empty() {
                for Entry { name, source, about, systems, .. } in &entries {
                    let systems = systems.join(", ");
                    let [name, source, systems] =
                        [name, source, &systems].map(|text| Visible(text));
                    writeln!(out, "\n{name}: {source}\n\n{}\n\n{systems}", about.trim())?;
                }
            }
            Ok(())
        })
    }
}

impl Entry {
    fn of(experiment: &Experiment, scale: Scale) -> Self {
        let names = experiment.variants.iter().map(|variant| variant.name.clone());
        Self {
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            about: experiment.about.clone(),
            drive: experiment.drive.clone(),
            systems: experiment.systems.clone(),
            variants: names.collect(),
            runs: experiment.runs().count(),
            data: experiment.data(scale),
        }
    }
}

fn table(entries: &[Entry], scale: Scale) -> Table {
    let mut table = Table::new();
    let data = format!("data at {scale}");
    table.load_preset(presets::ASCII_MARKDOWN).set_header(["experiment", "what", "runs", &data]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for entry in entries {
        let (systems, variants) = (entry.systems.len(), entry.variants.len());
        let runs = match variants {
            variants if variants > 0 && entry.runs == systems * variants => {
                format!("{systems} x {variants}")
            }
            _ => entry.runs.to_string(),
        };
        let [name, title] = [&entry.name, &entry.title].map(|text| Visible(text).to_string());
        table.add_row([name, title, runs, entry.data.to_string()]);
    }
    table
}
