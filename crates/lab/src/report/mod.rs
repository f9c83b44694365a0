//! Reports: the claims of papers beside the results of our runs, with the plots.
//!
//! | part | content |
//! |---|---|
//! | [`Report`] | experiments with their outcomes, as a page: HTML or Markdown |
//! | [`Chapter`] | an experiment, its outcomes, and the runs that have none |
//! | [`Answer`], [`Verdict`] | a claim, our metric, their ratio |
//!
//! A report depends only on experiments, outcomes and the program's version: it has neither a date
//! nor the name of a machine.

mod answer;
mod chapter;
mod document;
mod gather;
mod markdown;
mod page;
mod table;

pub use answer::{Answer, BAND, Verdict};
pub use chapter::{Chapter, RunStanding, Standing};
pub use document::Report;
pub use gather::GatherError;
