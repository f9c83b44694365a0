//! `terrace advise DRIVE --entries N --value-size SIZE`: says which system suits a drive and the
//! entries that it is to hold.
//!
//! Each system is run with the engine itself on a model of the drive, in virtual time
//! ([`terrace_lab::advice`]), which takes some seconds a system. The command prints the results in
//! a table, and the system that is best by `--prefer` within the limits of the user. It opens no
//! store and writes no file that stays.

use std::io;
use std::sync::Arc;

use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use terrace::System;
use terrace_env::ByteCount;
use terrace_lab::advice::{Candidate, Limits, Model, Preference, Question, choose};
use terrace_lab::series::{self, Results, carry_out_all};

use super::lab::{Bars, limits};
use super::under::known_system;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::scratch::Scratch;
use crate::screen::Screen;

/// Systems that are compared unless others are asked for. The systems of the papers that others
/// beat are left out.
const SYSTEMS: [&str; 6] =
    ["bluefs", "lifetime", "tiered", "tiered:tier_runs=8", "sliced:tier_share=11", "sliced"];

/// Say which system suits a drive and its entries, by runs on a model of the drive.
///
/// Each system fills the model, overwrites its entries in random order, and then reads and scans at
/// rest, in virtual time. Values of entries are not compressed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace advise seagate-st13125nm007 --space 70GiB --entries 13e6 --value-size 4KiB
  terrace advise wd-zn540 --entries 1e8 --value-size 1KiB --writes 20000 --prefer read")]
