//! `terrace bench [WORK]...`: measures the cost of operations on this machine.
//!
//! | file | content |
//! |---|---|
//! | `command` | the arguments, and the order of the work |
//! | `conditions` | the conditions of a measurement: medium, sizes, options |
//! | `files` | traces, and the latencies as text |
//! | `load` | `terrace bench load`: a drive nearly filled |
//! | `answer` | the result, as JSON and as a table |
//! | `sizes` | sizes of keys and values as one types them |
//!
//! Every value that is read is verified. A medium that was made for a measurement is gone after it,
//! unless a signal such as SIGKILL ends the process; traces and latencies that were asked for stay.
//! A build with debug assertions measures something else, and says so.

mod answer;
mod command;
mod conditions;
mod files;
mod load;
mod sizes;

pub(crate) use command::Bench;
