//! `cargo xtask planted [--names WORD,...] [--list]`: plants known bugs one at a time, and fails if
//! a test that is expected to catch one passes.
//!
//! The catalogue is `xtask/planted`: a file for each bug. The chore works on a copy of the project
//! in `target/planted`, with builds of its own, so that no program with a bug gets into those of
//! the project. It takes a minute or more for each bug, most of it for the compiler, and is no part
//! of CI. `cargo xtask tidy` checks that each bug still applies.
//!
//! | part | content |
//! |---|---|
//! | `bug` | a bug of the catalogue: its file, and the rules for it |
//! | `copy` | the copy of the project, and changes of its files |
//! | `program` | a program of tests: built, and run under a limit of time |
//! | `run` | the command line; bugs one after the other, and a line about each |

mod bug;
mod copy;
mod program;
mod run;

pub(crate) use bug::check;
pub(crate) use run::{Arguments, run};
