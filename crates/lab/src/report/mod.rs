//! Reports: the claims of papers compared with the results of our runs, with the plots.
//!
//! | part | content |
//! |---|---|
//! | [`Report`] | experiments with their outcomes; `gather` reads the kept results |
//! | `page`, `markdown` | a report as HTML, as Markdown; `table` has the runs for both |
//! | `keeping_up` | a table of the rates of arrivals that systems keep up with |
//! | `settings` | the settings of an experiment in words, for the HTML |
//! | [`Chapter`] | an experiment, its outcomes, and the standing of its runs |
//! | [`Answer`], [`Verdict`] | a claim, our value, the ratio of the two, and whether they agree |
//! | [`KeptResults`] | our values for the claims, in files of the source tree |
//! | [`Papers`] | the publications with their claims and our values; `papers_page` prints them |
//! | [`remarks_on_scale`] | effects of a scale on an experiment's figures |
//!
//! The same request, experiments, drives, results and program give the same bytes.

mod answer;
mod chapter;
mod document;
mod gather;
mod keeping_up;
mod kept;
mod markdown;
mod page;
mod papers;
mod papers_page;
mod scale;
mod settings;
mod table;

pub use answer::{Answer, BAND, Verdict};
pub use chapter::{Chapter, RunStanding, Standing};
pub use document::Report;
pub use gather::GatherError;
pub use kept::{KeptError, KeptResults, Measured};
pub use papers::{Compared, Paper, Papers};
pub use scale::remarks_on_scale;
