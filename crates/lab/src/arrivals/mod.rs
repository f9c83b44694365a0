//! Arrival processes: when the requests of an open loop arrive, and statistics that describe them.
//!
//! A [`Process`] has a text form, such as `poisson:5000`. From a seed it makes an endless iterator
//! of instants, each the time since the beginning. The processes follow Pitchumani's thesis, "Data
//! Management for Storage on Shingled Disks", chapter 4.
//!
//! | part | content |
//! |---|---|
//! | [`Process`] | a process by its parameters; `parse` reads and writes its text |
//! | [`Instants`] | the iterator over its arrivals |
//! | `cascade` | the b-model, which is self-similar |
//! | [`Envelope`], [`Gaps`] | a rate that changes with time, and the distribution of gaps |
//! | [`read_instants`], [`write_instants`] | arrivals as a file |
//! | [`statistics`] | autocorrelation, and estimators of the Hurst parameter |
//!
//! Parsing of `curve:FILE` reads a file.
//!
//! ```
//! use terrace_lab::arrivals::Process;
//!
//! let process: Process = "poisson:5000".parse().unwrap();
//! let count = process.instants(1, None).take_while(|at| at.as_secs() < 2).count();
//! assert!((9_500..10_500).contains(&count));
//! ```

mod cascade;
mod envelope;
mod file;
#[cfg(test)]
mod fuzz;
mod gaps;
mod instants;
mod parse;
mod process;
pub mod statistics;

pub use envelope::Envelope;
pub use file::{InstantsError, read_instants, write_instants};
pub use gaps::Gaps;
pub use instants::Instants;
pub use parse::{ProcessError, parse_time};
pub use process::Process;
