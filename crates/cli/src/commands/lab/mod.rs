//! `terrace lab`: experiments in virtual time.
//!
//! | file | content |
//! |---|---|
//! | `command` | the list of the subcommands |
//! | `list`, `drives` | the experiments, and the modelled drives, that come with the program |
//! | `run` | carries out experiments, and keeps their outcomes in a directory |
//! | `bars` | the progress of `run` |
//! | `findings`, `page`, `spreadsheet` | results of `run`: tables or JSON, Markdown, CSV |
//! | `report` | compares kept outcomes with the papers, in HTML |
//! | `arrivals` | generates arrivals, or reads them, and describes them |
//! | `findings_of_arrivals`, `estimates` | the results of `arrivals`: statistics, estimates |
//! | `validate_drives` | compares the timing models with published metrics |
//!
//! With the same engine, the same experiment, system, variant, scale, share of operations and seed
//! give the same metrics on every machine. The cost of a run, in time and memory of the host,
//! depends on the machine.

mod arrivals;
mod bars;
mod command;
mod drives;
mod estimates;
mod findings;
mod findings_of_arrivals;
mod list;
mod page;
mod report;
mod run;
mod spreadsheet;
mod validate_drives;

pub(crate) use command::Lab;