pub(crate) struct Advise {
    /// A drive of `terrace lab drives`, or the path of a drive file
    drive: String,
    /// How many entries the store is to hold: 13000000 or 13e6
    #[arg(long, value_name = "N", value_parser = count)]
    entries: u64,
    /// Bytes of a key
    #[arg(long, default_value = "16", value_name = "SIZE")]
    key_size: ByteCount,
    /// Bytes of a value
    #[arg(long, value_name = "SIZE")]
    value_size: ByteCount,
    /// The part of the drive that the store has [default: all sequential zones]
    #[arg(long, value_name = "SIZE")]
    space: Option<ByteCount>,
    /// Size of a memtable
    #[arg(long, default_value = "64MiB", value_name = "SIZE")]
    memtable_size: ByteCount,
    /// Memory of the store
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    memory: ByteCount,
    /// The fewest overwrites a second
    #[arg(long, value_name = "N", value_parser = rate)]
    writes: Option<f64>,
    /// The longest that an overwrite may take, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = rate)]
    longest_write: Option<f64>,
    /// Quantity that decides
    #[arg(long, value_enum, default_value_t = Prefer::Balanced)]
    prefer: Prefer,
    /// Compare these systems instead of the usual ones: `sliced:tier_share=18`
    #[arg(long = "system", value_name = "SYSTEM", value_parser = known_system)]
    systems: Vec<String>,
    /// Runs at once [default: one for each processor, as far as they fit into memory]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: Option<u64>,
    /// Seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// See [`Preference`].
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Prefer {
    /// Overwrites a second
    Write,
    /// Overwrites, reads and scans a second, as their geometric mean
    Balanced,
    /// Reads and scans a second
    Read,
    /// Little space for the entries, at worst
    Space,
}

#[derive(Serialize)]
struct Answer {
    drive: String,
    space: ByteCount,
    data: ByteCount,
    full_percent: f64,
    scale: String,
    model_is_one_of: u64,
    candidates: Vec<Row>,
    /// Systems whose run failed.
    failed: Vec<Failed>,
    advice: Option<String>,
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    candidate: Candidate,
    /// The share of a store, in percent, up to which keys and values can be overwritten.
    live_max_percent: u64,
    within_limits: bool,
}

#[derive(Serialize)]
struct Failed {
    system: String,
    cause: String,
}

/// A count as digits, with `_` between them, or as `1e9`.
fn count(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    if let Ok(count) = digits.parse() {
        return Ok(count);
    }
    match digits.parse::<f64>() {
        Ok(count) if count.fract() == 0.0 && (1.0..1e15).contains(&count) => Ok(count as u64),
        _ => Err("expected a number of entries, such as 13000000 or 13e6".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).replace('_', "").parse::<f64>();
    let number = number.ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above zero, such as 20000".to_owned())
}

impl Advise {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let question = self.question();
        let wrong = |error: &dyn std::fmt::Display| Failure::new(Kind::Usage, error.to_string());
        let model = question.model().map_err(|error| wrong(&error))?;
        let plans = series::plans(&model.experiment, &[], model.scale, self.seed);
        let plans = plans.map_err(|error| wrong(&error))?;
        if cfg!(debug_assertions) {
            output.note("note: built with debug assertions: slower, with the same numbers");
        }
        let scratch = Scratch::make(&std::env::temp_dir(), "terrace-advise")?;
        let results = Results::of_this_engine(scratch.path());
        let limits = limits(&plans, self.jobs, false, output)?;
        let bars = Arc::new(Bars::new(&plans));
        let watch = Arc::clone(&bars);
        let all = carry_out_all(&plans, &results, limits, &{
            Arc::new(move |run: usize, event: series::Event<'_>| watch.notice(run, &event))
        });
        bars.clear();
        let (mut candidates, mut failed) = (Vec::new(), Vec::new());
        for (system, result) in question.systems.iter().zip(all) {
            let cause = match result {
                Ok(outcomes) => match Candidate::of(system, &outcomes) {
                    Some(candidate) => {
                        candidates.push(candidate);
                        continue;
                    }
                    None => "a phase is missing".to_owned(),
                },
                Err(error) => error.to_string(),
            };
            failed.push(Failed { system: system.clone(), cause });
        }
        let answer = self.answer(&model, candidates, failed);
        output.result(&answer, |out| answer.print(out))?;
        if answer.candidates.is_empty() {
            return Err(Failure::new(Kind::Failed, "no system has a result".to_owned()));
        }
        if answer.advice.is_none() {
            let message = "no system is within the limits: lower them, or take a larger or faster \
                           drive, or larger memtables";
            return Err(Failure::new(Kind::Failed, message));
        }
        Ok(())
    }

    fn question(&self) -> Question {
        let systems = match self.systems.as_slice() {
            [] => SYSTEMS.map(str::to_owned).to_vec(),
            asked => asked.to_vec(),
        };
        Question {
            drive: self.drive.clone(),
            space: self.space,
            entries: self.entries,
            key_size: self.key_size.0,
            value_size: self.value_size.0,
            memtable_size: self.memtable_size,
            memory: self.memory,
            systems,
        }
    }

    fn answer(&self, model: &Model, candidates: Vec<Candidate>, failed: Vec<Failed>) -> Answer {
        let limits = Limits { writes_per_second: self.writes, longest_write: self.longest_write };
        let preference = match self.prefer {
            Prefer::Write => Preference::Write,
            Prefer::Balanced => Preference::Balanced,
            Prefer::Read => Preference::Read,
            Prefer::Space => Preference::Space,
        };
        let best = choose(&candidates, preference, &limits);
        let advice = best.map(|best| candidates[best].system.clone());
        let row = |candidate: Candidate| Row {
            live_max_percent: System::asked(&candidate.system).map_or(0, |s| s.row.live_max()),
            within_limits: limits.allow(&candidate),
            candidate,
        };
        Answer {
            drive: self.drive.clone(),
            space: model.space,
            data: model.data,
            full_percent: model.data.0 as f64 / model.space.0 as f64 * 100.0,
            scale: model.scale.to_string(),
            model_is_one_of: model.part,
            candidates: candidates.into_iter().map(row).collect(),
            failed,
            advice,
        }
    }
}

impl Answer {
    fn print(&self, out: &mut Screen) -> io::Result<()> {
        writeln!(
            out,
            "{} of entries on {} of {}: {:.0} % full\n",
            self.data, self.space, self.drive, self.full_percent
        )?;
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_header([
            "system",
            "writes/s",
            "bytes for one",
            "longest",
            "reads/s",
            "scans/s",
            "live",
            "runs",
            "full to",
        ]);
        for Row { candidate, live_max_percent, within_limits } in &self.candidates {
            let mark = if *within_limits { "" } else { " (over a limit)" };
            table.add_row([
                format!("{}{mark}", candidate.system),
                format!("{:.0}", candidate.writes_per_second),
                format!("{:.1}", candidate.written_for_one),
                format!("{:.2} s", candidate.longest_write),
                format!("{:.0}", candidate.reads_per_second),
                format!("{:.1}", candidate.scans_per_second),
                format!("{:.0} %", candidate.live_worst_percent),
                format!("{:.0}", candidate.runs),
                format!("{live_max_percent} %"),
            ]);
        }
        table.column_iter_mut().skip(1).for_each(|column| {
            column.set_cell_alignment(CellAlignment::Right);
        });
        writeln!(out, "{table}")?;
        for Failed { system, cause } in &self.failed {
            writeln!(out, "{system}: no result: {cause}")?;
        }
        writeln!(
            out,
            "\nOverwrites in random order, one after the other; then point reads, and scans of 50 \
             entries, at rest.\n\"bytes for one\": written to the drive for a byte of entries, \
             with the log. \"longest\": the longest\noverwrite. \"live\": newest versions in the \
             space in use, at worst. \"full to\": how full a store of this\nsystem may be \
             (`terrace systems`)."
        )?;
        if self.model_is_one_of > 1 {
            writeln!(
                out,
                "The model has one part in {} of drive and entries. The whole store has more \
                 levels and writes more:\nup to 10 bytes for each tenfold under `bluefs` and \
                 `lifetime`, about one under the others.",
                self.model_is_one_of
            )?;
        }
        if let Some(system) = &self.advice {
            writeln!(out, "\nAdvice: terrace format DRIVE --system {system}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_rates_are_read_as_people_write_them() {
        for text in ["13e6", "13_000_000", "13000000"] {
            assert_eq!(count(text), Ok(13_000_000), "{text}");
        }
        for wrong in ["", "-3", "1.5", "many", "1e99"] {
            assert!(count(wrong).unwrap_err().contains("13e6"), "{wrong}");
        }
        assert_eq!((rate("20000/s"), rate("0.5")), (Ok(20_000.0), Ok(0.5)));
        for wrong in ["", "0", "-1", "inf", "fast"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
