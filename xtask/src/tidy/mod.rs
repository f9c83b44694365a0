//! `cargo xtask tidy`: checks that the compiler does not make. It changes no source.
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
//! Each check is in its own file, with a test that shows it can fail. Most are pure functions over
//! the text of a file; `links` looks at the disk, and `layers` at what cargo says about the
//! workspace. Formatting, lints and documentation are left to cargo's own tools, which `run` calls.

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
