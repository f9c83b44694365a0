//! `terrace bench [WORK]...`: measures the cost of operations on this machine.
//!
//! | file | content |
//! |---|---|
//! | `answer` | the result, as JSON and as tables |
//! | `command` | the arguments, and the order of the work |
//! | `conditions` | the conditions of a measurement: medium, sizes, options |
//! | `files` | traces, and the latencies as text |
//! | `load` | `terrace bench load`: fills a drive and reads it back |
//! | `sizes` | sizes of keys and values as one types them |

mod answer;
mod command;
mod conditions;
mod files;
mod load;
mod sizes;

pub(crate) use command::Bench;
