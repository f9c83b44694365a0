//! `cargo xtask tidy`: checks that the compiler does not make.
//!
//! | file | content |
//! |---|---|
//! | `run` | the checks in their order |
//! | `layers` | which crate may depend on which |
//! | `names`, `index` | names of files; files that hold nothing but lists |
//! | `text`, `openings` | heads, lengths, marks of unfinished work; first words of comments |
//! | `source` | lints that are silenced, tests that are switched off |
//! | `retired` | words that the glossary has given up |
//! | `links` | links of pages in Markdown |
//! | `finding` | one violation |
//!
//! These are pure functions over the text of the files, but for `links`, which looks for files;
//! each is in its own file with a test that shows it can fail. Formatting, lints and documentation
//! are left to the tools that know them. It never changes a source.

mod finding;
mod index;
mod layers;
mod links;
mod names;
mod openings;
mod retired;
mod run;
mod source;
mod text;

pub(crate) use run::{compile, shape};
