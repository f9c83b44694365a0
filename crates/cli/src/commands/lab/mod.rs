//! `terrace lab`: experiments in virtual time.

mod bars;
mod command;
mod drives;
mod findings;
mod list;
mod page;
mod report;
mod run;
mod spreadsheet;
mod validate_drives;

pub(crate) use command::Lab;
