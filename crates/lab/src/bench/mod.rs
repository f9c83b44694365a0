//! The measuring instrument: fixed mixes of operations on a store, in real time.
//!
//! | part | what it does |
//! |---|---|
//! | [`Mix`] | what is done: the names are those of LevelDB's and RocksDB's `db_bench` |
//! | [`Place`] | where the store is: memory, a drive's image, a directory |
//! | `worker` | one thread's operations: a client of [`workload`](crate::workload) |
//! | `meter` | wall-clock and processor time of the whole process |
//! | [`Load`] | fills a drive nearly, at random, and sees what becomes of it |
//! | `background` | how long the engine's jobs take |
//! | [`Bench`] | carries mixes out, [`Measurement`] is what comes of one |
//! | [`Reference`] | what other engines take for the same work |
//!
//! Figures are of the machine it runs on; those that can be compared are the processor time per
//! operation, over all threads of the process, with the work of making and verifying the values in
//! it (a copy and a comparison of each value). It does not simulate: on the simulated runner there
//! is no processor time to measure.

mod background;
mod error;
mod load;
mod measurement;
mod meter;
mod mix;
mod place;
mod plan;
mod reference;
mod series;
mod worker;

pub use background::{JobTimes, Jobs};
pub use error::BenchError;
pub use load::{Load, LoadWatch, Loaded, Phase};
pub use measurement::{Latency, Measurement, Settled};
pub use mix::{Mix, UnknownMix};
pub use place::Place;
pub use plan::{Plan, Size};
pub use reference::Reference;
pub use series::{Bench, Watch};
