//! The measuring instrument: fixed mixes of operations, the workloads of the generator and traces
//! on a store, in real time.
//!
//! | part | what it does |
//! |---|---|
//! | [`Mix`] | what is done: the names are those of LevelDB's and RocksDB's `db_bench` |
//! | [`Work`] | what can be asked for: a mix, or a workload of [`workload`](crate::workload) |
//! | [`Medium`] | where the store is: memory, a drive's image, a directory |
//! | `worker` | one thread's operations: a client of [`workload`](crate::workload) |
//! | `meter` | wall-clock and processor time of the whole process |
//! | [`Load`] | fills a drive nearly, at random, and sees what becomes of it |
//! | `background` | how long the engine's jobs take |
//! | [`Bench`] | carries work out, `run` one mix; [`Measurement`] is what comes of it |
//! | [`Reference`] | what other engines take for the same work |
//!
//! Metrics are those of the machine. The one to compare is the processor time per operation, over
//! all threads of the process; it includes making and verifying the values (a copy and a comparison
//! of each). Measurements run on threads: on the simulated runner there is no processor time to
//! measure.

mod background;
mod distribution;
mod error;
mod load;
mod measurement;
mod medium;
mod meter;
mod mix;
mod plan;
mod reference;
mod run;
mod series;
mod work;
mod worker;

pub use background::{JobTimes, Jobs};
pub use distribution::write_distribution;
pub use error::BenchError;
pub use load::{Load, LoadWatch, Loaded, Phase};
pub use measurement::{KindMeasurement, Latency, Measurement, Played, WhenIdle};
pub use medium::Medium;
pub use mix::Mix;
pub use plan::{Plan, Size};
pub use reference::Reference;
pub use series::{Bench, Contents, Watch};
pub use work::{UnknownWork, Work};
