//! `terrace bench [MIX]...`: what operations cost on this machine.
//!
//! | file | what it does |
//! |---|---|
//! | `command` | the arguments, and the order of the mixes |
//! | `conditions` | what was measured under |
//! | `load` | `terrace bench load`: a drive nearly filled |
//! | `report` | the result, as JSON and as a table |

mod command;
mod conditions;
mod load;
mod report;

pub(crate) use command::Bench;
