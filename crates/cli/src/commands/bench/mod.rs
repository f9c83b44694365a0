//! `terrace bench [WORK]...`: what operations cost on this machine.
//!
//! | file | what it does |
//! |---|---|
//! | `command` | the arguments, and the order of the work |
//! | `conditions` | what was measured under |
//! | `files` | traces, and the latencies as text |
//! | `load` | `terrace bench load`: a drive nearly filled |
//! | `report` | the result, as JSON and as a table |
//! | `sizes` | sizes of keys and values as one types them |

mod command;
mod conditions;
mod files;
mod load;
mod report;
mod sizes;

pub(crate) use command::Bench;
