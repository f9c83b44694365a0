//! `cargo xtask tidy`: checks that the compiler does not make. It changes no source.
//!
//! | file | content |
//! |---|---|
//! | `finding` | one violation |
//! | `habits` | forms that make comments and pages hard to read |
//! | `index` | contents of `lib.rs` and `mod.rs` |
//! | `names` | names of files and directories |
//! | `layers` | which crate may depend on which |
//! | `layouts` | which code may tell the layouts of devices apart |
//! | `order` | which module of a crate may import from which |
//! | `links` | links of pages in Markdown |
//! | `openings` | first words of doc comments |
//! | `text` | heads, lengths, marks of unfinished work, paths of somebody's machine |
//! | `retired` | words that the glossary has given up |
//! | `run` | the checks in their order |
//! | `source` | lints that are silenced, unfinished code, tests that are switched off |
//!
//! A check reads and returns findings; `run` prints them. Formatting, lints and documentation are
//! left to cargo's own tools, which `run` calls.

mod finding;
mod habits;
mod index;
mod layers;
mod layouts;
mod links;
mod names;
mod openings;
mod order;
mod retired;
mod run;
mod source;
mod text;

pub(crate) use finding::Finding;
pub(crate) use run::{compile, shape};
