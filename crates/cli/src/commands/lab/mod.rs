//! `terrace lab`: experiments in virtual time, timing models of drives, and arrival processes.
//!
//! | file | content |
//! |---|---|
//! | `arrivals` | generates arrivals, or reads them, and describes them |
//! | `bars` | the progress of `run` |
//! | `command` | the list of the subcommands |
//! | `findings`, `page`, `spreadsheet` | results of `run`: tables or JSON, Markdown, CSV |
//! | `findings_of_arrivals`, `estimates` | the results of `arrivals`: statistics, estimates |
//! | `limits` | how many runs go at once |
//! | `list`, `drives` | the experiments, and the modelled drives, that come with the program |
//! | `papers` | the claims of the papers, our values, and the verdicts |
//! | `replay`, `replay_captions` | carries out an experiment, and writes a page that replays it |
//! | `report` | compares kept outcomes with the papers, in HTML |
//! | `run` | carries out experiments, and keeps their outcomes in a directory |
//! | `validate_drives` | compares the timing models with published metrics |

mod arrivals;
mod bars;
mod command;
mod drives;
mod estimates;
mod findings;
mod findings_of_arrivals;
mod limits;
mod list;
mod page;
mod papers;
mod replay;
mod replay_captions;
mod report;
mod run;
mod simulate;
mod spreadsheet;
mod validate_drives;

pub(crate) use bars::Bars;
pub(crate) use command::Lab;
pub(crate) use limits::limits;
