//! `cargo xtask fuzz [WORD...] --seconds N`: gives damaged inputs to decoders, each target for some
//! time. A target is a test in a module `fuzz` of a crate that uses `terrace-fuzz`; the words
//! choose those with one of them in their names.
//!
//! | part | content |
//! |---|---|
//! | `run` | the command line; targets one after the other, and a line about each |
//! | `programs` | the programs of tests that have targets, and the targets of each |

mod programs;
mod run;

pub(crate) use run::{Arguments, run};
