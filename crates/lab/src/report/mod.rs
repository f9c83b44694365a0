//! Reports: the claims of papers beside the results of our runs, with the plots.
//!
//! | part | what it is |
//! |---|---|
//! | [`Report`] | experiments with their outcomes, as a page: HTML or Markdown |
//! | [`Chapter`] | an experiment, its outcomes, and of which runs there are none |
//! | [`Answer`], [`Verdict`] | a claim, our figure, their ratio |
//!
//! A report depends on experiments, outcomes and the program's version alone: it says neither when
//! nor where it was made.

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
